from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.data.foreign_files import (
    as_text_format,
    check_columns,
    fasttext_document,
    foreign_object,
    is_fasttext,
)
from plant_plugin.data.tables import Columns, Table, read_any
from plant_plugin.errors import DataError

FASTTEXT = "\n__label__sauce __label__food-safety How  much\tpot?\n\nbread __label__dough rises\nnothing here\n"


@pytest.mark.parametrize("name", ["cooking.train", "cooking.txt", "cooking.txt.gz"])
def test_fasttext_is_known_by_its_content(name: str, tmp_path: Path) -> None:
    content = FASTTEXT.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    documents = read_any(tmp_path / name)
    assert documents.labels == [["sauce", "food-safety"], ["dough"], []]
    assert documents.texts == ["How much pot?", "bread rises", "nothing here"]
    of_prediction = list(Table(tmp_path / name, columns=Columns(labels=None)))
    assert [document.text for document in of_prediction] == documents.texts
    assert CliRunner().invoke(plant, ["stats", str(tmp_path / name)]).exit_code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("__label__a b\n__label__ secret\n", "line 2: a label without a name"),
        ("__label__a,__label__b secret\n", "line 1: two labels without a space"),
        ('"__label__a secret"\n', "line 1: the line is quoted"),
        ("secret text\t<http://a/b> <http://a/c>\n", "line 1: URIs where the text should be"),
        ("secret\thttp://a/b\n", "line 1: URIs"),
        ("__label__a, secret\n", "line 1: a comma after a label"),
        ("__label__a x\n__LABEL__b secret\n", "line 2: a label whose prefix has other capitals"),
        ("labels\ttext\n", "line 1: a header"),
    ],
)
def test_what_is_not_read_is_named(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read_any(tmp_path / "raw.txt")
    assert "secret" not in str(caught.value)


def test_other_lines_stay_as_they_are() -> None:
    for lines in (["a\tb __label__c\n"], ["\n", "a\tb\n"], []):
        assert list(as_text_format(iter(lines), "x")) == lines
    assert not is_fasttext("a\t__label__b")
    assert is_fasttext("__label__b\ta")
    assert fasttext_document("#a x #a #b", "#") == (["a", "b"], "x")
    check_columns(["a", "see http://a/b"], "x")


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
