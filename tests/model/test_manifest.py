from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.errors import CheckpointError
from plant_plugin.model.manifest import EVIDENCE_THRESHOLD, NEEDED, belongs, model_files, renew, verify, write_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files with the names of a model's, under their seal; ``logs.json`` is none of them."""
    for name in (*NEEDED, EVIDENCE_THRESHOLD, "logs.json", "tokenizer/tokenizer.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    write_manifest(tmp_path)
    verify(tmp_path)
    return tmp_path


def test_what_is_no_part_of_the_model_may_change(folder: Path) -> None:
    assert set(model_files(folder)) == {*NEEDED, EVIDENCE_THRESHOLD, "tokenizer/tokenizer.json"}
    (folder / "logs.json").write_text("changed")
    (folder / EVIDENCE_THRESHOLD).unlink()
    verify(folder)


@pytest.mark.parametrize("name", [*NEEDED, "tokenizer/tokenizer.json"])
def test_a_file_that_was_changed_or_is_missing_is_named(folder: Path, name: str) -> None:
    (folder / name).write_text(name.swapcase())
    verify(folder, contents=False)
    with pytest.raises(CheckpointError, match=f"{name}: changed since"):
        verify(folder)
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name}: missing"):
        verify(folder, contents=False)


def test_a_file_that_the_manifest_does_not_name_is_refused(folder: Path) -> None:
    (folder / "tokenizer" / "code.py").write_text("")
    with pytest.raises(CheckpointError, match=r"code\.py: not part of the model"):
        verify(folder)


def test_one_file_is_noted_again(folder: Path) -> None:
    (folder / EVIDENCE_THRESHOLD).write_text("another")
    renew(folder, EVIDENCE_THRESHOLD)
    verify(folder)
    (folder / "labels.txt").write_text("another")
    renew(folder, EVIDENCE_THRESHOLD)
    with pytest.raises(CheckpointError, match=r"labels\.txt: changed"):
        verify(folder)


@pytest.mark.parametrize(
    "name", ["../labels.txt", "/labels.txt", "code.py", "tokenizer/", "tokenizer/../a", "backbone\\a"]
)
def test_a_name_that_leads_out_of_the_folder_is_none_of_a_model(name: str) -> None:
    assert not belongs(name)
    assert belongs("tokenizer/tokenizer.json")
