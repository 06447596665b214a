from __future__ import annotations

import json
from pathlib import Path

import pytest

from plant_plugin.errors import PlantError
from plant_plugin.prepare.output import PROVENANCE, opened, staged, unnamed, write_names, write_provenance


def prepare(out: Path, *names: str, sources: tuple[Path, ...] = ()) -> None:
    with staged(out, sources) as stage:
        for name in names:
            with opened(stage, name) as stream:
                stream.write(f"{name}\n")
        write_provenance(stage, {"command": "test"})


def test_files_take_their_place_when_the_block_ends_well(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"

    def stop_halfway() -> None:
        with staged(out) as stage:
            (stage / "train.txt").touch()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stop_halfway()
    assert not (tmp_path / "a").exists()
    prepare(out, "train.txt")
    assert sorted(path.name for path in out.iterdir()) == [PROVENANCE, "train.txt"]
    assert [file["name"] for file in json.loads((out / PROVENANCE).read_text())["files"]] == ["train.txt"]


def test_what_an_old_provenance_names_goes_unless_somebody_changed_it(tmp_path: Path) -> None:
    prepare(tmp_path, "train.txt", "old.txt", "mine.txt")
    (tmp_path / "mine.txt").write_text("changed\n")
    (tmp_path / "other.txt").touch()
    prepare(tmp_path, "train.txt")
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["mine.txt", "other.txt", "train.txt"]


def test_a_source_is_not_replaced(tmp_path: Path) -> None:
    source = tmp_path / "train.txt"
    source.write_text("read\n")
    with pytest.raises(PlantError, match="would be replaced"):
        prepare(tmp_path, "train.txt", sources=(source,))
    assert source.read_text() == "read\n"


def test_names_of_labels(tmp_path: Path) -> None:
    assert unnamed(["a", "b"], {}) == {}
    assert unnamed(["a", "b"], {"a": "first"}) == {"labels_without_a_name": 1}
    write_names(tmp_path, ["b", "a"], {"a": "first", "c": "third"})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["a\tfirst\n"]
