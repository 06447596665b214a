"""The commands: how flags reach the configuration, what is printed, and how errors look."""

from __future__ import annotations

import dataclasses
import errno
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from plant_plugin import __version__
from plant_plugin.cli import libmultilabel, plant
from plant_plugin.config import Config
from plant_plugin.config.sections import BLOCKS, MAPPINGS, SCHEMA
from plant_plugin.errors import Interrupted, PlantError

CONFIG = """\
model_name: PLANT
training_file: demo:train
test_file: demo:test
network_config: {encoder: bigru}
epochs: 7
seed: 5
linear: false
stage1: {k: 100, labels: 32}
"""


@pytest.fixture
def config_file(tmp_path: Path) -> str:
    path = tmp_path / "small.yml"
    path.write_text(CONFIG, encoding="utf-8")
    return str(path)


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch, config_file: str) -> Callable[..., Config]:
    """Run ``libmultilabel`` up to where training would start and return its configuration."""
    seen: list[Config] = []

    def run(config: Config) -> dict[str, Any]:
        seen.append(config)
        return {}

    monkeypatch.setattr("plant_plugin.training.run.run", run)

    def call(*flags: str, file: str | None = config_file) -> Config:
        seen.clear()
        outcome = CliRunner().invoke(libmultilabel, [*(["--config", file] if file else []), *flags])
        assert outcome.exit_code == 0, outcome.output
        return seen[0]

    return call


def invoke(command: Any, *arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_help_offers_every_key_and_says_its_default() -> None:
    text = " ".join(invoke(libmultilabel, "--help").output.split())
    for option in SCHEMA:
        assert f"--{option.name}" in text
        assert f"{option.group}:" in text
    for block, kind in BLOCKS.items():
        assert all(f"--{block}.{field.name} " in text for field in dataclasses.fields(kind))
    assert all(f"--{name}.KEY VALUE" in text for name in MAPPINGS)
    assert "--min_vocab_freq NUMBER Words in fewer training documents than this are unknown. [default: 1]" in text
    assert "--stage1.labels VALUE [default: 256]" in text
    assert "--optimizer adam|adamw|adamax|sgd" in text


def test_without_arguments_the_help_is_shown() -> None:
    assert invoke(libmultilabel).output.startswith("Usage: libmultilabel")


@pytest.mark.parametrize("command", [libmultilabel, plant])
def test_version(command: Any) -> None:
    assert __version__ in invoke(command, "--version").output


def test_flags_beat_the_file(train: Callable[..., Config]) -> None:
    config = train("--epochs", "3", "--stage1.k", "500", "--network_config.hidden_size", "64")
    assert (config.epochs, config.seed) == (3, 5)
    assert (config.stage1.k, config.stage1.labels) == (500, 32)
    assert config.network_config == {"encoder": "bigru", "hidden_size": 64}
    config = train("--network_config.hidden_size", "64", "--network_config", '{"encoder": "cnn", "num_heads": 1}')
    assert config.network_config == {"encoder": "cnn", "num_heads": 1}


def test_flags_alone_are_enough(train: Callable[..., Config]) -> None:
    flags = ["--model_name", "PLANT", "--training_file", "demo:train", "--network_config.encoder=cnn"]
    config = train(*flags, file=None)
    assert config.network_config == {"encoder": "cnn"}
    assert config.config_name == "PLANT"


def test_short_form_of_config(train: Callable[..., Config], config_file: str) -> None:
    assert train("-c", config_file, file=None).epochs == 7


@pytest.mark.parametrize(
    ("flags", "key", "value"),
    [
        (["--eval_batch_size", "8"], "eval_batch_size", 8),
        (["--eval_batch_size=8"], "eval_batch_size", 8),
        (["--learning_rate", "2e-5"], "learning_rate", 2e-5),
        (["--cpu"], "cpu", True),
        (["--no-cpu"], "cpu", False),
        (["--shuffle", "false"], "shuffle", False),  # bool("false") is True in LibMultiLabel's main.py
        (["--shuffle", "True"], "shuffle", True),
        (["--save_k_predictions"], "save_k_predictions", 100),
        (["--save_k_predictions", "--cpu"], "save_k_predictions", 100),
        (["--save_k_predictions", "7"], "save_k_predictions", 7),
        (["--monitor_metrics", "P@5", "MAP", "--cpu"], "monitor_metrics", ["P@5", "MAP", "P@1"]),
        (["--monitor_metrics", "P@5", "--monitor_metrics", "P@1"], "monitor_metrics", ["P@5", "P@1"]),
        (["--seed", "null"], "seed", None),
        (["--init_weight", "null"], "init_weight", None),
        (["--predict_out_path", "null", "--result_dir", "R", "--resume", "."], "predictions_path", "predictions.txt"),
    ],
)
def test_values(train: Callable[..., Config], flags: list[str], key: str, value: Any) -> None:
    assert getattr(train(*flags), key) == value


@pytest.mark.parametrize(
    ("flags", "block", "key", "value"),
    [
        (["--stage2.hard_negatives", "null"], "stage2", "hard_negatives", None),
        (["--stage1.labels", "all"], "stage1", "labels", "all"),
        (["--stage1.labels=16"], "stage1", "labels", 16),
        (["--relevance.top", "1000"], "relevance", "top", 1000),
        (["--stage2.learning_rate", "2e-5"], "stage2", "learning_rate", 2e-5),
    ],
)
def test_values_of_blocks(train: Callable[..., Config], flags: list[str], block: str, key: str, value: Any) -> None:
    assert getattr(getattr(train(*flags), block), key) == value


def test_a_negative_argument_of_the_network_is_a_value() -> None:
    outcome = invoke(libmultilabel, "--network_config.hidden_size", "-1", "--model_name", "PLANT")
    assert "No such option" not in outcome.output


def test_all_problems_at_once_as_one_paragraph(config_file: str) -> None:
    outcome = invoke(libmultilabel, "--config", config_file, "--epochs", "0", "--val_metric", "Q@1", "--stage1.k", "x")
    assert outcome.exit_code == 2
    assert all(word in outcome.output for word in ("3 problems", "epochs", "Q@1", "stage1.k"))
    assert "Traceback" not in outcome.output


def test_an_unknown_flag_comes_with_the_nearest(config_file: str) -> None:
    outcome = invoke(libmultilabel, "--config", config_file, "--epoch", "3")
    assert outcome.exit_code == 2
    assert "--epochs" in outcome.output


def test_errors_of_ours_print_without_traceback(monkeypatch: pytest.MonkeyPatch, config_file: str) -> None:
    def run(config: Config) -> dict[str, Any]:
        raise PlantError("the disk is full", where="runs", fix="make room")

    monkeypatch.setattr("plant_plugin.training.run.run", run)
    outcome = invoke(libmultilabel, "-c", config_file)
    assert (outcome.exit_code, outcome.output) == (
        2,
        "Error: runs: the disk is full\n  How to fix it: make room\n",
    )


def test_output_that_finds_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("plant_plugin.report.summary.print_summary", full)
    monkeypatch.setattr("plant_plugin.training.run.run", lambda config: {"metrics": {}})
    outcome = invoke(libmultilabel, "-c", "plant_demo.yml")
    assert (outcome.exit_code, outcome.output.splitlines()[0]) == (2, "Error: output: the disk is full")


def test_six_numbers_are_printed_and_all_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {**dict.fromkeys(["P@1", "P@5", "nDCG@5", "MAP-gold"], 0.5), "AUC-macro": 0.25}
    monkeypatch.setattr("plant_plugin.training.run.run", lambda config: {"metrics": metrics})
    few, every = (invoke(libmultilabel, "-c", "plant_demo.yml", *more) for more in ([], ["--all"]))
    assert (few.output.count("50.00"), few.output.count("25.00")) == (4, 0)
    assert every.output.count("25.00") == 1


@pytest.mark.parametrize("by_lightning", [False, True])
def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, config_file: str, by_lightning: bool) -> None:
    def run(config: Config) -> dict[str, Any]:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            if by_lightning:
                sys.exit(1)
            raise

    monkeypatch.setattr("plant_plugin.training.run.run", run)
    outcome = invoke(libmultilabel, "-c", config_file)
    assert (outcome.exit_code, outcome.output) == (130, "")


def test_other_exits_keep_their_code(monkeypatch: pytest.MonkeyPatch, config_file: str) -> None:
    monkeypatch.setattr("plant_plugin.training.run.run", lambda config: sys.exit(3))
    assert invoke(libmultilabel, "-c", config_file).exit_code == 3


def test_a_stop_that_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, config_file: str) -> None:
    def run(config: Config) -> dict[str, Any]:
        raise Interrupted("interrupted", fix="--resume runs/x")

    monkeypatch.setattr("plant_plugin.training.run.run", run)
    outcome = invoke(libmultilabel, "-c", config_file)
    assert outcome.exit_code == 130
    assert "--resume runs/x" in outcome.output


def test_other_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch, config_file: str) -> None:
    def run(config: Config) -> dict[str, Any]:
        raise ZeroDivisionError

    monkeypatch.setattr("plant_plugin.training.run.run", run)
    assert isinstance(invoke(libmultilabel, "-c", config_file).exception, ZeroDivisionError)


@pytest.mark.parametrize(("flags", "shown"), [([], True), (["--silent"], False)])
def test_the_table_at_the_end(monkeypatch: pytest.MonkeyPatch, config_file: str, flags: list[str], shown: bool) -> None:
    result = {"model": "PLANT", "dataset": "demo", "metrics": {"P@1": 0.125}, "counts": {}}
    monkeypatch.setattr("plant_plugin.training.run.run", lambda config: result)
    outcome = invoke(libmultilabel, "-c", config_file, *flags)
    assert ("12.50" in outcome.output) is shown
    assert (outcome.output == "") is not shown
