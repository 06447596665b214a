"""Every file of a model folder, mutated: an error in one line, or the same answer as before; never a crash.

By accident (the manifest is as it was) any change has to be refused or change nothing. On purpose (whoever changed the
file has written a manifest for it) the model is another one and may say so: it is refused in one line, or answers.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attacked import Tally
from model_folder import Ended, asked, note_of
from safetensors.torch import load_file, safe_open, save_file

from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.model.manifest import FILES, MANIFEST, PACKED_NAMES, REMOVABLE, write_manifest

SAMPLED, ALL = 1, 40  # mutations of each file, in each way
NUMBERS = (0, -1, 1, 2**31 - 1, 2**31, 2**63, 2**64, 10**30, -(10**30), 0.5, 1e308, float("nan"), float("inf"))
VALUES: tuple[Any, ...] = (None, True, "", "x", "../../x", "\x00", [], {}, [[]], [1, 2, 3], {"a": {"b": 1}}, *NUMBERS)
OF_ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "an index far beyond": lambda array: _with(array, 2**30),
    "an index just beyond": lambda array: _with(array, array.max(initial=0) + 1 if array.dtype.kind in "iu" else 7),
    "below zero": lambda array: _with(array, -1),
    "zeros": np.zeros_like,
    "turned round": lambda array: array[::-1],
    "without its last": lambda array: array[:-1],
    "doubled": lambda array: np.concatenate([array, array]),
    "empty": lambda array: array[:0],
    "of another type": lambda array: array.astype(np.complex64 if array.dtype.kind in "iufb" else np.float64, copy=True)
    if array.dtype.kind in "iufb" else np.zeros(3),
    "wider": lambda array: array.astype(np.int64) if array.dtype.kind in "iub" else array.astype(np.float64)
    if array.dtype.kind == "f" else array,
    "not a number": lambda array: array.astype(np.float32) * np.nan if array.dtype.kind in "iuf" else array,
    "objects": lambda array: array.astype(object),
    "a single value": lambda array: array.reshape(-1)[0] if array.size else array,
    "another dimension": lambda array: array[None],
}  # fmt: skip


def _with(array: np.ndarray, value: int) -> np.ndarray:
    changed = array.astype(np.int64) if array.dtype.kind in "iu" else array.copy()
    if changed.dtype.kind in "if" and changed.size:
        changed.reshape(-1)[changed.size // 2] = value
    return changed


def bytes_of(content: bytes, chance: random.Random) -> bytes:
    """Bits, blocks and lines, as disks, networks and editors change them."""
    place = chance.randrange(max(1, len(content)))
    other = chance.randrange(max(1, len(content)))
    lines = content.split(b"\n")
    ways: list[Callable[[], bytes]] = [
        lambda: content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :],
        lambda: content[:place],
        lambda: content + bytes(chance.randrange(256) for _ in range(20)),
        lambda: content[:place] + bytes(min(64, len(content) - place)) + content[place + 64 :],
        lambda: content[:place] + content[place + 1 :],
        lambda: b"",
        lambda: content[min(place, other) :] + content[: min(place, other)],
        lambda: b"\n".join(lines[::-1]),
        lambda: b"\n".join([*lines[1:2], *lines[:1], *lines[2:]]),
        lambda: content + content,
    ]
    return chance.choice(ways)()


def places_of(content: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(min(3, len(content))):
            yield from places_of(content[key], (*before, key))


def json_of(path: Path, chance: random.Random) -> None:
    """Another value, a missing or foreign key, or brackets without an end."""
    content = json.loads(path.read_text())
    if chance.random() < 0.1:
        path.write_text(
            chance.choice(["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "nul", '{"format": 3', "\ufeff{}"])
        )
        return
    *way, last = chance.choice([place for place in places_of(content) if place] or [("x",)])
    inner = content
    for key in way:
        inner = inner[key]
    if isinstance(inner, dict) and chance.random() < 0.2:
        inner.pop(last, None)
    else:
        inner[last] = chance.choice(VALUES)
    path.write_text(json.dumps(content))


def arrays_of(path: Path, chance: random.Random) -> None:
    """One array of a file as none of this package writes it."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name, way = chance.choice(sorted(arrays)), chance.choice(sorted(OF_ARRAYS))
    if arrays[name].ndim or way in ("objects", "of another type", "another dimension", "below zero", "not a number"):
        arrays[name] = np.asarray(OF_ARRAYS[way](arrays[name]))
    else:
        del arrays[name]
    np.savez(path, **arrays)


def weights_of(path: Path, chance: random.Random) -> None:
    """One tensor of another name, shape, type or content."""
    tensors = load_file(path)
    with safe_open(path, framework="pt") as stored:
        about = stored.metadata()
    name = chance.choice(sorted(tensors))
    tensor = tensors.pop(name)
    ways = {
        "gone": None, "transposed": tensor.flatten(), "halved": tensor[: len(tensor) // 2] if tensor.ndim else None,
        "not a number": tensor * float("nan"), "infinite": tensor + float("inf"), "whole": tensor.int(),
        "wider": tensor.double(), "narrower": tensor.bfloat16(),
    }  # fmt: skip
    changed = ways[chance.choice(sorted(ways))]
    if changed is not None:
        tensors[name if chance.random() < 0.9 else f"{name}_"] = changed.contiguous()
    save_file(tensors, path, metadata=about)


def mutate(path: Path, chance: random.Random) -> None:
    ways = {".json": json_of, ".npz": arrays_of, ".safetensors": weights_of}
    if path.suffix in ways and chance.random() < 0.6:
        ways[path.suffix](path, chance)
    else:
        path.write_bytes(bytes_of(path.read_bytes(), chance))


def questions(folder: Path, name: str) -> list[list[str]]:
    """What shows a file: every command reads most of them, two of them one command alone."""
    on_text = [str(folder), str(note_of(folder)), "--device", "cpu"]
    if name == "evidence_threshold.json":
        return [["explain", *on_text, "--json"]]
    label = ["label", str(folder), "L3", "--device", "cpu", "--json"]
    return [label] if name in ("label_statistics.tsv", "per_document.npz") else [["predict", *on_text], label]


def answer(folder: Path, name: str, known: dict[str, Ended]) -> Ended:
    """Of the whole folder, once for each kind of question."""
    key = name if name in ("evidence_threshold.json", "label_statistics.tsv", "per_document.npz") else ""
    if key not in known:
        known[key] = asked(*questions(folder, name))
        assert known[key].code == 0, known[key].error
    return known[key]


@pytest.fixture(scope="module")
def answers() -> dict[str, Ended]:
    return {}


def check(
    whole: Path,
    answers: dict[str, Ended],
    folder: Path,
    name: str,
    seed: int,
    *,
    sealed: bool,
    tally: Tally,
) -> None:
    expected = answer(whole, name, answers)
    shutil.copytree(whole, folder, copy_function=os.link)  # one file is written anew, the others are the same
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    mutate(path, random.Random(f"{name} {seed} {sealed}"))
    if sealed:
        (folder / MANIFEST).unlink()
        write_manifest(folder)
    ended = asked(*questions(folder, name))
    same = ended.code == 0 and (sealed or ended.out == expected.out)
    tally(f"a mutated file of a model folder, {'on purpose' if sealed else 'by accident'}", ended.refused or same)
    assert ended.refused or same, (name, seed, sealed, ended.code, ended.error[-1500:])
    shutil.rmtree(folder)


WRITTEN = [name for name in FILES if name != LABEL_NAMES]  # plain in folders of before
MUTATED = [*WRITTEN, MANIFEST, "per_document.npz"]


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(SAMPLED), marks=pytest.mark.integration),
        pytest.param(range(SAMPLED, ALL), marks=pytest.mark.attacks),
    ],
    ids=["sample", "rest"],
)
@pytest.mark.parametrize("sealed", [False, True], ids=["by accident", "on purpose"])
@pytest.mark.parametrize("name", MUTATED)
def test_a_mutated_file(
    whole: Path, answers: dict[str, Ended], tmp_path: Path, tally: Tally, name: str, sealed: bool, seeds: range
) -> None:
    for seed in seeds:
        check(whole, answers, tmp_path / str(seed), name, seed, sealed=sealed, tally=tally)


@pytest.mark.integration
@pytest.mark.parametrize("name", [*WRITTEN, MANIFEST])
def test_a_missing_file(whole: Path, answers: dict[str, Ended], tmp_path: Path, tally: Tally, name: str) -> None:
    shutil.copytree(whole, tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    ended = asked(*questions(tmp_path / "run", name))
    survived = ended.refused or (name in REMOVABLE and ended.code == 0)
    tally("a missing file of a model folder", survived)
    assert survived, ended
    assert name in REMOVABLE or name in ended.error


@pytest.mark.integration
def test_labels_in_another_order(whole: Path, tmp_path: Path, tally: Tally) -> None:
    """``tac labels.txt`` once gave wrong codes, and exit code 0; also where there is no manifest, or a new one."""
    for sealed in (False, True):
        folder = tmp_path / f"{sealed}"
        shutil.copytree(whole, folder)
        lines = (folder / "labels.txt").read_text().splitlines()
        (folder / "labels.txt").write_text("".join(f"{line}\n" for line in reversed(lines)))
        if sealed:
            write_manifest(folder)
        ended = asked(*questions(folder, "labels.txt"))
        tally("labels in another order", ended.refused)
        assert ended.refused
        assert "labels.txt" in ended.error


@pytest.mark.integration
@pytest.mark.parametrize(("key", "value"), [("hidden_size", 10**9), ("embed_dim", 10**12), ("filter_sizes", [10**9])])
def test_a_network_that_asks_for_terabytes(whole: Path, tmp_path: Path, tally: Tally, key: str, value: Any) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    content = json.loads((folder / "config.json").read_text())
    content["network_config"][key] = value
    if key == "embed_dim":
        content["word_vectors"][1] = 2**31 - 1
    (folder / "config.json").write_text(json.dumps(content))
    write_manifest(folder)
    ended = asked(*questions(folder, "config.json"))
    tally("a network that asks for terabytes", ended.refused)
    assert ended.refused, ended
    assert "config.json: network_config" in ended.error


def test_a_folder_without_its_manifest_is_refused(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    (folder / MANIFEST).unlink()
    ended = asked(questions(folder, "config.json")[0])
    assert ended.refused
    assert "manifest.json" in ended.error


def test_names_beside_those_of_the_model_are_refused(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    (folder / LABEL_NAMES).write_text("L3\tanother sign\n")
    ended = asked(questions(folder, LABEL_NAMES)[0])
    assert ended.refused
    assert "manifest.json does not name it" in ended.error


def test_without_verifying_only_sizes_are_compared(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    path, question = folder / PACKED_NAMES, questions(folder, PACKED_NAMES)[0]
    names = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(names, mtime=1))  # as long, with another time in it
    assert asked([*question, "--no-verify"]).code == 0
    assert asked(question).refused
    path.write_bytes(gzip.compress(names + b"L99\tmore\n"))
    assert asked([*question, "--no-verify"]).refused
