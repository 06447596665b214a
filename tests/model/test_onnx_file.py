"""A network as ONNX: the same labels first, whatever the encoder; a model that is more is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.relevance.log_odds import NOT_FITTED

TEXTS = ["filler1 sign3x", "sign5x sign5x nowhere 17 filler2 sign1x", "", "sign7x"]
PRIOR = {"planted_prior": "additive", "embed_dim": 16}
NETWORKS: dict[str, dict[str, Any]] = {
    "PLANT cnn": {"encoder": "cnn", "hidden_size": 16, "num_heads": 2, "pool_size": 8, "embed_dim": 16},
    "PlantedCAML": {"filter_sizes": [4], "num_filter_per_size": 16, **PRIOR},
    "PlantedCAML without prior": {"filter_sizes": [3], "num_filter_per_size": 16, "embed_dim": 16},
}
REFUSED: dict[str, dict[str, Any]] = {
    "LAAT": {"hidden_size": 16, "projection_size": 8, **PRIOR},
    "MultiResCNN": {"filter_sizes": [1, 3], "num_filter_per_size": 8, **PRIOR},
}


def export(folder: Path, out: Path) -> Result:
    return CliRunner().invoke(plant, ["export", str(folder), "--out", str(out), "--onnx"])


@pytest.mark.integration
@pytest.mark.parametrize("name", NETWORKS)
def test_onnxruntime_gives_the_same_top_five(untrained: Callable[..., Path], tmp_path: Path, name: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra: pip install 'plant-plugin[onnx]'")
    folder, out = untrained(model_name=name.split()[0], network_config=NETWORKS[name]), tmp_path / "model.onnx"
    done = export(folder, out)
    assert done.exit_code == 0, done.output
    session, predictor = onnxruntime.InferenceSession(str(out)), Predictor.load(folder, device="cpu")
    known = {key: json.loads(value) for key, value in session.get_modelmeta().custom_metadata_map.items()}
    id_of = {word: number for number, word in enumerate(known["words"])}
    rows = [[id_of.get(word, 1) for word in text.split() if not word.isdigit()] for text in TEXTS]
    length = np.array([len(row) for row in rows])
    text = np.array([row + [0] * (length.max() - len(row)) for row in rows])
    logits = session.run(["logits"], {"text": text, "length": length})[0]
    assert known["labels"] == predictor.labels
    assert known["thresholds"] == predictor.thresholds
    for row, prediction in zip(logits, predictor.predict(TEXTS, top=5), strict=True):
        best = np.argsort(-row, kind="stable")[:5]
        assert [known["labels"][column] for column in best] == [label.label for label in prediction.labels]
        assert row[best] == pytest.approx([label.logit for label in prediction.labels], abs=1e-4)


@pytest.mark.integration
def test_probabilities_that_were_fitted_are_in_the_file(coded: Path, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra: pip install 'plant-plugin[onnx]'")
    done, predictor = export(coded, tmp_path / "model.onnx"), Predictor.load(coded, device="cpu")
    assert done.exit_code == 0, done.output
    assert predictor.log_odds != NOT_FITTED
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    batch = next(iter(predictor.batches(TEXTS[:1], 1)))
    given = {"text": batch["text"].numpy().astype(np.int64), "length": batch["length"].numpy().astype(np.int64)}
    [logits] = session.run(["logits"], given)
    np.testing.assert_allclose(logits, predictor.logits(TEXTS[:1]), atol=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_cannot_write_is_an_error(untrained: Callable[..., Path], tmp_path: Path, name: str) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra: pip install 'plant-plugin[onnx]'")
    done = export(untrained(model_name=name, network_config=REFUSED[name]), tmp_path / "model.onnx")
    assert done.exit_code == 2
    assert f"torch cannot write {name} with this encoder as ONNX" in done.output
    assert list(tmp_path.iterdir()) == []


def test_what_is_more_than_a_network_is_refused(trained: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra: pip install 'plant-plugin[onnx]'")
    done = export(trained, tmp_path / "model.onnx")
    assert done.exit_code == 2
    assert "the model has planted scores, which ONNX would lack" in done.output
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    done = export(trained, tmp_path / "model.onnx")
    assert done.exit_code == 2
    assert "pip install 'plant-plugin[onnx]'" in done.output


def test_what_is_there_stays(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_text("mine")
    assert "it is there already" in export(trained, tmp_path / "model.onnx").output
    assert (tmp_path / "model.onnx").read_text() == "mine"
