"""What has to be true of the keys of ``network_config`` that are for language models."""

from __future__ import annotations

import dataclasses
from typing import Any

from plant_plugin.config import registry
from plant_plugin.config.options import LoraOptions
from plant_plugin.config.problems import Problems
from plant_plugin.config.registry import suggestion
from plant_plugin.config.values import conform

FOR_LANGUAGE_MODELS = (
    "lm_window", "lm_overlap", "lm_from_scratch", "lm_frozen", "lm_dropout", "quantization", "lora",
    "gradient_checkpointing", "trust_remote_code",
)  # fmt: skip


def reads_whole_documents(values: dict[str, Any]) -> bool:
    """Whether nothing is cut unless ``max_seq_length`` says so: networks of ours over a language model."""
    name = values["model_name"]
    known = ":" in name or name in registry.entries("networks")
    over_language_model = bool(values["network_config"].get("lm_weight"))
    return over_language_model and not values["linear"] and known and registry.get("networks", name).ours


def check_language_model(given: dict[str, Any], problems: Problems) -> None:
    """Add every problem of ``quantization``, ``lora`` and the keys around them; turns texts into numbers."""
    if "lm_weight" not in given and "encoder" in given:
        for name in FOR_LANGUAGE_MODELS:
            if name in given:
                problems.add(f"network_config.{name}", "is for language models", "leave it out, or give lm_weight")
    for name, least in (("lm_window", 1), ("lm_overlap", 0), ("gradient_tokens", 1)):
        _check_number(given, name, f"network_config.{name}", int, least, problems)
    if given.get("lm_dropout") is not None and given.get("freeze_encoder"):
        problems.add("network_config.lm_dropout", "what is frozen has none", "leave it out")
    if given.get("gradient_tokens") is not None and (given.get("encoder") == "cnn" or given.get("freeze_encoder")):
        fix = "leave it out: a cnn keeps little of each token, and what is frozen has no gradient"
        problems.add("network_config.gradient_tokens", "is for bigru, bilstm and language models that train", fix)
    if given.get("lm_from_scratch") and given.get("quantization", "none") != "none":
        fix = "leave out one of the two; to try a shape, save the drawn model to a folder first"
        problems.add("network_config.lm_from_scratch", "drawn weights are not quantised", fix)
    _check_lora(given, problems)


def _check_lora(given: dict[str, Any], problems: Problems) -> None:
    lora = given.get("lora")
    if lora is None:
        return
    key, known = "network_config.lora", {field.name: field for field in dataclasses.fields(LoraOptions)}
    if not isinstance(lora, dict):
        problems.add(key, "has to be a mapping", "e.g. lora: {r: 16, alpha: 32, dropout: 0.05}")
        return
    for name in lora:
        if name not in known:
            problems.add(f"{key}.{name}", "there is no such key", suggestion(str(name), tuple(known)))
    for name in ("r", "alpha"):
        _check_number(lora, name, f"{key}.{name}", int, 1, problems)
    check_rate(lora, "dropout", f"{key}.dropout", problems)


def check_rate(given: dict[str, Any], name: str, key: str, problems: Problems) -> None:
    """A rate of dropout: at 1 nothing is left to learn from."""
    _check_number(given, name, key, float, 0, problems)
    rate = given.get(name)
    if isinstance(rate, int | float) and not isinstance(rate, bool) and rate >= 1:
        problems.add(key, f"has to be below 1, not {rate}")


def _check_number(given: dict[str, Any], name: str, key: str, kind: type, least: int, problems: Problems) -> None:
    if given.get(name) is None:
        return
    try:
        given[name] = conform(given[name], (kind,))
    except ValueError as error:
        problems.add(key, str(error))
        return
    if given[name] < least:
        problems.add(key, f"has to be at least {least}, not {given[name]}")
