"""Both strategies from files to result.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.data.label_names import label_names
from plant_plugin.errors import CheckpointError, ConfigError, Interrupted
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.report.metric_log import read_metrics
from plant_plugin.report.result import read_result
from plant_plugin.report.run import Run
from plant_plugin.training import stage2
from plant_plugin.training.inputs import planted_relevance, prepare
from plant_plugin.training.run import run

Made = Callable[..., Config]


def read(path: str | Path) -> Any:
    return json.loads(Path(path).read_text())


def assert_same_weights(one: Path, other: Path) -> None:
    """Equal but for the last bits: products of the same numbers differ there when their buffers lie elsewhere."""
    left, right = (load_file(folder / "model.safetensors") for folder in (one, other))
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        torch.testing.assert_close(
            tensor, right[name], atol=1e-4, rtol=1e-3, msg=lambda text, name=name: f"{name}: {text}"
        )


def test_plant_learns_writes_everything_and_the_checkpoint_gives_the_same_numbers(made: Made) -> None:
    config = made(save_k_predictions=3, batch_size=16)
    result = run(config)
    folder = Path(config.checkpoint_dir)
    assert result["metrics"]["P@1"] > 0.8
    assert result["strategy"] == "plant"
    assert result == read_result(folder / "result.json")
    assert result["changed"]["stage2"]["epochs"] == config.stage2.epochs  # and no path
    assert "/" not in str(result["changed"])
    assert {"read", "tokens", "relevance", "stage1", "stage2", "test", "total"} <= set(result["time_s"])
    logs = read(config.log_path)
    assert len(logs["val"]) == 3
    assert [list(epoch) for epoch in logs["stage1"]] == 2 * [["attention-nDCG@10"]]
    assert logs["test"][0]["P@1"] == pytest.approx(result["metrics"]["P@1"])
    kept = read_metrics(folder / "metrics.csv")
    assert [(place.stage, place.step) for place, name, _ in kept if name == "loss"] == [
        ("stage1", 10), ("stage2", 10), ("stage2", 20)
    ]  # fmt: skip
    assert [value for place, name, value in kept if (place.split, name) == ("val", "nDCG@5")] == [
        epoch["nDCG@5"] for epoch in logs["val"]
    ]
    assert kept[-1][0] == ("test", 0, 0, "test")
    assert set(logs["val"][0]) == {"P@1", "nDCG@5", "Macro-F1", "Loss"}
    lines = Path(config.predict_out_path).read_text().splitlines()
    assert len(lines) == 40
    assert all(len(line.split()) == 3 and ":" in line for line in lines)
    first = [float(pair.rsplit(":", 1)[1]) for pair in lines[0].split()]
    assert first == sorted(first, reverse=True)

    again = run(made(eval=True, checkpoint_path=str(folder), result_dir=str(folder.parent / "again")))
    for name, value in result["metrics"].items():
        assert again["metrics"][name] == pytest.approx(value, abs=1e-6), name
    assert again["thresholds"] == result["thresholds"]
    leftovers = [path.name for path in folder.iterdir() if path.name.startswith((".", "stage"))]
    assert leftovers == []


def test_parts_of_the_head_learn_at_matched_rates(made: Made) -> None:
    config = made(network_config__matched_rates=True, stage1__epochs=3)
    run(config)
    kept = read_metrics(Path(config.checkpoint_dir) / "metrics.csv")
    width, heads = 16, 2
    queries, shared = (width / heads) ** 0.5, width**-0.5
    for stage, groups in (("stage1", ("attention",)), ("stage2", ("attention", "rest"))):
        told = [(name, value) for place, name, value in kept if place.stage == stage and name.startswith("learning_")]
        rates = dict(told[::-1])  # of its first step that is told
        usual = rates["learning_rate_encoder"]
        assert rates[f"learning_rate_attention_x{queries:.3g}"] == pytest.approx(usual * queries)
        for group in groups:
            assert rates[f"learning_rate_{group}_x{shared:.3g}"] == pytest.approx(usual * shared)


def test_predictions_are_in_the_order_of_the_file(made: Made) -> None:
    config = made(save_k_predictions=1)
    run(config)
    predicted = [line.split(":")[0] for line in Path(config.predict_out_path).read_text().splitlines()]
    true = [line.split("\t")[0].split() for line in Path(config.test_file).read_text().splitlines()]
    assert np.mean([label in labels for label, labels in zip(predicted, true, strict=True)]) > 0.8
    documents = load_per_document(Path(config.checkpoint_dir) / "per_document.npz")
    kept = [{documents.labels[column] for column in row.indices} for row in documents.truth]
    assert kept == [set(labels) & set(documents.labels) for labels in true]


def test_true_labels_outside_the_set_count_wherever_map_gold_is_asked_for(made: Made, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("\n".join(f"L{label}" for label in range(9)))
    config = made(
        label_file=str(tmp_path / "labels.txt"), strategy="end_to_end", planted_scores__model="ridge", stage2__epochs=1,
        val_metric="MAP-gold", monitor_metrics=["MAP", "MAP-gold"],
    )  # fmt: skip
    result, logs = run(config), read(config.log_path)
    documents = load_per_document(Path(config.checkpoint_dir) / "per_document.npz")
    gold = np.array([len(line.split("\t")[0].split()) for line in Path(config.test_file).read_text().splitlines()])
    known = np.diff(documents.truth.indptr)
    assert (known < gold).any()
    expected = float((np.nan_to_num(documents.average_precision) * known / gold).mean())
    assert result["metrics"]["MAP-gold"] == pytest.approx(expected, abs=1e-6)
    assert logs["test"][0]["MAP-gold"] == result["metrics"]["MAP-gold"]
    assert 0 < logs["val"][0]["MAP-gold"] < logs["val"][0]["MAP"]


def test_names_of_labels_come_with_the_model(made: Made, tmp_path: Path) -> None:
    (tmp_path / "label_names.tsv").write_text("L1\tthe first\n", encoding="utf-8")
    config = made(strategy="end_to_end", stage2__epochs=1)
    run(config)
    assert label_names([], Path(config.checkpoint_dir))("L1") == "the first"


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(made: Made, tmp_path: Path) -> None:
    configs = [
        made(strategy="end_to_end", seed=seed, result_dir=str(tmp_path / name))
        for seed, name in ((3, "a"), (3, "b"), (4, "c"))
    ]
    for config in configs:
        run(config)
    one, two, other = (Path(config.checkpoint_dir) for config in configs)
    assert_same_weights(one, two)
    with pytest.raises(AssertionError):
        assert_same_weights(one, other)


@pytest.mark.integration
@pytest.mark.parametrize(
    "changes",
    [
        {"stage1__loss": "mse"},
        {"stage1__score": "probability"},
        {"stage1__pairs": "top_vs_all"},
        {"stage1__labels": "all"},
        {"stage1__labels": "positive"},
        {"relevance__measure": "term_frequency"},
        {"relevance__association": "any"},
        {"network_config__planted_prior": "none"},
        {"stage2__loss": "bce", "stage2__label_smoothing": 0},
        {"stage2__hard_negatives": None},
        {"stage2__hard_negatives": 100},
        {"stage2__reduction": "labels"},
        {"stage2__schedule": "constant", "stage2__warmup": 0.2, "accumulate": 2, "stage2__clip_norm": None},
        {"network_config__encoder": "bigru", "optimizer": "adamw", "stage2__encoder_learning_rate": 0.001},
        {"network_config__encoder": "bilstm", "optimizer": "sgd"},
        {"precision": "bf16"},
        {"val_metric": "Loss"},
    ],
    ids=str,
)
def test_every_ablation_is_one_key_and_runs(made: Made, changes: dict[str, Any]) -> None:
    short = {"stage1__epochs": 1, "stage2__epochs": 1, "limit_train_batches": 0.5}
    result = run(made(**short, **changes))
    assert 0 <= result["metrics"]["P@1"] <= 1
    assert result["counts"]["documents"] == 40


def test_relevance_and_vocabulary_come_from_training_only(made: Made, tmp_path: Path) -> None:
    config = made()
    one, two = (Run(tmp_path / name, silent=True) for name in ("one", "two"))
    before = prepare(config, one)
    relevance = planted_relevance(before, config.relevance, one)
    for name in ("valid", "test"):
        path = tmp_path / f"{name}.txt"
        path.write_text("".join(line.replace("filler", "sign0x other") for line in path.read_text().splitlines(True)))
    after = prepare(config, two)
    assert before.tokens.hash() == after.tokens.hash()
    assert (relevance.matrix != planted_relevance(after, config.relevance, two).matrix).nnz == 0


@pytest.mark.integration
def test_interrupted_after_an_epoch_resumes_to_the_same_numbers(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncut = made(result_dir=str(tmp_path / "whole"))
    run(uncut)
    step = stage2.Stage2.training_step

    def stop(self: Any, batch: Any, batch_idx: int) -> Any:
        if self.current_epoch == 1 and batch_idx == 2:
            raise KeyboardInterrupt
        return step(self, batch, batch_idx)

    monkeypatch.setattr(stage2.Stage2, "training_step", stop)
    config = made(result_dir=str(tmp_path / "cut"))
    with pytest.raises(Interrupted, match="--resume") as stopped:
        run(config)
    assert stopped.value.exit_code == 130
    monkeypatch.undo()
    run(made(resume=str(config.checkpoint_dir)))
    assert_same_weights(Path(uncut.checkpoint_dir), Path(config.checkpoint_dir))


def test_resuming_with_another_configuration_is_refused(made: Made, tmp_path: Path) -> None:
    config = made()
    run(config)
    with pytest.raises(CheckpointError, match="configuration"):
        run(made(resume=str(config.checkpoint_dir), learning_rate=0.5))


def test_k_beyond_the_number_of_labels_is_refused_before_training(made: Made) -> None:
    config = made(monitor_metrics=["P@11", "P@12"], val_metric="P@13")
    with pytest.raises(ConfigError) as caught:
        run(config)
    named = {problem.where for problem in caught.value.problems}
    assert named == {"monitor_metrics: P@12", "val_metric: P@13"}  # of 12 labels the 12 best are all of them
    assert not Path(config.checkpoint_dir).exists()


def test_a_document_without_known_tokens_gets_a_prediction(made: Made, tmp_path: Path) -> None:
    config = made(min_vocab_freq=2)
    with open(tmp_path / "test.txt", "a") as stream:
        stream.write("L1\tneverseenbefore\nL2\t 123 \n")
    result = run(config)
    assert result["counts"]["documents"] == 42
    assert all(np.isfinite(value) for value in result["metrics"].values() if value is not None)


def test_hugging_face_encoder_end_to_end(made: Made, tiny_language_model: Path) -> None:
    network = {
        "lm_weight": str(tiny_language_model),
        "lm_window": 16,
        "num_heads": 2,
        "pool_size": 8,
        "planted_prior": "additive",
    }
    config = made(network_config=network, max_seq_length=24)
    result = run(config)
    assert 0 < result["truncated"]["test"] < 1
    files = {"training_file": None, "val_file": None, "val_size": 0}
    again = run(
        made(eval=True, checkpoint_path=str(config.checkpoint_dir), network_config=network, max_seq_length=24, **files)
    )
    assert again["metrics"]["P@1"] == pytest.approx(result["metrics"]["P@1"])
