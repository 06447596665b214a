"""One more network, loss, reader and metric, each by the two files that CONTRIBUTING.md names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from made_up_task import made_config, write_splits

from plant_plugin.config import registry
from plant_plugin.errors import DataError
from plant_plugin.evaluation import names, ranking, resampling
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.evaluation.resampling import DocumentSums
from plant_plugin.training.run import run

SHORT = {"stage1__epochs": 1, "stage2__epochs": 1}
ENTRY = """
  {name}:
    target: {target}
    summary: One more.
    source: made up
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of ``registry.yaml`` that the package reads, made-up data, and a place where Python finds modules."""
    (tmp_path / "plant_plugin").mkdir()
    shutil.copy(Path(registry.__file__).parents[2] / "registry.yaml", tmp_path / "registry.yaml")
    monkeypatch.setattr(registry, "__file__", str(tmp_path / "plant_plugin" / "config" / "registry.py"))
    monkeypatch.syspath_prepend(str(tmp_path))
    write_splits(tmp_path)
    registry._read.cache_clear()
    yield tmp_path
    registry._read.cache_clear()


def enter(folder: Path, kind: str, name: str, target: str, more: str = "") -> None:
    """An entry of ``registry.yaml``."""
    path = folder / "registry.yaml"
    text = path.read_text(encoding="utf-8")
    entry = ENTRY.format(name=name, target=target) + more
    path.write_text(text.replace(f"\n{kind}:\n", f"\n{kind}:{entry}", 1), encoding="utf-8")


def test_a_network(folder: Path) -> None:
    shutil.copy(Path(__file__).with_name("training") / "own_network.py", folder / "one_more_network.py")
    enter(folder, "networks", "OneMore", "one_more_network:OwnNetwork")
    config = made_config(folder, model_name="OneMore", network_config={"sharpness": 2.0}, **SHORT)
    assert run(config)["metrics"]["P@1"] > 0.2


def test_a_loss(folder: Path) -> None:
    (folder / "one_more_loss.py").write_text(
        "def squared(logits, target, gamma=0.0, label_smoothing=0.0):\n"
        "    return (logits.sigmoid() - target).square()\n"
    )
    enter(folder, "losses", "squared", "one_more_loss:squared", "    stage: 2\n")
    config = made_config(folder, stage2__loss="squared", network_config__planted_prior="none", **SHORT)
    other = made_config(folder, network_config__planted_prior="none", **SHORT, result_dir=str(folder / "other"))
    assert 0 < run(config)["metrics"]["nDCG@5"] != run(other)["metrics"]["nDCG@5"]


def test_a_reader(folder: Path) -> None:
    for split in ("train", "valid", "test"):
        lines = (folder / f"{split}.txt").read_text().splitlines()
        rows = [dict(zip(("codes", "note"), line.split("\t"), strict=True)) for line in lines]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "one_more_reader.py").write_text(
        "import json\n"
        "from plant_plugin.data.text import Documents\n"
        "def read(path):\n"
        "    rows = [json.loads(line) for line in path.read_text().splitlines()]\n"
        "    return Documents([row['note'] for row in rows], [row['codes'].split() for row in rows]).counted()\n"
    )
    enter(folder, "readers", "notes", "one_more_reader:read")
    files = {
        f"{key}_file": str(folder / f"{split}.jsonl")
        for key, split in (("training", "train"), ("val", "valid"), ("test", "test"))
    }
    found = run(made_config(folder, data_format="notes", **files, **SHORT, result_dir=str(folder / "a")))
    plain = run(made_config(folder, **SHORT, result_dir=str(folder / "b")))
    assert found["metrics"] == plain["metrics"]


def test_a_reader_that_returns_something_else_is_named(folder: Path) -> None:
    (folder / "no_reader.py").write_text("def read(path):\n    return [path.read_text()]\n")
    enter(folder, "readers", "lists", "no_reader:read")
    with pytest.raises(DataError, match="returned list instead of Documents"):
        run(made_config(folder, data_format="lists", **SHORT))


def test_a_metric(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any hit in the top k: its name, and what a document adds above and below the line."""
    known = ranking.contributions

    def with_any_hit(top, truth, inverse_propensities=None):  # type: ignore[no-untyped-def]
        found = known(top, truth, inverse_propensities)
        hit = found["P"][0] > 0
        return {**found, "Any": (hit.astype(np.float64), np.ones(hit.shape))}

    for module in (ranking, resampling):
        monkeypatch.setattr(module, "contributions", with_any_hit)
    for known_names in (names.RANKED, names.FAMILIES):
        monkeypatch.setitem(known_names, "Any", "whether one of the top k is true")
    config = made_config(folder, monitor_metrics=["Any@3", "nDCG@5"], val_metric="Any@3", **SHORT)
    result = run(config)
    assert result["metrics"]["P@3"] < result["metrics"]["Any@3"] <= 1
    documents = load_per_document(Path(config.checkpoint_dir) / "per_document.npz")
    metric = names.parse_metric("Any@3")
    sums = DocumentSums(documents, [metric])
    resampled = sums.values(*sums.additions.sums(np.ones((1, documents.truth.shape[0]), dtype=np.int64)))
    assert np.ravel(resampled)[0] == pytest.approx(result["metrics"]["Any@3"])
