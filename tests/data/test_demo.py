from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from plant_plugin.data import demo
from plant_plugin.data.demo import DemoOptions, demo_file
from plant_plugin.data.documents import source_path
from plant_plugin.data.libmultilabel_txt import Documents, read_libmultilabel_text
from plant_plugin.errors import ConfigError, MissingExtraError, PlantError

SMALL = DemoOptions(train=30, valid=5, test=10, labels=40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("demo")
    demo_file("train", cache)
    demo_file("train", cache, SMALL)
    return cache


@pytest.fixture(scope="module")
def notes(folder: Path) -> dict[str, Documents]:
    return {split: read_libmultilabel_text(demo_file(split, folder)) for split in demo.SPLITS}


def test_sizes(notes: dict[str, Documents]) -> None:
    assert {split: documents.counts.read for split, documents in notes.items()} == {
        "train": 2000, "valid": 300, "test": 500,
    }  # fmt: skip
    lengths = [len(text.split()) for documents in notes.values() for text in documents.texts]
    assert min(lengths) >= 150
    assert max(lengths) <= 300
    assert {len(labels) for documents in notes.values() for labels in documents.labels} == {4, 5, 6}
    assert all(len(set(labels)) == len(labels) for labels in notes["train"].labels)


def test_long_tail(notes: dict[str, Documents]) -> None:
    frequency = Counter(label for labels in notes["train"].labels for label in labels)
    assert 280 <= len(frequency) <= 300
    assert max(frequency.values()) < 700
    assert sum(count < 10 for count in frequency.values()) > 60


def test_codes_come_in_groups(notes: dict[str, Documents]) -> None:
    together = Counter()
    frequency: Counter[str] = Counter()
    for labels in notes["train"].labels:
        categories = {label[:3] for label in labels}
        frequency.update(categories)
        together.update((a, b) for a in categories for b in categories if a < b)
    pairs = [pair for pair in together if {"I50", "I25", "I48", "I42"} >= set(pair)]
    expected = sum(frequency[a] * frequency[b] / 2000 for a, b in pairs)
    assert sum(together[pair] for pair in pairs) > 1.5 * expected


def test_notes_are_notes(notes: dict[str, Documents]) -> None:
    text = notes["train"].texts[0]
    for heading in ("CHIEF COMPLAINT", "HISTORY OF PRESENT ILLNESS", "HOSPITAL COURSE"):
        assert heading in text
    assert any(re.search("No evidence of|denies any history", text) for text in notes["train"].texts)
    assert len(set(notes["train"].texts + notes["test"].texts)) == 2500


def test_deterministic_and_made_once(folder: Path, tmp_path: Path) -> None:
    again = {split: demo_file(split, tmp_path, SMALL) for split in demo.SPLITS}
    for split, path in again.items():
        assert path.read_bytes() == demo_file(split, folder, SMALL).read_bytes()
    stamp = again["train"].stat().st_mtime_ns
    assert demo_file("train", tmp_path, SMALL).stat().st_mtime_ns == stamp
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == sorted(path.name for path in again.values())


def test_name_follows_options_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert DemoOptions(seed=1).hash() != DemoOptions().hash()
    before = DemoOptions().hash()
    monkeypatch.setattr(demo, "GENERATOR_VERSION", demo.GENERATOR_VERSION + 1)
    assert DemoOptions().hash() != before


def test_named_as_a_source(folder: Path) -> None:
    assert source_path("demo:test", folder) == demo_file("test", folder)
    assert source_path("some/file.txt") == Path("some/file.txt")
    with pytest.raises(ConfigError, match="demo:dev"):
        source_path("demo:dev", folder)


def test_cache_folder_not_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlantError, match="cannot be written"):
        demo_file("train", tmp_path / "file", SMALL)


def test_without_icd_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> str:
        raise demo.PackageNotFoundError(name)

    monkeypatch.setattr(demo, "version", missing)
    with pytest.raises(MissingExtraError, match="simple-icd-10-cm"):
        demo_file("train", tmp_path)


def test_default_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from plant_plugin.data.cache import cache_folder

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "plant_plugin"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "plant_plugin"
    assert cache_folder("~/x") == Path.home() / "x"


def test_draws_follow_the_weights() -> None:
    """The draw in logarithmic time against the plain one: all that are left, by weight."""
    import random

    from plant_plugin.prepare import demo_notes

    weights = (5, 1, 3, 0.5, 2)
    conditions = [demo_notes._Condition(str(place), "", ("x",), weight) for place, weight in enumerate(weights)]
    pool = demo_notes._Pool(conditions)
    for chosen in ([], [0], [4, 0], [1, 2, 3], [3, 1]):
        fast, plain = random.Random(1), random.Random(1)
        left = [place for place in range(5) if place not in chosen]
        for _ in range(200):
            assert pool.draw(chosen, fast) == plain.choices(left, [weights[place] for place in left])[0]
            found = pool.others(chosen, fast)
            assert found == [conditions[place] for place in plain.sample(left, min(plain.randint(2, 4), len(left)))]
