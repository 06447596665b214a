"""Cases joined to notes: every case of validation in one note, and codes that hold for all notes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def joined_cases() -> ModuleType:
    spec = importlib.util.spec_from_file_location("joined_cases", ROOT / "benchmarks" / "rehearsal" / "joined_cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_cases(folder: Path) -> None:
    for split, number in (("train", 60), ("valid", 30), ("test", 30)):
        cases = (
            " ".join(f"C{(case * step) % 40}" for step in (1, 3, 7, 9, 11, 13)) + f"\t{split}{case} " + "word " * 400
            for case in range(number)
        )
        (folder / f"{split}.txt").write_text("".join(f"{case}\n" for case in cases), encoding="utf-8")


def notes_of(path: Path) -> list[tuple[set[str], list[str]]]:
    lines = (line.partition("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [(set(codes.split()), text.split()) for codes, _, text in lines]


def test_notes_are_long_and_have_the_codes_of_their_cases(joined_cases: ModuleType, tmp_path: Path) -> None:
    write_cases(tmp_path)
    joined_cases.main([str(tmp_path), "--out", str(tmp_path / "joined"), "--notes", "50"])
    codes_of = {
        text[0]: codes for split in ("train", "valid", "test") for codes, text in notes_of(tmp_path / f"{split}.txt")
    }
    notes = {split: notes_of(tmp_path / "joined" / f"{split}.txt") for split in ("train", "valid", "test")}
    wanted = set[str]().union(*(codes for codes, _ in notes["train"]))
    assert len(notes["train"]) == 50
    for split, of_split in notes.items():
        for codes, words in of_split:
            cases = [word for word in words if word != "word"]
            assert all(case.startswith(split) for case in cases)
            assert len(words) >= joined_cases.WORDS
            assert codes == wanted & set[str]().union(*(codes_of[case] for case in cases))
    for split in ("valid", "test"):  # so that notes are independent of each other
        cases = [word for _, words in notes[split] for word in words if word != "word"]
        assert len(cases) == len(set(cases)) >= 26


def test_a_seed_makes_the_same_notes(joined_cases: ModuleType, tmp_path: Path) -> None:
    write_cases(tmp_path)
    for name, seed in (("one", "1"), ("same", "1"), ("other", "2")):
        joined_cases.main([str(tmp_path), "--out", str(tmp_path / name), "--notes", "9", "--seed", seed])
    one, same, other = ((tmp_path / name / "train.txt").read_bytes() for name in ("one", "same", "other"))
    assert one == same != other
