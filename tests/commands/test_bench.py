"""``plant bench`` and ``plant plot``: what is read, printed and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.report.systems import system_of
from plant_plugin.training import bench as training
from plant_plugin.training.bench import Bench


def call(*arguments: object) -> Result:
    return CliRunner().invoke(plant, [str(argument) for argument in arguments])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Any, ...]]:
    """What training was asked for; it has a result of the first system only."""
    seen: list[tuple[Any, ...]] = []

    def bench(file: str, systems: list[str], seeds: int, out: Path, flags: dict[str, object], say: object) -> Bench:
        seen.append((file, systems, seeds, flags))
        out.mkdir()
        failed = {name: "it has failed" for name in systems[1:]}
        if not systems[1:]:
            return Bench([], {}, {systems[0]: DataError("it has failed", fix="mend it").message})
        result: Any = {"dataset": "notes", "seed": 1, "metrics": {"P@1": 0.25}}
        return Bench([system_of(systems[0], [("x", result, None)])], {systems[0]: [tmp_path]}, failed)

    monkeypatch.setattr(training, "bench", bench)
    monkeypatch.chdir(tmp_path)
    return seen


def test_the_table_is_printed_and_written(asked: list[tuple[Any, ...]]) -> None:
    done = call("bench", "notes.csv", "--systems", "scores,caml", "--stage2.epochs", 3, "--min_vocab_freq", 2)
    assert done.exit_code == 0, done.output
    assert asked == [("notes.csv", ["scores", "caml"], 3, {"stage2.epochs": "3", "min_vocab_freq": "2"})]
    assert "| scores | 1 | **25.0** |" in done.stdout or "| scores | 1 | 25.0 |" in done.stdout
    assert "- caml: no result: it has failed." in done.stdout
    assert "written: bench/table.md, bench/table.csv" in done.stderr
    assert Path("bench/table.md").read_text() == done.stdout


def test_no_result_at_all_is_an_error_with_every_reason(asked: list[tuple[Any, ...]]) -> None:
    done = call("bench", "notes.csv", "--systems", "caml", "--out", "out")
    assert done.exit_code == 2
    assert "no system has a result\n  caml: it has failed\n  How to fix it: mend it" in done.output
    assert done.output.count("How to fix it") == 1


def test_plot_draws_runs_under_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(name).mkdir()
        Path(name, "logs.json").write_text(json.dumps({"val": [{"P@1": 0.5}, {"P@1": 0.6}]}))
    done = call("plot", "a", "mine=b", "--out", "picture.svg")
    assert done.exit_code == 0, done.output
    picture = Path("picture.svg").read_text()
    assert "<!-- mine -->" in picture
    assert "<!-- a -->" in picture
    refused = call("plot", "nowhere")
    assert refused.exit_code == 2
    assert "no such folder of a run" in refused.output
