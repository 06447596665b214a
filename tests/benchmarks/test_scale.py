"""The program that measures how steps grow with labels and documents."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scale
from click.testing import CliRunner
from tables import write_pages

from plant_plugin.cli import libmultilabel


def test_every_label_is_dealt_and_labels_follow_zipf() -> None:
    made = [line.split("\t") for line in scale.lines(400, 1000, 30, np.random.default_rng(1), every_label=True)]
    counts = dict.fromkeys((f"L{label}" for label in range(1000)), 0)
    for labels, text in made:
        assert len(text.split()) == 30
        for label in labels.split():
            counts[label] += 1
    assert min(counts.values()) == 1
    assert counts["L0"] > 4 * counts["L9"] > 4


def test_the_slope_is_the_exponent() -> None:
    assert scale.slope([(x, 3 * x**1.5) for x in (10.0, 40.0, 90.0)]) == pytest.approx(1.5)
    assert np.isnan(scale.slope([(10.0, 1.0)]))


def test_more_labels_than_places_are_refused() -> None:
    with pytest.raises(SystemExit, match="60 labels do not fit into 10 documents"):
        scale.measure(10, 60, 20, 1)


@pytest.mark.integration
def test_a_size_is_measured_and_the_page_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, because another one takes seconds to start; of 400 documents one run, of the others its line."""

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if "--predict" in command:
            told = json.dumps(scale.predicted(*map(Path, command[3:])))
            return subprocess.CompletedProcess(command, 0, stdout=told)
        done = CliRunner().invoke(libmultilabel, command[3:])
        return subprocess.CompletedProcess(command, done.exit_code)

    monkeypatch.setattr(subprocess, "run", run)
    measured = scale.measure(400, 100, 20, batches=1, held=32)
    assert (measured["labels"], measured["trained"], measured["held"]) == (100, 32, 32)
    assert 0 < measured["predict_ms"] < 1000
    assert measured["P@1"] > 0.5  # labels have words of their own: by chance a twentieth
    others = [{**measured, "labels": 200, "cpu_s": {name: 4 * value for name, value in measured["cpu_s"].items()}},
              {**measured, "documents": 800}]  # fmt: skip
    (tmp_path / "scale.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (measured, *others)))
    scale.main([], tmp_path)
    page = (tmp_path / "scale.md").read_text()
    assert "| slope along labels | at 400 documents |  | 2.00 |" in page
    assert "| slope along documents | at 100 labels |  | 0.00 |" in page
    assert "| slope along labels | of all sizes |  | 0.00 |" in page
    write_pages(tmp_path / "no_results", tmp_path)  # deletes pages whose results are gone
    assert {path.name for path in tmp_path.iterdir()} >= {"scale.md", "scale_growth.png"}
