"""Every network of LibMultiLabel through one epoch; the linear techniques have their own file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up import CNN, RNN, Outcome

NETWORKS: dict[str, dict[str, Any]] = {
    "KimCNN": {"network_config": CNN},
    "XMLCNN": {"network_config": {**CNN, "hidden_dim": 8, "num_pool": 2}, "seed": None},
    "CAML": {"network_config": CNN, "normalize_embed": True},
    "BiGRULWAN": {"network_config": RNN, "lr_scheduler": "ReduceLROnPlateau", "scheduler_config": {"patience": 1}},
    "BiLSTMLWAN": {"network_config": RNN, "optimizer": "sgd"},
    "BiLSTMLWMHAN": {"network_config": {**RNN, "num_heads": 2}, "optimizer": "adamax"},
    "CNNLWAN": {"network_config": CNN, "optimizer": "adamw", "include_test_labels": True},
}
LANGUAGE_MODELS: dict[str, dict[str, Any]] = {
    "BERT": {"lm_window": 16},
    "BERTAttention": {"lm_window": 16, "attention_type": "singlehead"},
}


def check(outcome: Outcome, model: str) -> None:
    assert outcome.result["model"] == model
    logged = outcome.logs["test"][0]
    assert outcome.result["metrics"]["P@1"] == pytest.approx(logged["P@1"], abs=1e-6)
    assert outcome.result["metrics"]["Micro-F1@0.5"] == pytest.approx(logged["Micro-F1"], abs=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("model", NETWORKS)
def test_network(model: str, baseline: Callable[..., Outcome]) -> None:
    check(baseline(model_name=model, **NETWORKS[model]), model)


@pytest.mark.integration
@pytest.mark.parametrize("add_special_tokens", [True, False])
@pytest.mark.parametrize("model", LANGUAGE_MODELS)
def test_language_model(
    model: str, add_special_tokens: bool, baseline: Callable[..., Outcome], language_model: Path
) -> None:
    config = {**LANGUAGE_MODELS[model], "lm_weight": str(language_model)}
    outcome = baseline(
        model_name=model,
        network_config=config,
        embed_file=None,
        init_weight=None,
        add_special_tokens=add_special_tokens,
    )
    check(outcome, model)
