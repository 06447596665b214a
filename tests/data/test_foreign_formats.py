"""Files of other programs are named, with the step that helps, by every command that reads documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plant_plugin.data.foreign_formats import as_text_format, foreign_object
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError

LINES = {
    "WebAnno": "#FORMAT=WebAnno TSV 3.3\n\n#Text=secret\n1-1\t0-6\tsecret\t_\n",
    "PubTator": "12|t|secret\n12|a|more\n12\t0\t6\tsecret\tDisease\tD001\n",
    "marks of brat": "T1\tD 0 6\tsecret\nN1\tReference T1 ICD10:J45\n",
    "CoNLL, a word": "-DOCSTART- -X- O O\n\nsecret NN B-NP O\n",
    "CoNLL": "secret\tO\nasthma\tB-DIS\n\nmore\tO\n",
    "CoNLL,": "1\tsecret\tO\n2\tasthma\tB-DIS\n",
    "XML": '<?xml version="1.0"?>\n<collection><text>secret</text></collection>\n',
    "extreme classification": "2\t3\t2\n0,1 0:1.0 2:1\n1 1:1\n",
    "LIBSVM": "0,1 1:1.0 3:1\n1 2:1\n",
    "--prefix #label#": "#label#A #label#B secret\n",
    "--prefix __class__": "__class__A secret\n",
    "--prefix label:": "label:A secret\n",
    "Annif": json.dumps({"text": "secret", "subjects": []}) + "\n",
}
OBJECTS = {
    "plant prepare annif": {"text": "secret", "subjects": [{"uri": "http://x.org/1"}]},
    "Prodigy": {"text": "secret", "spans": [], "answer": "accept"},
    "plant prepare labelstudio": {"data": {"text": "secret"}, "annotations": []},
    "JSON-MIN": {"text": "secret", "label": [], "annotator": 1, "annotation_id": 2},
    "BioC": {"source": "x", "documents": []},
    "spaCy": {"paragraphs": []},
    "words with tags": {"tokens": ["secret"], "ner_tags": [0]},
    "plant prepare doccano": {"text": "secret", "label": [[0, 6, "A"]]},
    "places of marks": {"text": "secret", "labels": [[0, 6, "A"]]},
    "plant prepare xmc": {"uid": "1", "title": "secret", "target_ind": [0]},
}


@pytest.mark.parametrize("name", LINES)
def test_lines(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(LINES[name])
    with pytest.raises(DataError, match=rf"x\.txt, line 1: this is another format(?s:.*){name}") as caught:
        read_any(tmp_path / "x.txt")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", OBJECTS)
def test_objects(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps(OBJECTS[name]) + "\n")
    with pytest.raises(DataError, match=rf"x\.jsonl, line 1: this is another format(?s:.*){name}") as caught:
        read_any(tmp_path / "x.jsonl")
    assert "secret" not in str(caught.value)


def test_labels_that_are_json_objects(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('text,labels\nsecret,"{""choices"":[""A"",""B""]}"\n')
    with pytest.raises(DataError, match="labels as JSON objects, as Label Studio"):
        read_any(tmp_path / "x.csv")


@pytest.mark.parametrize("lines", [["A\tknown O\n", "B\tno O\n"], ["3 4 5\n", "more\n"], ["# text\n"],
                                   ["__bold__ text\n"], ["{not JSON\n"], ["A\ttype O\n"]])  # fmt: skip
def test_what_only_begins_alike_is_read(lines: list[str]) -> None:
    assert list(as_text_format(iter(lines), "x")) == lines


def test_what_is_ours_is_not_foreign(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "x", "labels": ["A"], "spans": [], "answer": "accept"}\n')
    assert read_any(tmp_path / "x.jsonl").labels == [["A"]]
    assert foreign_object({"text": "x", "labels": ["A"]}) is None


@pytest.mark.parametrize(
    ("header", "named"), [("id,data,label", "doccano's CSV"), ("annotation_id,annotator,text,label", "JSON-MIN or CSV")]
)
def test_a_table_of_another_program_is_named_by_its_columns(tmp_path: Path, header: str, named: str) -> None:
    path = tmp_path / "export.csv"
    path.write_text(f"{header}\n" + ",".join(["secret"] * len(header.split(","))) + "\n")
    with pytest.raises(DataError, match=named) as refused:
        read_any(path)
    assert "secret" not in str(refused.value)
