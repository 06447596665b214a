"""Several annotators with folders or files of their own: the same documents are joined, and others stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from marked_words import marked_words

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotations import Choices
from plant_plugin.prepare.marked.annotators import files_of_annotators
from plant_plugin.prepare.marked.brat import prepare_brat

TEXT = "Known asthma. No fever."


def brat(folder: Path, codes: dict[str, str] | None, text: str | None = TEXT, name: str = "1") -> None:
    """Write a document: the code of each marked word, without marks if None; the text too."""
    folder.mkdir(parents=True, exist_ok=True)
    if text is not None:
        (folder / f"{name}.txt").write_bytes(text.encode())
    if codes is not None:
        lines = list[str]()
        for number, (code, word) in enumerate(codes.items(), 1):
            start = TEXT.index(word)
            lines.append(f"T{number}\tD {start} {start + len(word)}\t{word}\nN{number}\tRef T{number} ICD10:{code}\n")
        (folder / f"{name}.ann").write_text("".join(lines))


ANN, BOB = {"J45": "asthma", "R50": "fever"}, {"J45": "Known asthma", "B99": "fever"}


@pytest.mark.parametrize("form", ["{}", "train/{}", "{}/notes", "batch/{}", "train/batch/{}/notes", "apart {}"])
@pytest.mark.parametrize(
    ("annotators", "labels"),
    [
        ("union", {"J45": ["asthma", "Known asthma"], "R50": ["fever"], "B99": ["fever"]}),
        ("majority", {"J45": ["asthma", "Known asthma"]}),
        ("ann", {"J45": ["asthma"], "R50": ["fever"]}),
        ("bob", {"J45": ["Known asthma"], "B99": ["fever"]}),
    ],
)
def test_a_folder_for_each_annotator_of_brat(
    form: str, annotators: str, labels: dict[str, list[str]], tmp_path: Path
) -> None:
    apart = form.startswith("apart")
    for name, codes in {"ann": ANN, "bob": BOB, "admin": {}}.items():
        brat(tmp_path / "raw" / form.removeprefix("apart ").format(name), codes, None if apart else TEXT)
    if apart:
        brat(tmp_path / "raw" / "texts", None)
    done = CliRunner().invoke(plant, ["prepare", "brat", "--raw", str(tmp_path / "raw"), "--out", str(tmp_path / "out"),
                                      "--annotators", annotators])  # fmt: skip
    assert done.exit_code == 0, done.output
    [marked] = marked_words(tmp_path / "out" / "train.txt")
    assert {label: sorted(words, key=len) for label, words in marked.items()} == labels
    said = {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert {"documents of several annotators 1", "annotators who marked nothing 1"} <= said


def test_texts_that_only_share_a_name_are_documents_of_their_own(tmp_path: Path) -> None:
    brat(tmp_path / "raw" / "north", {"J45": "asthma"})
    brat(tmp_path / "raw" / "south", {"J45": "asthma"}, f"{TEXT} And more.")
    made = prepare_brat(tmp_path / "raw", tmp_path / "out")
    assert made["sets"][""]["train"] == 2
    assert "documents_of_several_annotators" not in made["counts"]


@pytest.mark.parametrize("other", [TEXT.replace("fever", "fewer"), f"{TEXT}\r\n"])
def test_annotators_with_two_versions_of_a_text(other: str, tmp_path: Path) -> None:
    for name, text in {"ann": TEXT, "bob": other}.items():
        brat(tmp_path / "raw" / name, {"J45": "asthma"})
        brat(tmp_path / "raw" / name, {"J45": "asthma"}, text, "2")
    with pytest.raises(DataError, match="the text is not that of the same name by another annotator") as caught:
        prepare_brat(tmp_path / "raw", tmp_path / "out")
    assert "one version of the text" in str(caught.value)
    made = prepare_brat(tmp_path / "raw", tmp_path / "out", choices=Choices(skip_bad=True))
    assert made["counts"]["bad_documents_left_out"] == 1
    assert made["sets"][""]["train"] == 2


def test_a_person_who_is_not_there(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        brat(tmp_path / "raw" / name, {"J45": "asthma"})
    with pytest.raises(DataError, match="--annotators: nobody of this name"):
        prepare_brat(tmp_path / "raw", tmp_path / "out", choices=Choices(annotators="eve"))


def test_splits_belong_at_the_top(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        for split in ("train", "test"):
            brat(tmp_path / "raw" / name / split, {"J45": "asthma"})
    with pytest.raises(DataError, match="train, valid or test lie in folders of other names"):
        prepare_brat(tmp_path / "raw", tmp_path / "out")
    for split in ("train", "test"):
        (tmp_path / "files" / "train" / f"{split}.jsonl").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / "train" / f"{split}.jsonl").write_text("")
    with pytest.raises(DataError, match="lie in folders of these names"):
        files_of_annotators(tmp_path / "files", ".jsonl")


def test_a_text_apart_from_its_marks_is_the_only_one_of_its_name(tmp_path: Path) -> None:
    brat(tmp_path / "raw" / "ann", {"J45": "asthma"}, None)
    for name in ("texts", "more"):
        brat(tmp_path / "raw" / name, None)
    with pytest.raises(DataError, match=r"without the other \(3 in all\)"):
        prepare_brat(tmp_path / "raw", tmp_path / "out")
