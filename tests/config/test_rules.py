from __future__ import annotations

import re
from typing import Any

import pytest
from configurations import KIM_CNN, PLANT, plant, problems_of

from plant_plugin.config import load_config
from plant_plugin.config.rules import VECTORS
from plant_plugin.config.sections import OPTIONS

LM = {"lm_weight": "mistral-7b"}


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("epochs", [0, -1]),
        ("batch_size", [0]),
        ("max_seq_length", [0]),
        ("data_workers", [-1]),
        ("patience", [-1]),
        ("seed", [-1, 2**32]),
        ("learning_rate", [0, -0.1]),
        ("val_size", [-0.1, 1.5]),
        ("limit_train_batches", [-1, 0, 2.5]),
        ("metric_threshold", [0, 1]),
        ("tree_degree", [1]),
        ("relevance.top", [0]),
        ("stage1.k", [0]),
        ("stage1.labels", [0, "some", 2.5]),
        ("stage2.warmup", [-0.1, 1]),
        ("accumulate", [0]),
        ("stage1.epochs", [-1]),
        ("stage2.epochs", [-1]),
        ("stage1.patience", [-1]),
        ("stage1.batch_size", [0]),
        ("stage2.learning_rate", [0]),
        ("stage2.encoder_learning_rate", [-1]),
        ("stage2.clip_norm", [0]),
        ("stage2.gamma", [-0.5]),
        ("stage2.label_smoothing", [-0.1, 1]),
        ("stage2.hard_negatives", [-1]),
    ],
)
def test_out_of_range(key: str, values: list[Any]) -> None:
    for value in values:
        assert "has to be" in problems_of(**PLANT, **{key: value})[key]


def test_ends_of_ranges_are_allowed() -> None:
    plant(
        epochs=1,
        patience=0,
        data_workers=0,
        seed=2**32 - 1,
        val_size=0,
        limit_val_batches=3,
        **{"stage2.warmup": 0, "stage1.labels": 1, "stage1.encoder_learning_rate": 0, "stage2.gamma": 0},
        **{"stage2.label_smoothing": 0, "stage2.hard_negatives": 0, "relevance.top": 1},
    )


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"sede": 1}, "sede", "did you mean seed"),
        ({"stge1": {}}, "stge1", "did you mean stage1"),
        ({"stage1": {"kk": 1}}, "stage1.kk", "did you mean k"),
        ({"stage3.k": 1}, "stage3.k", "there is no such block"),
        ({"model_name": "Plant2"}, "model_name", "did you mean PLANT"),
        ({"strategy": "planted"}, "strategy", "did you mean plant"),
        ({"monitor_metrics": ["P@1junk"]}, "monitor_metrics", "did you mean P@1"),
        ({"val_metric": "Micro"}, "val_metric", "there is no metric 'Micro'"),
        ({"propensity_a": 11}, "propensity_a", "has to be at most 10, not 11"),
        ({"propensity_b": 0}, "propensity_b", "has to be above 0, not 0"),
        ({"network_config.num_heads": 0}, "network_config.num_heads", "has to be at least 1, not 0"),
        ({"network_config.filter_sizes": [9, 0]}, "network_config.filter_sizes", "has to be at least 1, not 0"),
        ({"monitor_metrics": ["Macro-F1@macro:0"]}, "monitor_metrics", "say Macro-F1@0.5:0, which is"),
        ({"val_metric": "Micro-F1@.3"}, "val_metric", "Micro-F1@.3: this threshold is not known during training"),
        ({"early_stopping_metric": "F1"}, "early_stopping_metric", "there is no metric 'F1'"),
        ({"network_config": {"encoder": "cnn", "hiden_size": 3}}, "network_config.hiden_size", "mean hidden_size"),
        ({"network_config": {"encoder": "cnn", "num_classes": 3}}, "network_config.num_classes", "the data decide"),
        ({"network_config": {}}, "network_config", "exactly one of"),
        ({"network_config": {"encoder": "cnn", "lm_weight": "x"}}, "network_config", "exactly one of"),
        (
            {"network_config": {"encoder": "cnn", "freeze_encoder": True}},
            "network_config.freeze_encoder",
            "no language model to freeze",
        ),
        (
            {"network_config": {"lm_weight": "x", "freeze_encoder": True, "lora": {"r": 2}}},
            "network_config.lora",
            "frozen language model does not train",
        ),
        ({"training_file": "none.txt"}, "training_file", "no such file"),
        ({"val_file": "demo:val"}, "val_file", "did you mean demo:valid"),
        ({"embed_file": "glove.6B.10d"}, "embed_file", r"did you mean glove.6B.100d"),
        ({"embed_file": "v"}, "embed_file", "`plant embeddings demo:train --out v` makes it, word2vec in each run; or"),
        ({"embed_file": "word2vek"}, "embed_file", "did you mean word2vec"),
        ({"vocab_file": "v.vocab"}, "vocab_file", "no such file"),
        ({"label_file": "none.txt"}, "label_file", "no such file"),
        ({"checkpoint_path": "none"}, "checkpoint_path", "no such file or folder"),
        ({"resume": "auto", "eval": True, "checkpoint_path": "."}, "resume", "auto is for training"),
        ({"resume": "auto", "linear": True}, "resume", "auto does not know the runs of a linear model"),
        ({"checkpoint_every": "often"}, "checkpoint_every", "'often' is no interval"),
        ({"checkpoint_every": "0"}, "checkpoint_every", "'0' is no interval"),
        ({"resume": "none"}, "resume", "no such folder"),
        ({"training_file": None}, "training_file", "nothing to train on"),
        ({"eval": True}, "eval", "no model to evaluate"),
        ({"eval": True, "test_file": None, "checkpoint_path": "."}, "eval", "nothing to evaluate"),
        ({"data_format": "svm"}, "data_format", "networks read text"),
        (
            {"data_format": "xmc"},
            "data_format",
            "(?s)PLANT attends to text, .* need their words.*without them --linear runs",
        ),
        ({"test_filter_file": "none.txt"}, "test_filter_file", "no such file"),
        ({"loss_function": "cross_entropy"}, "loss_function", "does not read it"),
        ({"lr_scheduler": "ReduceLROnPlateau"}, "lr_scheduler", "stage2.schedule"),
        ({"data_name": "a/b"}, "data_name", "holds no slash"),
        (
            {"model_name": "PLANTL2R", "network_config": {}, "stage1.score": "probability"},
            "stage1.score",
            "not read it",
        ),
        ({"stage2.schedule": "one_cycle", "stage2.warmup": 0.1}, "stage2.warmup", "one_cycle climbs by itself"),
        (
            {"shortlist.size": "auto", "planted_scores.model": "ridge", "merge_train_val": True},
            "shortlist.size",
            "no validation documents to choose it on",
        ),
        ({"save_k_predictions": 5, "predict_out_path": "none/p.txt"}, "predict_out_path", "folder does not exist"),
        ({"model_name": "no_such_package:Net"}, "model_name", "PYTHONPATH"),
        ({"model_name": "MultiResCNN", "network_config": {"encoder": "cnn"}}, "network_config.encoder", "has no such"),
        ({"model_name": "PLMICD", "network_config": {}}, "network_config.lm_weight", "is needed and has no default"),
        ({"network_config": {"encoder": "cnn", "planted_prior": "add"}}, "network_config.planted_prior", "additive"),
        ({"network_config": {**LM, "quantization": "nf5"}}, "network_config.quantization", "mean nf4"),
        ({"network_config": {**LM, "lm_window": 0}}, "network_config.lm_window", "at least 1"),
        ({"network_config": {**LM, "lm_dropout": 1.0}}, "network_config.lm_dropout", "below 1"),
        ({"network_config": {"encoder": "cnn", "embed_dropout": 1}}, "network_config.embed_dropout", "below 1"),
        ({"network_config": {"encoder": "cnn", "embed_dropout": -0.1}}, "network_config.embed_dropout", "at least 0"),
        ({"network_config": {"encoder": "cnn", "embed_dropout": True}}, "network_config.embed_dropout", "be a number"),
        ({"network_config": {**LM, "lm_dropout": 0, "freeze_encoder": True}}, "network_config.lm_dropout", "frozen"),
        ({"network_config": {"encoder": "bigru", "lm_dropout": 0}}, "network_config.lm_dropout", "language models"),
        ({"network_config": {**LM, "lora": 16}}, "network_config.lora", "has to be `name: value` lines"),
        ({"network_config": {**LM, "lora": {"rank": 8}}}, "network_config.lora.rank", "there is no such key"),
        ({"network_config": {**LM, "lora": {"r": 0}}}, "network_config.lora.r", "at least 1"),
        ({"network_config": {"encoder": "cnn", "lora": {}}}, "network_config.lora", "is for language models"),
    ],
)
def test_what_cannot_run_with_plant(changes: dict[str, Any], key: str, message: str) -> None:
    found = problems_of(**{**PLANT, **changes})
    assert re.search(message, found[key])
    assert len(found) == 1


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"model_name": "XMLCNN", "seed": 1}, "seed", "no deterministic form"),
        ({"max_seq_length": None}, "max_seq_length", "cannot read whole documents"),
        ({"network_config": {}}, "network_config.filter_sizes", "is needed"),
        (
            {"network_config": {"filter_sizes": [2], "heads": 2}},
            "network_config.heads",
            "the network has no such argument",
        ),
        ({"network_config": {"filter_sizes": [2], "embed_vecs": 2}}, "network_config.embed_vecs", "the data decide"),
        ({"monitor_metrics": ["PSP@5", "P@1"]}, "monitor_metrics", "result.json holds every metric"),
        ({"lr_scheduler": "StepLR"}, "lr_scheduler", "knows no other than ReduceLROnPlateau"),
        ({"lr_scheduler": "ReduceLROnPlateau"}, "scheduler_config", "needs its arguments"),
        ({"stage1.k": 3}, "stage1", "KimCNN does not read it"),
        ({"label_set": "named"}, "label_set", "KimCNN does not read it"),
        ({"strategy": "end_to_end"}, "strategy", "it is for PLANT"),
        ({"data_format": "xmc", "vocab_file": __file__}, "data_format", "networks read text"),
        ({"linear": True, "monitor_metrics": ["Micro-Precision"]}, "monitor_metrics", "does not know this metric"),
        (
            {"linear": True, "save_k_predictions": 1, "save_positive_predictions": True},
            "save_positive_predictions",
            "excludes",
        ),
        ({"model_name": "unnamed_model", "network_config": {}}, "model_name", "(?s)no network is named.*--linear"),
    ],
)
def test_what_cannot_run_with_baselines(changes: dict[str, Any], key: str, message: str) -> None:
    found = problems_of(**{**KIM_CNN, **changes})
    assert re.search(message, found[key])
    assert len(found) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"monitor_metrics": ["Micro-F1", "Another-Macro-F1", "NDCG@3", "nDCG@5", "P@1"]},
        {"lr_scheduler": "ReduceLROnPlateau", "scheduler_config": {"patience": 1}},
        {"model_name": "XMLCNN"},
        {
            "model_name": "BERT",
            "network_config": {"lm_weight": "some/model", "anything": 0.1},
            "embed_file": None,
        },
        {"model_name": "AttentionXML", "network_config": {"rnn_dim": 8, "linear_size": [4], "post_encoder_dropout": 0}},
        {"linear": True, "model_name": "anything", "data_format": "svm", "network_config": {}},
        {"linear": True, "model_name": "anything", "data_format": "xmc", "network_config": {}},
        {"init_weight": None},
        {"embed_file": None},
        {"eval": True, "checkpoint_path": ".", "network_config": {}, "embed_file": None, "training_file": None},
        {"network_config": {"filter_sizes": [2], "embed_dropout": "2e-1"}},
    ],
)
def test_what_can_run_with_baselines(changes: dict[str, Any]) -> None:
    load_config(None, {**KIM_CNN, **changes})


def test_nearly_the_name_of_an_argument_is_not_ignored_even_where_anything_is_taken() -> None:
    found = problems_of(**{**KIM_CNN, "model_name": "BERT", "network_config": {"lm_weight": "m", "lm_windw": 9}})
    assert "did you mean lm_window" in found["network_config.lm_windw"]


def test_glove_names_are_those_of_libmultilabel() -> None:
    from libmultilabel.nn.data_utils import GLOVE_WORD_EMBEDDING

    assert set(VECTORS) - {"word2vec"} == set(GLOVE_WORD_EMBEDDING)


def test_watched_metrics_are_monitored() -> None:
    config = plant(monitor_metrics=["P@5"], val_metric="Micro-F1", early_stopping_metric="nDCG@5")
    assert config.monitor_metrics == ["P@5", "nDCG@5", "Micro-F1"]
    assert plant(val_metric="P@3").early_stopping_metric == "P@3"
    assert OPTIONS["monitor_metrics"].default == ("P@1", "P@3", "P@5")
    linear = load_config(None, {**KIM_CNN, "linear": True, "monitor_metrics": ["P@3"]})
    assert linear.monitor_metrics == ["P@3"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"merge_train_val": True}, "with merge_train_val there are no validation documents"),
        ({"val_file": None, "val_size": 0}, "no validation documents to find anything on"),
        ({"linear": True, "val_file": None}, "no validation documents to find anything on"),
        ({"checkpoint_path": "."}, "a checkpoint's vocabulary is not that of"),
        ({**KIM_CNN, "lr_scheduler": "ReduceLROnPlateau", "scheduler_config": {"factor": 0.5}}, "follows val_metric"),
        ({**KIM_CNN, "resume": "."}, "KimCNN has two trainings then"),
    ],
)
def test_what_cannot_be_refitted_is_said_before_data_are_read(changes: dict[str, Any], message: str) -> None:
    given = {**PLANT, "val_file": "demo:valid", **changes}
    assert message in problems_of(**given, refit="train+val")["refit"]
    assert "refit" not in problems_of(**given, no_such_key=1)
    tested = {**given, "eval": True, "checkpoint_path": "."}
    assert "refit" not in problems_of(**tested, refit="train+val", no_such_key=1)
