from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.report.json_scores import documents_of
from plant_plugin.report.predictions import read_score_lines

TEXT2TEXT = (
    '{"schema": ["output_item", "score"], "data": [["red boots", 0.9], ["vest", 1]]}\n{"schema": [], "data": []}\n'
)
PREDICTED = '{"id": "1", "labels": [{"label": "red_boots", "probability": 0.9}]}\n{"id": "2", "labels": []}\n'


def test_text2text_and_plant_predict(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(TEXT2TEXT)
    matrix, names = read_score_lines(path)
    assert (matrix.shape, names) == ((2, 2), ["red_boots", "vest"])
    assert list(documents_of(iter(PREDICTED.splitlines()), path)) == [(1, [("red_boots", "0.9")]), (2, [])]
    assert list(documents_of(iter(["a:0.5 b:1\n"]), path)) == [(1, [("a", "0.5"), ("b", "1")])]
    assert list(documents_of(iter([]), path)) == []


@pytest.mark.parametrize(
    "line",
    ["{", "{}", "[]", "7", '{"data": 7}', '{"data": [["a"]]}', '{"data": [[1, 2]]}', '{"data": [["a", "b"]]}',
     '{"data": [["a", true]]}', '{"labels": [{"label": "a"}]}', '{"labels": ["a"]}'],
)  # fmt: skip
def test_other_objects_are_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(f"{TEXT2TEXT}{line}\n")
    with pytest.raises(DataError, match="line 3"):
        read_score_lines(path)
