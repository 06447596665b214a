"""The table of a comparison: numbers, tests, cost, and what has no result."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.report.bench_table import write_bench
from plant_plugin.report.read_systems import load_systems
from plant_plugin.report.result import save_result
from plant_plugin.report.systems import System

LABELS = [f"l{number}" for number in range(8)]
TRUTH = np.random.default_rng(1).random((30, len(LABELS))) < 0.3


def written(folder: Path, name: str, quality: float, seed: int, minutes: float) -> Path:
    noise = np.random.default_rng(seed).normal(size=TRUTH.shape)
    evaluator = Evaluator(len(LABELS), metrics=["P@1", "MAP"], keep_documents=True)
    evaluator.update((quality * TRUTH + noise).astype(np.float32), TRUTH.astype(np.float32))
    result = {
        "dataset": "mine", "model": name, "seed": seed, "split": "test", "metrics": evaluator.compute(),
        "counts": {"documents": len(TRUTH), "labels": len(LABELS)},
        "time_s": {"total": 60 * minutes}, "cpu_s": {"total": 90 * minutes},
        "peak_memory_mb": {"total": 900.0, "train": 100.0 * minutes, "test": 50.0},
        "hashes": {"test": "t", "labels": "l"},
    }  # fmt: skip
    run = folder / f"{name}_seed{seed}"
    run.mkdir()
    save_result(run / "result.json", result, evaluator.per_document(LABELS))  # type: ignore[arg-type]
    return run


@pytest.fixture
def systems(tmp_path: Path) -> tuple[list[System], dict[str, list[Path]]]:
    runs = {"linear": [written(tmp_path, "linear", 0.5, 1, 1)],
            "plant": [written(tmp_path, "plant", 4, seed, seed) for seed in (1, 2, 3)]}  # fmt: skip
    loaded = load_systems([f"{name}={run}" for name, of_name in runs.items() for run in of_name])
    loaded[0].without_chance = True
    return loaded, runs


def test_one_table_with_tests_cost_and_what_failed(
    tmp_path: Path, systems: tuple[list[System], dict[str, list[Path]]]
) -> None:
    loaded, runs = systems
    text, files = write_bench(tmp_path, loaded, "linear", runs, {"caml, seed 1": "no\n  memory"})
    assert text == (tmp_path / "table.md").read_text()
    assert [file.name for file in files] == ["table.md", "table.csv"], "nothing was trained epoch by epoch"
    assert "| plant | 2.00 | 3.00 | 200.00 |" in text, "means over seeds, of memory the largest of a phase"
    (verdict,) = (line for line in text.splitlines() if line.startswith("| plant | P@1 | +"))
    assert "| 3 | better |" in verdict
    assert "- caml, seed 1: no result: no memory." in text
    assert "- linear: nothing is drawn at random" in text
    rows = list(csv.DictReader((tmp_path / "table.csv").open()))
    assert [row["system"] for row in rows] == ["linear", "plant"]
    assert rows[1]["processor minutes"] == "3.0"
    assert rows[1]["P@1"].endswith("▲")


def test_curves_beside_it_and_a_baseline_without_a_result(
    tmp_path: Path, systems: tuple[list[System], dict[str, list[Path]]]
) -> None:
    pytest.importorskip("matplotlib")
    loaded, runs = systems
    (runs["plant"][0] / "logs.json").write_text(json.dumps({"val": [{"P@1": 0.5}]}))
    text, files = write_bench(tmp_path, loaded, "gone", runs, {})
    assert files[-1].name == "curves.svg"
    assert "![Learning curves](curves.svg)" in text
    assert "Gain over linear" in text
    runs["plant"] = runs["plant"][1:]
    write_bench(tmp_path, loaded, "linear", runs, {})
    assert not (tmp_path / "curves.svg").exists(), "it was of other runs"
