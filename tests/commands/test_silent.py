"""``--silent``: each command that takes it prints nothing at all, its libraries and what is imported included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from made_up import write_vectors
from marked_task import write_marked_split, write_marked_splits
from tiny_language_models import write_language_model, write_tokenizer

from plant_plugin.cli import libmultilabel, plant

# Each command on its own descriptors: what compiled code or an import prints is seen too.
CHILD = """
import glob, json, os, sys
from plant_plugin.cli import libmultilabel, plant
for number, (program, *words) in enumerate(json.loads(sys.argv[1])):
    words = [next(glob.iglob(word), word) for word in words]
    shown = os.open(f"shown{number}", os.O_WRONLY | os.O_CREAT)
    sys.stdout.flush(), sys.stderr.flush()
    os.dup2(shown, 1), os.dup2(shown, 2)
    try:
        {"plant": plant, "libmultilabel": libmultilabel}[program].main([*words, "--silent"])
    except SystemExit as end:
        os.write(shown, b"" if not end.code else f"exit code {end.code}".encode())
"""
SMALL = {"encoder": "cnn", "filter_sizes": [3], "embed_dim": 8, "hidden_size": 8, "pool_size": 4, "num_heads": 2}
MADE = {
    "training_file": "train.txt", "val_file": "valid.txt", "test_file": "test.txt", "model_name": "PLANT",
    "network_config": SMALL, "stage1": {"epochs": 1}, "stage2": {"epochs": 1}, "learning_rate": 0.01, "batch_size": 30,
    "monitor_metrics": ["P@1", "nDCG@5"], "val_metric": "nDCG@5", "seed": 1, "cpu": True, "result_dir": "runs",
    "cache_dir": "cache",
}  # fmt: skip
QUANTISED = {"lm_weight": "mistral", "quantization": "nf4", "lora": {"r": 4}, "num_heads": 2, "pool_size": 8}
LSTM = {"embed_dim": 8, "hidden_size": 8, "num_layers": 1, "ranker_size": 4, "ranker_hidden": 4, "language_model": "lm"}
KIM_CNN = {"filter_sizes": [2], "num_filter_per_size": 8}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder of made-up documents."""
    write_marked_splits(tmp_path)
    write_marked_split(tmp_path, "new", 10, 7)
    return tmp_path


def written(folder: Path, name: str, **changes: object) -> str:
    """Write a configuration; None takes a key out."""
    values = {key: value for key, value in {**MADE, **changes}.items() if value is not None}
    (folder / name).write_text(yaml.safe_dump(values))
    return name


def shown(folder: Path, commands: list[tuple[str, ...]]) -> dict[str, str]:
    """What each of the commands printed that printed anything; words may be patterns of files that are there then."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    arguments = [sys.executable, "-c", CHILD, json.dumps(commands)]
    ended = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True)
    assert ended.stdout + ended.stderr == ""
    texts = [(folder / f"shown{number}").read_text() for number in range(len(commands))]
    return {" ".join(command): text for command, text in zip(commands, texts, strict=True) if text}


def test_every_command_that_takes_it_is_tried() -> None:
    context = click.Context(plant)
    commands = {name: plant.get_command(context, name) for name in plant.list_commands(context)}
    takes = {name for name, command in commands.items() if command is not None and _takes(command)}
    assert takes == {"bench", "pretrain-lm", "relevance", "search", "train", "validate"}
    assert _takes(libmultilabel)


def _takes(command: click.Command) -> bool:
    return any("--silent" in parameter.opts for parameter in command.get_params(click.Context(command)))


@pytest.mark.integration
def test_nothing_is_printed(here: Path) -> None:
    made = written(here, "made.yml", planted_scores={"model": "ridge"})
    linear = written(here, "linear.yml", linear=True, linear_technique="1vsrest", val_file=None, network_config=None,
                     stage1=None, stage2=None, model_name="linear", result_dir="linear")  # fmt: skip
    sizes = ("--network_config.hidden_size", "8", "--network_config.pool_size", "8", "--stage2.epochs", "1")
    commands = [
        ("libmultilabel", "--config", made),
        ("libmultilabel", "--config", made, "--resume", "auto", "--strategy", "planted_scores"),
        ("libmultilabel", "--config", linear),
        ("plant", "train", "train.txt", *sizes, "--stage1.epochs", "1", "--cpu", "--result_dir", "chosen"),
        ("plant", "relevance", made, "--label", "L3"),
        ("plant", "validate", made),
        ("plant", "train", "--from", "chosen/*", "new.txt", "--result_dir", "further"),
        ("libmultilabel", "--config", "chosen/*/settled.yml", "--eval", "--checkpoint_path", "chosen/*"),
    ]
    assert shown(here, commands) == {}
    assert len([*here.glob("further/*/result.json")]) == 1


@pytest.mark.integration
def test_nothing_is_printed_by_what_takes_longer(here: Path) -> None:
    base = here / "mistral"
    write_language_model("mistral", base)
    write_tokenizer([here / "train.txt"], base)
    write_vectors(here / "vectors.txt")
    network = {**SMALL, "hidden_size": ["grid_search", [8, 16]]}
    words = written(here, "words.yml", model_name="PLANTL2R", network_config=LSTM, result_dir="lstm")
    cnn = written(here, "cnn.yml", model_name="KimCNN", network_config=KIM_CNN, embed_file="vectors.txt", epochs=1,
                  stage1=None, stage2=None, data_workers=1, result_dir="cnn")  # fmt: skip
    tree = written(here, "tree.yml", linear=True, linear_technique="tree", val_file=None, network_config=None,
                   stage1=None, stage2=None, model_name="linear", result_dir="linear")  # fmt: skip
    commands = [
        ("libmultilabel", "--config", written(here, "nf4.yml", network_config=QUANTISED, result_dir="nf4")),
        ("libmultilabel", "--config", cnn),
        ("libmultilabel", "--config", tree),
        ("libmultilabel", "--config", written(here, "two.yml", devices=2, refit="train+val", result_dir="two")),
        ("plant", "bench", "train.txt", "--systems", "scores", "--seeds", "1", "--cpu", "--min_vocab_freq", "1"),
        ("plant", "pretrain-lm", words, "--passes", "1"),
        ("libmultilabel", "--config", words),
        ("plant", "search", written(here, "some_tune.yml", network_config=network, scheduler=None, num_samples=1)),
    ]
    assert shown(here, commands) == {}
