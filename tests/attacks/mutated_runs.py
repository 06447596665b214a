"""Run folders, and new documents asked about with a whole one, for :mod:`mutated_inputs`."""

from __future__ import annotations

import atexit
import json
import os
import random
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

from model_folder import write_whole
from mutated_data import plain_new, write_file
from mutated_inputs import OUT, Answer, Subject, asked
from mutations import spoil_file, spoil_folder

from plant_plugin.errors import PlantError
from plant_plugin.model.manifest import MANIFEST, write_manifest

CPU = ("--device", "cpu")


@cache
def two_runs() -> tuple[Path, Path, Path]:
    """Two runs of one task and one of another seed, trained once for all inputs; and the task's folder."""
    task = Path(tempfile.mkdtemp(prefix="mutated"))
    atexit.register(shutil.rmtree, task, ignore_errors=True)
    one = write_whole(task)
    other = task / "other"
    other.mkdir()
    from marked_task import marked_config, write_marked_splits

    from plant_plugin.training.run import run

    write_marked_splits(other)
    config = marked_config(other, seed=2, planted_scores__weight=1.0)
    run(config)
    return one, Path(config.checkpoint_dir), task


def write_run(folder: Path) -> None:
    shutil.copytree(two_runs()[0], folder / "run")


def spoil_run(folder: Path, chance: random.Random, *, sealed: bool = False) -> None:
    run = folder / "run"
    spoil_folder(run, chance, devices=True)
    if sealed:
        (run / MANIFEST).unlink(missing_ok=True)
        try:
            write_manifest(run)
        except (OSError, PlantError):
            return


def swap_files(folder: Path, chance: random.Random) -> None:
    """Files of one run in the place of another's."""
    run, other = folder / "run", two_runs()[1]
    names = sorted(path.name for path in run.iterdir() if path.is_file() and (other / path.name).is_file())
    for name in chance.sample(names, chance.randint(1, 2)):
        shutil.copy(other / name, run / name)


def spoil_unsealed(folder: Path, chance: random.Random) -> None:
    """Files beside the model, which no manifest holds."""
    names = [
        name
        for name in ("logs.json", "result.json", "run.json", "per_document.npz", "metrics.csv")
        if (folder / "run" / name).exists()
    ]
    spoil_file(folder / "run" / chance.choice(names), chance)


def answered(folder: Path, *arguments: object) -> Answer:
    answer = asked(*arguments)
    out = folder.parent / OUT
    written = sorted(path.name for path in out.rglob("*") if path.is_file()) if out.exists() else []
    return answer._replace(read=[answer.out.replace(str(folder), ""), written])


def ask_run(command: str, folder: Path) -> Answer:
    run, out, note = folder / "run", folder.parent / OUT, two_runs()[2] / "note.txt"
    options: dict[str, list[object]] = {
        "predict": [run, note, *CPU],
        "explain": [run, note, *CPU, "--json"],
        "label": [run, "L3", *CPU, "--json"],
        "compare": [f"a={run}", f"b={two_runs()[1]}", "--baseline", "a", "--resamples", "20"],
        "plausibility": [run, *CPU],
        "strip": [run, "--out", out, "--min-documents", "3"],
        "faithfulness": [run, note, *CPU],
        "serve": [run, *CPU, "--port", "0"],
        "train": [two_runs()[2] / "test.txt", "--from", run, "--result_dir", out],
    }
    return answered(folder, command, *options[command])


def shape(content: Any) -> Any:
    """JSON without its values."""
    if isinstance(content, dict):
        return {key: shape(value) for key, value in content.items()}
    if isinstance(content, list):
        return [shape(value) for value in content]
    return "number" if isinstance(content, int | float) and not isinstance(content, bool) else type(content).__name__


def same_kind(folder: Path) -> bool:
    """Whether files without a manifest are of the shape that they had, so that they say something else."""
    run, original = folder / "run", two_runs()[0]
    for path in sorted(original.iterdir()):
        mine = run / path.name
        if path.is_dir() or (mine.is_file() and mine.read_bytes() == path.read_bytes()):
            continue
        if path.suffix == ".json":
            if shape(json.loads(mine.read_text())) != shape(json.loads(path.read_text())):
                raise ValueError(f"{path.name}: another shape")
        elif path.suffix in (".npz", ".csv", ".txt", ".tsv"):
            if not mine.exists():
                raise ValueError(f"{path.name} is gone")
    return True


def write_notes(name: str, folder: Path) -> None:
    write_file(name, folder)


def predict(name: str, folder: Path) -> Answer:
    answer = asked("predict", two_runs()[0], folder / name, *CPU)
    return answer._replace(
        read=[json.loads(line).get("id") for line in answer.out.splitlines()] if answer.code == 0 else None
    )


def plain_ids(name: str, folder: Path) -> list[Any]:
    return [str(number if number is not None else row) for row, (number, _, _) in enumerate(plain_new(name, folder), 1)]


def subjects() -> list[Subject]:
    two_runs()  # before processes are forked
    quick = ("predict", "explain", "label", "plausibility", "strip", "faithfulness")
    made = [
        Subject(f"run folders: {command}", write_run, partial(ask_run, command), None, True, spoil_run)
        for command in quick
    ]
    made += [
        Subject(
            f"run folders: {command}, sealed anew",
            write_run,
            partial(ask_run, command),
            lambda folder: True,
            True,
            partial(spoil_run, sealed=True),
        )
        for command in quick
    ]
    made += [
        Subject(
            f"run folders: {command}, files of two runs", write_run, partial(ask_run, command), None, True, swap_files
        )
        for command in quick
    ]
    made += [
        Subject(
            f"run folders: {command}, files beside the model",
            write_run,
            partial(ask_run, command),
            same_kind,
            True,
            spoil_unsealed,
        )
        for command in ("compare", "plausibility")
    ]
    return made + [
        Subject(
            f"data files: predicted, {name}",
            partial(write_notes, name),
            partial(predict, name),
            partial(plain_ids, name),
            True,
        )
        for name in ("a.csv", "a.jsonl", "three.txt")
    ]


if not os.environ.get("CANARY"):
    os.environ["CANARY"] = "/nowhere/at/all"
