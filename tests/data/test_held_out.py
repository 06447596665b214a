"""Files of a comparison: drawn once, apart, with what lies beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.config.sections import Settings
from plant_plugin.data.evidence import read_evidence
from plant_plugin.data.held_out import held_out
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError


def write_table(folder: Path, documents: int = 25) -> Path:
    """Documents of labels of two words, of which each text is there twice, with a mark in every one."""
    rows = [f"n{number},word{number // 2} sign,heart failure;L{number % 3}\n" for number in range(documents)]
    (folder / "notes.csv").write_text("id,text,labels\n" + "".join(rows))
    marks = [f"n{number}\theart_failure\t{len(f'word{number // 2} ')}-{len(f'word{number // 2} sign')}\n"
             for number in range(documents)]  # fmt: skip
    (folder / "notes_evidence.tsv").write_text("".join(marks))
    (folder / "label_names.tsv").write_text("heart_failure\tfailing heart\n")
    return folder / "notes.csv"


def test_splits_are_drawn_apart_with_labels_evidence_and_names(tmp_path: Path) -> None:
    settings = Settings(training_file=str(write_table(tmp_path)))
    keys = held_out(settings, tmp_path / "data")
    assert list(keys) == ["training_file", "val_file", "test_file"]
    read = {key: read_any(file) for key, file in keys.items()}
    texts = [set(documents.texts) for documents in read.values()]
    assert not texts[0] & texts[1]
    assert not texts[2] & (texts[0] | texts[1])
    assert sum(map(len, read.values())) == 25
    assert 3 <= len(read["test_file"]) <= 7
    for key, documents in read.items():
        assert all("heart_failure" in labels for labels in documents.labels)
        beside = Path(keys[key]).with_name(f"{Path(keys[key]).stem}_evidence.tsv")
        for text, marks in zip(documents.texts, read_evidence(beside, documents), strict=True):
            ((start, end),) = marks["heart_failure"]
            assert text[start:end] == "sign"
    assert (tmp_path / "data" / "label_names.tsv").read_text() == "heart_failure\tfailing heart\n"


def test_the_same_documents_are_drawn_again(tmp_path: Path) -> None:
    settings = Settings(training_file=str(write_table(tmp_path)))
    first, second = (held_out(settings, tmp_path / name) for name in ("a", "b"))
    assert [Path(file).read_bytes() for file in first.values()] == [Path(file).read_bytes() for file in second.values()]


def test_files_that_are_named_stay(tmp_path: Path) -> None:
    file = str(write_table(tmp_path))
    keys = {"training_file": file, "val_file": "v.txt", "test_file": "t.txt"}
    assert held_out(Settings(**keys), tmp_path / "data") == keys
    assert not (tmp_path / "data").exists()
    drawn = held_out(Settings(training_file=file, test_file="t.txt"), tmp_path / "data")
    assert drawn["test_file"] == "t.txt"
    assert len(read_any(drawn["training_file"])) + len(read_any(drawn["val_file"])) == 25


def test_too_few_documents(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("A\tonly one\n")
    with pytest.raises(DataError, match="too few"):
        held_out(Settings(training_file=str(tmp_path / "one.txt")), tmp_path / "data")


def test_drawn_files_are_read_as_the_file_that_they_are_of(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    content = table.read_text().replace("id,text,labels", "id,abstract,subjects").replace("word", "wörd")
    table.write_bytes(content.encode("latin-1"))
    (tmp_path / "notes_evidence.tsv").unlink()
    how = {"text_column": "abstract", "labels_column": "subjects", "encoding": "latin-1"}
    keys = held_out(Settings(training_file=str(table), **how), tmp_path / "data")
    for file in keys.values():
        documents = read_any(file, **how)
        assert all("wörd" in text for text in documents.texts)
        assert all("heart_failure" in labels for labels in documents.labels)
