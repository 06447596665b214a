"""Annif's corpora in each of their forms."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.prepare.annif import Subject, prepare_annif

CATS, DOGS = "http://example.org/cats", "http://example.org/dogs"
TEXTS = f"{CATS} {DOGS}\tfur and paws\n{DOGS}\tbarks\n"
NAMES = f"{CATS}\tcats\n{DOGS}\tdogs and wolves\n"
OBJECTS = [
    {"text": "fur and\npaws", "subjects": [{"uri": CATS, "label": "cats"}, {"uri": DOGS, "label": "dogs and wolves"}]},
    {"text": "barks", "subjects": [{"label": "dogs and wolves"}], "metadata": {"title": "t"}, "document_id": "7"},
]


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return folder


FORMS = {
    "tsv": {"c.tsv": f"fur and paws\t<{CATS}> <{DOGS}>\n\nbarks\t{DOGS}\n"},
    "tsv.gz": {"c.tsv.gz": f"\ufefffur and paws\t<{CATS}>\t<{DOGS}>\nbarks\t<{DOGS}>\n"},
    "csv": {"c.csv": f'text,subject_uris\n"fur\nand paws",<{CATS}> {DOGS}\nbarks,<{DOGS}>\n'},
    "jsonl": {"c.jsonl": "".join(json.dumps(entry) + "\n" for entry in OBJECTS)},
    "folder, tsv": {
        "a.txt": "fur and\npaws", "a.tsv": f"<{CATS}>\tcats\n<{DOGS}>\tdogs and wolves\n", "b.txt": "barks\n",
        "b.tsv": f"<{DOGS}>\tdogs and wolves", "b.key": "cats\n",
    },
    "folder, key": {
        "a.txt": "fur and paws", "a.key": "cats\ndogs and wolves\n", "b.txt": "barks", "b.key": f"<{DOGS}>"
    },
    "folder, json": {f"{name}.json": json.dumps(entry, indent=1) for name, entry in zip("ab", OBJECTS, strict=True)},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_documents(form: str, tmp_path: Path) -> None:
    raw = written(tmp_path / "raw", FORMS[form])
    vocabulary = written(tmp_path, {"v.tsv": f"<{CATS}>\tcats\n<{DOGS}>\tdogs and wolves\t7\n"}) / "v.tsv"
    prepare_annif(raw, tmp_path / "out", vocabulary)
    assert (tmp_path / "out" / "train.txt").read_text() == TEXTS
    assert (tmp_path / "out" / "label_names.tsv").read_text() == NAMES
    if len(FORMS[form]) == 1:
        prepare_annif(raw / next(iter(FORMS[form])), tmp_path / "file", vocabulary)
        assert (tmp_path / "file" / "train.txt").read_text() == TEXTS


def test_names_without_a_uri_are_labels_and_counted(tmp_path: Path) -> None:
    report = prepare_annif(written(tmp_path / "raw", FORMS["folder, key"]), tmp_path / "out")
    assert (tmp_path / "out" / "train.txt").read_text() == f"cats dogs_and_wolves\tfur and paws\n{DOGS}\tbarks\n"
    assert report["counts"]["subjects_without_a_uri"] == 2
    assert (tmp_path / "out" / "label_names.tsv").read_text() == "cats\tcats\ndogs_and_wolves\tdogs and wolves\n"


@pytest.mark.parametrize("form", FORMS)
def test_splits(form: str, tmp_path: Path) -> None:
    files = FORMS[form]
    single = len(files) == 1
    raw = {
        f"{split}{name[1:]}" if single else f"{split}/{name}": content
        for split in ("train", "validate", "test")
        for name, content in files.items()
    }
    report = prepare_annif(written(tmp_path / "raw", raw), tmp_path / "out")
    assert [report["sets"][""][split] for split in ("train", "valid", "test")] == [2, 2, 2]


def test_what_is_passed_over_is_counted(tmp_path: Path) -> None:
    raw = written(tmp_path / "a", {"c.tsv": f"a\t<{CATS}>\nno tab\nb\tno uri\nc\t\n"})
    call = ["prepare", "annif", str(raw / "c.tsv"), str(tmp_path / "out")]
    stopped = CliRunner().invoke(plant, call)
    assert stopped.exit_code == 2
    assert "line 2: no URIs of subjects after one TAB" in stopped.output
    done = CliRunner().invoke(plant, [*call, "--skip-bad"])
    assert done.exit_code == 0, done.output
    said = {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert {"bad lines left out 2", "documents without label left out 1"} <= said
    report = prepare_annif(
        written(tmp_path / "b", {"a.txt": "a", "a.key": "x", "b.key": "y", "c.txt": "c"}), tmp_path / "o", dry_run=True
    )
    assert report["counts"]["subjects_without_a_text"] == 1
    report = prepare_annif(written(tmp_path / "c", FORMS["jsonl"]), tmp_path / "o", dry_run=True)
    assert report["counts"]["documents_with_more_than_text_and_subjects"] == 1


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"c.tsv": f"<{CATS}>\tsecret text\n"}, "c.tsv, line 1: no URIs of subjects"),
        ({"c.csv": "text,labels\nsecret,x\n"}, "c.csv, line 1: no columns text and subject_uris"),
        ({"c.csv": "text,subject_uris\nsecret,x\n"}, "c.csv, line 2: something that is no URI"),
        ({"c.csv": "text,subject_uris\nsecret,x,y\n"}, "c.csv, line 2: columns: 3"),
        ({"c.jsonl": "secret\n"}, "c.jsonl, line 1: broken JSON"),
        ({"c.jsonl": '["secret"]\n'}, "line 1: no object with a text"),
        ({"c.jsonl": '{"text": "secret", "subjects": "x"}\n'}, "line 1: subjects are no list"),
        ({"c.jsonl": '{"text": "secret", "subjects": [{}]}\n'}, "line 1: a subject without uri or label"),
        ({"c.jsonl": '{"text": "secret", "subjects": [{"uri": 7}]}\n'}, "line 1: a subject without uri or label"),
        ({"c.jsonl": '{"text": "secret", "subjects": [7]}\n'}, "line 1: a subject without uri or label"),
        ({"c.jsonl": '{"text": "secret"}\n'}, "no document for training has a label"),
        ({"a.json": '{"text": "secret'}, "a.json: broken JSON"),
        ({"a.txt": "secret"}, "no document for training has a label"),
        ({"a.md": "secret"}, "no corpus of Annif"),
        ({"train/a.md": "secret"}, "train: no .txt and no .json"),
        ({"v.tsv": "secret\n"}, "no URIs"),
    ],
)
def test_corpora_that_are_none(files: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        prepare_annif(written(tmp_path / "raw", files), tmp_path / "out")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_vocabulary_that_is_none(tmp_path: Path) -> None:
    raw = written(tmp_path / "raw", FORMS["tsv"])
    with pytest.raises(DataError, match=r"v.txt, line 1: no URI and name"):
        prepare_annif(raw, tmp_path / "out", written(tmp_path, {"v.txt": "cats\n"}) / "v.txt")
    assert Subject("u") == Subject("u", "")
