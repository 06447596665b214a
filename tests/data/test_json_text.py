from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from plant_plugin.data.json_text import parsed_json
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError
from plant_plugin.prepare.annif import prepare_annif
from plant_plugin.prepare.marked.doccano import prepare_doccano
from plant_plugin.prepare.marked.label_studio import prepare_labelstudio
from plant_plugin.report.predictions import read_scores


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"secret": 1', "broken JSON"),
        ('{"a": {"b": 1, "b": 2}}', "a key twice"),
        ("[" * 100_000, "broken JSON"),
        (r'["\u0000"]', "a NUL"),
        (r'["\ud800"]', "half a character"),
    ],
)
def test_what_is_no_json_of_texts(text: str, what: str) -> None:
    with pytest.raises(DataError, match=what) as refused:
        parsed_json(text, "a.json, line 3")
    assert refused.value.where == "a.json, line 3"
    assert "secret" not in str(refused.value)


def test_json_that_looks_alike_is_read() -> None:
    texts = [r'["\\u0000", "\\\\u0000"]', r'["\ud83d\ude42"]', '{"a": {"a": 1}}', "[1e999]"]
    assert [parsed_json(text, "") for text in texts] == [json.loads(text) for text in texts]


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "lines": ('{"text": "a", "text": "b", "labels": ["L1"]}\n', read_any),
    "list": ('[{"text": "a", "labels": ["L0"], "labels": ["L1"]}]', read_any),
    "over lines": ('{\n"text": "a",\n"text": "b",\n"labels": ["L1"]\n}\n', read_any),
    "scores": ('{"data": [["L1", 1.0]], "data": []}\n', read_scores),
    "doccano": ('{"text": "a", "label": [[0, 1, "A"]], "label": []}\n',
                lambda path: prepare_doccano(path, path.parent / "out")),
    "Label Studio": ('[{"data": {"text": "a"}, "annotations": [], "annotations": []}]',
                     lambda path: prepare_labelstudio(path, path.parent / "out")),
    "Annif": ('{"text": "a", "text": "b", "subjects": []}\n', lambda path: prepare_annif(path, path.parent / "out")),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_loses_the_first_of_two_values_of_a_key(tmp_path: Path, reader: str) -> None:
    content, read = READERS[reader]
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match=r"key twice|no JSON"):
        read(path)
    assert not (tmp_path / "out").exists()
