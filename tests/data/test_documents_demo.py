from __future__ import annotations

import lzma
import re
from collections import Counter
from pathlib import Path

import pytest

from plant_plugin.data import documents
from plant_plugin.data.documents import DEMO_SPLITS, demo_file, source_path
from plant_plugin.data.tables import read_any
from plant_plugin.data.text import Documents
from plant_plugin.errors import ConfigError, PlantError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("demo")
    return cache


@pytest.fixture(scope="module")
def notes(folder: Path) -> dict[str, Documents]:
    return {split: read_any(demo_file(split, folder)) for split in DEMO_SPLITS}


def test_sizes(notes: dict[str, Documents]) -> None:
    assert {split: len(documents) for split, documents in notes.items()} == {
        "train": 2000, "valid": 300, "test": 500,
    }  # fmt: skip
    lengths = [len(text.split()) for documents in notes.values() for text in documents.texts]
    assert min(lengths) >= 150
    assert max(lengths) <= 300
    assert {len(labels) for documents in notes.values() for labels in documents.labels} == {4, 5, 6}
    assert all(len(set(labels)) == len(labels) for labels in notes["train"].labels)


def test_long_tail(notes: dict[str, Documents]) -> None:
    frequency = Counter(label for labels in notes["train"].labels for label in labels)
    assert len(frequency) == 60
    assert frequency.most_common(1)[0][0] == "I10"
    assert 0.5 < max(frequency.values()) / 2000 < 0.6
    assert min(frequency.values()) < 15
    assert sum(count < 50 for count in frequency.values()) > 20


def test_codes_come_in_groups(notes: dict[str, Documents]) -> None:
    together = Counter()
    frequency: Counter[str] = Counter()
    for labels in notes["train"].labels:
        categories = {label[:3] for label in labels}
        frequency.update(categories)
        together.update((a, b) for a in categories for b in categories if a < b)
    pairs = [pair for pair in together if {"J44", "J96", "F17", "J45", "J18"} >= set(pair)]
    expected = sum(frequency[a] * frequency[b] / 2000 for a, b in pairs)
    assert sum(together[pair] for pair in pairs) > 1.5 * expected


def test_notes_are_notes(notes: dict[str, Documents]) -> None:
    text = notes["train"].texts[0]
    for heading in ("CHIEF COMPLAINT", "HISTORY OF PRESENT ILLNESS", "HOSPITAL COURSE"):
        assert heading in text
    assert sum(bool(re.search("No evidence of|Denies any history", text)) for text in notes["train"].texts) > 500
    heading = re.compile(r"PAST MEDICAL HISTORY: (.*) HOSPITAL COURSE:")
    assert all(heading.search(text) for text in notes["train"].texts)


def test_codes_are_put_together_as_coders_do(notes: dict[str, Documents]) -> None:
    for labels in (set(own) for split in notes.values() for own in split.labels):
        assert len({label[:3] for label in labels}) == len(labels)
        assert "I10" not in labels or not any(label.startswith(("I50", "N18")) for label in labels)
        assert not {"F17.210", "Z87.891"} <= labels
    for text, labels in zip(notes["train"].texts, notes["train"].labels, strict=True):
        assert "N40.1" not in labels or "year old man" in text
    assert len(set(notes["train"].texts + notes["test"].texts)) == 2500


def test_unpacked_once(folder: Path, tmp_path: Path) -> None:
    again = {split: demo_file(split, tmp_path) for split in DEMO_SPLITS}
    for split, path in again.items():
        assert path.read_bytes() == demo_file(split, folder).read_bytes()
    stamp = again["train"].stat().st_mtime_ns
    assert demo_file("train", tmp_path).stat().st_mtime_ns == stamp
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == sorted(path.name for path in again.values())


def test_name_follows_the_packed_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = demo_file("valid", tmp_path)
    (tmp_path / "valid.txt.xz").write_bytes(lzma.compress(b"I10\tother notes\n"))
    monkeypatch.setattr(documents, "DEMO", tmp_path)
    assert demo_file("valid", tmp_path).read_text() == "I10\tother notes\n"
    assert demo_file("valid", tmp_path) != before


def test_named_as_a_source(folder: Path) -> None:
    assert source_path("demo:test", folder) == demo_file("test", folder)
    assert source_path("some/file.txt") == Path("some/file.txt")
    with pytest.raises(ConfigError, match="demo:dev"):
        source_path("demo:dev", folder)


def test_cache_folder_not_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlantError, match="cannot be written"):
        demo_file("train", tmp_path / "file")


def test_default_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from plant_plugin.files import cache_folder

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "plant_plugin"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "plant_plugin"
    assert cache_folder("~/x") == Path.home() / "x"
