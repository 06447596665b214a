"""``refit: train+val`` with LibMultiLabel's own code: the second training is its training on both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from made_up import CNN, Outcome

from plant_plugin.report.record import FIRST_PASS

Baseline = Callable[..., Outcome]
KIM_CNN = {"model_name": "KimCNN", "network_config": CNN}
LINEAR = {"linear": True, "liblinear_options": "-s 1 -B 1 -e 0.0001 -q -m 1"}
ATTENTION_XML = {
    "model_name": "AttentionXML", "network_config": {"rnn_dim": 8, "linear_size": [4]}, "cluster_size": 2,
    "beam_width": 3,
}  # fmt: skip
REFIT = {"refit": "train+val"}


def joined(data: Path, target: Path, ending: str = "txt") -> str:
    path = target / f"both.{ending}"
    path.write_text("".join((data / f"{name}.{ending}").read_text() for name in ("train", "valid")))
    return str(path)


def best_epochs(outcome: Outcome, metric: str = "P@1") -> int:
    values = [epoch[metric] for epoch in outcome.logs["val"]]
    return 1 + values.index(max(values))


def weights(path: Path) -> dict[str, Any]:
    return torch.load(path, weights_only=False)["state_dict"]


def test_a_network_trains_again_on_both_for_the_best_epochs(baseline: Baseline) -> None:
    first = baseline(**KIM_CNN, epochs=4)
    epochs = best_epochs(first)
    assert epochs < 4
    again = baseline(**KIM_CNN, **REFIT, epochs=4, data_name="again", save_k_predictions=2)
    merged = baseline(**KIM_CNN, merge_train_val=True, epochs=epochs, data_name="merged")
    assert again.result["refit"] == {"documents": "train+val", "epochs": {"train": epochs}}
    assert again.result["thresholds"] == first.result["thresholds"]
    assert again.result["metrics"]["nDCG@5"] == merged.result["metrics"]["nDCG@5"] != first.result["metrics"]["nDCG@5"]
    assert again.result["hashes"]["train"] == merged.result["hashes"]["train"]
    assert again.logs["test"] == merged.logs["test"]
    assert "val" not in again.logs
    one, other = weights(again.folder / "last.ckpt"), weights(merged.folder / "last.ckpt")
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert json.loads((again.folder / FIRST_PASS / "logs.json").read_text())["val"] == first.logs["val"]
    assert {"train", "refit_train", "thresholds", "test"} <= again.result["time_s"].keys()


@pytest.mark.parametrize("ending", ["txt", "svm"])
def test_a_linear_model_is_that_of_one_file(ending: str, baseline: Baseline, data: Path, tmp_path: Path) -> None:
    form = {"data_format": ending}
    for key, name in (("training_file", "train"), ("val_file", "valid"), ("test_file", "test")):
        form[key] = str(data / f"{name}.{ending}")
    first = baseline(**LINEAR, **form)
    again = baseline(**LINEAR, **REFIT, **form, data_name="again")  # LIBLINEAR draws by itself: nearly the same
    one_file = baseline(
        **LINEAR, **{**form, "training_file": joined(data, tmp_path, ending)}, data_name="one"
    )  # fmt: skip
    assert again.result["refit"] == {"documents": "train+val", "epochs": {}}
    assert again.result["thresholds"] == pytest.approx(first.result["thresholds"], abs=1e-3)
    assert abs(one_file.result["thresholds"]["micro"] - first.result["thresholds"]["micro"]) > 0.002
    for name in ("P@1", "PSP@5", "Micro-F1@0.5"):
        assert again.result["metrics"][name] == pytest.approx(one_file.result["metrics"][name], abs=1e-3), name
    if ending == "txt":
        assert again.result["hashes"]["train"] == one_file.result["hashes"]["train"]

    pipeline = str(again.folder / "linear_pipeline.pickle")
    tested = baseline(**LINEAR, **REFIT, **form, data_name="tested", eval=True, checkpoint_path=pipeline)
    assert tested.result["metrics"]["PSP@5"] == pytest.approx(again.result["metrics"]["PSP@5"])
    assert tested.result["thresholds"] == {"0.5": 0.0}
    assert "refit" not in tested.result


@pytest.mark.integration
def test_attention_xml_keeps_its_clusters_and_trains_each_level_for_its_epochs(
    baseline: Baseline, capfd: pytest.CaptureFixture[str]
) -> None:
    again = baseline(**ATTENTION_XML, **REFIT, epochs=2, learning_rate=1e-9)  # the first epoch stays the best
    assert capfd.readouterr() == ("", "")
    folders = again.folder / FIRST_PASS, again.folder
    kept, ended = ([torch.load(folder / f"model_{level}.ckpt", weights_only=False)["epoch"] + 1 for level in (0, 1)]
                   for folder in folders)  # fmt: skip
    assert again.result["refit"]["epochs"] == {"level_0": kept[0], "level_1": kept[1]}
    assert ended == kept == [1, 1]
    clusters = [(folder / "label_clusters.npy").read_bytes() for folder in folders]
    assert clusters[0] == clusters[1]
    assert "val" not in again.logs
