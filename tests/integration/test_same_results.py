"""Four runs whose metrics are what they were before the package was made smaller, to the digit.

``same_results.json`` holds metrics and processor of the program before, of one or two runs each: a run that compiles
its loops first and a later one may differ in rounding. Another processor adds up in another order: its metrics only
have to be near. A change that is meant to change results puts new ones in their place::

    python tests/integration/test_same_results.py NAME=result.json …
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from plant_plugin import Predictor
from plant_plugin.config import load_config
from plant_plugin.training.run import run

pytestmark = pytest.mark.integration
KEPT = Path(__file__).with_name("same_results.json")
NEAR = 0.03  # of a metric in [0, 1], between processors
SHORT = {"stage1.epochs": 1, "stage2.epochs": 1}
DENIED = "Denies COPD, HTN, or T2DM."
OF_NOTE = {
    "Z79.01",
    "I10",
    "I48.91",
    "Z87.891",
    "J18.9",
    "N17.9",
    "E11.9",
    "J96.01",
}  # examples/note.txt, as docs/quick_start.md shows it
RUNS = {"plant_demo": {}, "plant_codiesp_en": SHORT, "plant_bc5cdr": SHORT, "plant_eurlex6k": SHORT}


@pytest.mark.parametrize("name", RUNS)
def test_metrics_are_what_they_were(
    name: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None
) -> None:
    if name != "plant_demo":
        if not (shared / "data").is_dir():
            pytest.skip("needs data in the shared folder")
        _unpack(shared / "data", name, tmp_path / "data")
        monkeypatch.chdir(tmp_path)
    places = {"result_dir": str(tmp_path / "runs"), "cache_dir": str(tmp_path / "cache"), "silent": True, "cpu": True}
    result = run(load_config(f"{name}.yml", {**RUNS[name], **places}))
    results = json.loads(KEPT.read_text(encoding="utf-8"))[name]
    if result["processor"] == results[0]["processor"]:
        assert result["metrics"] in [kept["metrics"] for kept in results]
    else:
        assert result["metrics"] == pytest.approx(results[0]["metrics"], rel=0, abs=NEAR, nan_ok=True)
    if name == "plant_demo":
        [folder] = (tmp_path / "runs").iterdir()
        note = Path(__file__).parents[2] / "examples" / "note.txt"
        denied, found = Predictor.load(folder, device="cpu").predict([DENIED, note.read_text(encoding="utf-8")])
        assert not denied.labels
        assert {label.label for label in found.labels} == OF_NOTE


@pytest.fixture
def one_thread() -> None:
    """The kept results are of one thread, as ``tests/conftest.py`` asks for."""
    import torch

    assert torch.get_num_threads() == 1, "run with OMP_NUM_THREADS=1"


def _unpack(source: Path, name: str, target: Path) -> None:
    """Put the files that a packaged configuration names where it looks for them."""
    import lzma

    folder = {"plant_codiesp_en": "codiesp/en_diagnoses", "plant_bc5cdr": "bc5cdr", "plant_eurlex6k": "eurlex6k"}[name]
    (target / folder).mkdir(parents=True)
    for path in (source / folder).iterdir():
        if path.suffix == ".xz" and "eurlex" not in folder:
            (target / folder / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
        else:
            (target / folder / path.name).symlink_to(path)


if __name__ == "__main__":
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    for argument in sys.argv[1:]:
        name, _, path = argument.partition("=")
        result = json.loads(Path(path).read_text(encoding="utf-8"))
        kept[name] = [{key: result[key] for key in ("processor", "metrics")}]
    KEPT.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n", encoding="utf-8")
