"""Evidence files: what is written comes back, and every mistake is named with its line."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from plant_plugin.config import load_config
from plant_plugin.data.documents import load_corpus
from plant_plugin.data.evidence import evidence_beside, parts, read_evidence, read_marks, write_evidence
from plant_plugin.data.text import DocumentMarks, Documents
from plant_plugin.errors import ConfigError, DataError

TEXTS = ["fever and a dry cough", "broken left arm", "well"]
LABELS = [["R50", "R05"], ["S42"], []]


def documents(ids: list[str] | None = None) -> Documents:
    return Documents(TEXTS, LABELS, ids)


@pytest.mark.parametrize("ids", [None, ["c7", "a1", "b2"]])
def test_written_evidence_comes_back(tmp_path: Path, ids: list[str] | None) -> None:
    marks: list[DocumentMarks] = [{"R50": [[(0, 5)]], "R05": [[(0, 5), (16, 21)], [(12, 15)]]}, {}, {}]
    write_evidence(tmp_path / "train_evidence.tsv", marks)
    if ids is not None:
        written = (tmp_path / "train_evidence.tsv").read_text()
        (tmp_path / "train_evidence.tsv").write_text(written.replace("0\tR", "c7\tR"))
    assert read_marks(tmp_path / "train_evidence.tsv", documents(ids)) == marks
    spans = {"R50": [(0, 5)], "R05": [(0, 5), (12, 15), (16, 21)]}
    assert read_evidence(tmp_path / "train_evidence.tsv", documents(ids)) == [spans, {}, {}]


def test_parts_of_marks(tmp_path: Path) -> None:
    path = tmp_path / "e.tsv"
    path.write_text("0\tR05\t16-21+6-9;12-15;0-5+12-15\n0\tR05\t16-21+0-5\n0\tR50\t0-5;0-5\n")
    marks = read_marks(path, documents())[0]
    assert marks["R05"] == [[(0, 5), (12, 15)], [(0, 5), (16, 21)], [(6, 9), (16, 21)], [(12, 15)]]
    # Parts that marks share are there once; spans that a file repeats stay, as they did before marks had parts.
    assert parts(marks) == {"R05": [(0, 5), (6, 9), (12, 15), (16, 21)], "R50": [(0, 5), (0, 5)]}


def test_spans_are_sorted_and_lines_of_one_label_joined(tmp_path: Path) -> None:
    path = tmp_path / "e.tsv"
    path.write_text("0\tR05\t16-21;12-15\n\n0\tR05\t0-5\n")
    assert read_evidence(path, documents())[0] == {"R05": [(0, 5), (12, 15), (16, 21)]}


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "e.tsv.xz"
    path.write_bytes(lzma.compress(b"1\tS42\t0-6\n"))
    assert read_evidence(path, documents())[1] == {"S42": [(0, 6)]}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("0\tR50", "no evidence"),
        ("0\tR50\t0:5", "no evidence"),
        ("0\tR50\t", "no evidence"),
        ("3\tR50\t0-5", "no such document"),
        ("c7\tR50\t0-5", "no such document"),
        ("1\tR50\t0-5", "does not have this label"),
        ("٣\tR50\t0-5", "no such document"),
        ("9" * 5000 + "\tR50\t0-5", "no such document"),
        ("0\tR50\t0-" + "9" * 5000, "no evidence"),
        ("0\tR50\t0-22", "not inside the text of 21 characters"),
        ("0\tR50\t5-5", "not inside the text"),
        ("0\tR50\t0-5+", "no evidence"),
        ("0\tR50\t0-5+;6-7", "no evidence"),
        ("0\tR50\t0-5+6-22", "not inside the text of 21 characters"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "e.tsv"
    path.write_text(f"0\tR50\t0-5\n{line}\n")
    with pytest.raises(DataError, match=what) as caught:
        read_evidence(path, documents())
    assert caught.value.where == f"{path}, line 2"


def test_numbers_need_all_documents(tmp_path: Path) -> None:
    path = tmp_path / "e.tsv"
    path.write_text("0\tR50\t0-5\n")
    with pytest.raises(DataError, match="left out"):
        read_evidence(path, Documents(TEXTS, LABELS, dropped=1))


def test_an_id_names_one_document(tmp_path: Path) -> None:
    path = tmp_path / "e.tsv"
    path.write_text("c7\tR50\t0-5\n")
    with pytest.raises(DataError, match="the same id"):
        read_evidence(path, documents(["c7", "a1", "c7"]))


def test_the_file_beside(tmp_path: Path) -> None:
    assert evidence_beside(tmp_path / "train.txt.xz") == tmp_path / "train_evidence.tsv"
    assert evidence_beside(tmp_path / "v1.train.txt") == tmp_path / "v1.train_evidence.tsv"


def corpus_files(folder: Path) -> dict[str, object]:
    lines = "".join(f"{' '.join(labels)}\t{text}\n" for text, labels in zip(TEXTS * 4, LABELS * 4, strict=True))
    (folder / "train.txt").write_text(lines)
    (folder / "e.tsv").write_text("".join(f"{row}\tR50\t0-5\n" for row in range(0, 12, 3)))
    return {
        "model_name": "PLANT", "network_config.encoder": "cnn", "training_file": str(folder / "train.txt"),
        "evidence.training_file": str(folder / "e.tsv"), "cache_dir": str(folder),
    }  # fmt: skip


@pytest.mark.parametrize("more", [{}, {"remove_no_label_data": True}])
def test_evidence_goes_with_its_document(tmp_path: Path, more: dict[str, object]) -> None:
    corpus = load_corpus(load_config(None, {**corpus_files(tmp_path), "val_size": 0.3, **more}))
    for split in corpus.splits:
        assert split.evidence is not None
        for text, evidence in zip(split.texts, split.evidence, strict=True):
            assert evidence == ({"R50": [(0, 5)]} if text == TEXTS[0] else {})


def test_merged_splits_keep_it(tmp_path: Path) -> None:
    given = {**corpus_files(tmp_path), "val_file": str(tmp_path / "train.txt"), "merge_train_val": True}
    train = load_corpus(load_config(None, given)).train
    assert train.evidence is not None
    assert [bool(evidence) for evidence in train.evidence] == [True, False, False] * 4 + [False] * 12


def test_files_that_are_not_there(tmp_path: Path) -> None:
    given = corpus_files(tmp_path)
    with pytest.raises(ConfigError, match="no such file"):
        load_config(None, {**given, "evidence.training_file": str(tmp_path / "missing.tsv")})
    with pytest.raises(ConfigError, match="no documents that it could be of"):
        load_config(None, {**given, "val_file": None, "evidence.val_file": str(tmp_path / "e.tsv")})


def test_evidence_of_validation_documents_alone_is_refused(tmp_path: Path) -> None:
    given = {**corpus_files(tmp_path), "val_file": str(tmp_path / "train.txt")}
    given["evidence.val_file"] = given["evidence.training_file"]
    load_config(None, given)
    del given["evidence.training_file"]
    with pytest.raises(ConfigError, match=r"evidence\.val_file.*\n.*give evidence\.training_file too"):
        load_config(None, given)
