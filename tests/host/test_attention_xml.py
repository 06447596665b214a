from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from made_up import Outcome

from plant_plugin.errors import CheckpointError, ConfigError

Baseline = Callable[..., Outcome]
ATTENTION_XML = {
    "model_name": "AttentionXML",
    "network_config": {"rnn_dim": 8, "linear_size": [4]},
    "cluster_size": 2,
    "beam_width": 3,
}


@pytest.mark.integration
def test_both_levels_train_test_and_are_evaluated_again(baseline: Baseline, capfd: pytest.CaptureFixture[str]) -> None:
    trained = baseline(**ATTENTION_XML, save_k_predictions=3)
    names = {path.name for path in trained.folder.iterdir()}
    assert {"model_0.ckpt", "model_1.ckpt", "label_clusters.npy", "word_dict.pickle", "result.json"} <= names
    assert len(trained.logs["val"]) == 2
    assert trained.predictions.read_text().count("\n") == 24
    assert capfd.readouterr() == ("", "")
    best = [line.split()[0].partition(":")[0] for line in trained.predictions.read_text().splitlines()]
    metrics = trained.result["metrics"]
    assert 0 < metrics["P@1"] <= 1
    tested = baseline(
        **ATTENTION_XML,
        data_name="again",
        eval=True,
        checkpoint_path=str(trained.folder / "model_1.ckpt"),
        save_k_predictions=3,
    )
    assert tested.result["metrics"]["P@1"] == pytest.approx(metrics["P@1"])
    assert [line.split()[0].partition(":")[0] for line in tested.predictions.read_text().splitlines()] == best


@pytest.mark.integration
def test_both_levels_give_the_same_numbers_without_packing(baseline: Baseline) -> None:
    packed, unpacked = (
        baseline(**ATTENTION_XML, data_name=name, without_packing=without)
        for name, without in (("packed", False), ("unpacked", True))
    )
    assert unpacked.result["metrics"] == pytest.approx(packed.result["metrics"], abs=1e-4)
    assert unpacked.result["hashes"]["config"] == packed.result["hashes"]["config"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cluster_size": 3}, "clusters of one size"),
        ({"beam_width": 9}, "beam_width and monitor_metrics need 9"),
        ({"monitor_metrics": ["P@8"], "val_metric": "P@8"}, "need 9"),
        ({"merge_train_val": True}, "validation documents"),
        ({"network_config": {"rnn_dim": 8, "linear_size": "4"}}, "AttentionXML.* cannot be built"),
    ],
)
def test_what_cannot_work_is_named(changes: dict, message: str, baseline: Baseline) -> None:
    with pytest.raises(ConfigError, match=message):
        baseline(**{**ATTENTION_XML, **changes})


def test_checkpoints_are_for_testing_and_come_in_a_folder(baseline: Baseline, tmp_path: Path) -> None:
    (tmp_path / "model_1.ckpt").touch()
    checkpoint = {"checkpoint_path": str(tmp_path / "model_1.ckpt")}
    with pytest.raises(ConfigError, match="add --eval"):
        baseline(**ATTENTION_XML, **checkpoint)
    with pytest.raises(CheckpointError, match=r"model_0\.ckpt of AttentionXML is missing"):
        baseline(**ATTENTION_XML, **checkpoint, data_name="t", eval=True)
