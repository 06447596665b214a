"""Ranges of numbers in a configuration."""

from __future__ import annotations

from typing import Any

from plant_plugin.config.options import (
    PlantedScoresOptions,
    RelevanceOptions,
    Stage1Options,
    Stage2Options,
    StageOptions,
    parse_interval,
)
from plant_plugin.config.problems import Problems

AT_LEAST = {
    "data_workers": 0,
    "min_vocab_freq": 1,
    "max_seq_length": 1,
    "epochs": 1,
    "batch_size": 1,
    "eval_batch_size": 1,
    "weight_decay": 0,
    "momentum": 0,
    "patience": 0,
    "save_k_predictions": 0,
    "tree_degree": 2,
    "tree_max_depth": 1,
    "tree_ensemble_models": 1,
    "beam_width": 1,
    "cluster_size": 1,
    "seed": 0,
    "max_skipped_steps": 0,
    "devices": 1,
    "num_nodes": 1,
}
LIMITS = ("limit_train_batches", "limit_val_batches", "limit_test_batches")
LARGEST_SEED = 2**32 - 1  # numpy takes no larger one
LARGEST_GROUP = 46_340  # LAPACK may count a matrix's entries in 32 bits


def check_numbers(values: dict[str, Any], problems: Problems) -> None:
    """Ranges of the top-level keys."""
    for key, least in AT_LEAST.items():
        if values[key] is not None and values[key] < least:
            problems.add(key, f"has to be at least {least}, not {values[key]}")
    if values["seed"] is not None and values["seed"] > LARGEST_SEED:
        problems.add("seed", f"has to be at most {LARGEST_SEED}, not {values['seed']}")
    if values["learning_rate"] <= 0:
        problems.add("learning_rate", f"has to be above 0, not {values['learning_rate']}")
    try:
        parse_interval(values["checkpoint_every"])
    except ValueError:
        fix = "e.g. 200 (optimiser steps), 10m (minutes) or epoch"
        problems.add("checkpoint_every", f"{values['checkpoint_every']!r} is no interval", fix)
    for key in ("val_size", *LIMITS):
        value = values[key]
        if value < 0 or (value > 1 and float(value) != int(value)):
            problems.add(key, f"has to be a share from 0 to 1 or a whole number, not {value}")


def check_blocks(blocks: dict[str, Any], problems: Problems) -> None:
    """Ranges of the blocks."""
    relevance: RelevanceOptions = blocks["relevance"]
    _least("relevance.top", relevance.top, 1, problems)
    if relevance.measure == "term_frequency" and relevance.normalize != "max":
        what = f"measure term_frequency knows no {relevance.normalize}"
        problems.add("relevance.normalize", what, "use normalize: max, or measure: mig")
    _check_stage("stage1", blocks["stage1"], problems)
    _check_stage("stage2", blocks["stage2"], problems)
    _check_stage1(blocks["stage1"], problems)
    _check_stage2(blocks["stage2"], problems)
    _check_planted_scores(blocks["planted_scores"], problems)
    _least("evidence.prior", blocks["evidence"].prior, 0, problems)


def _check_stage(block: str, stage: StageOptions, problems: Problems) -> None:
    for name, least in (("epochs", 1), ("patience", 0), ("batch_size", 1), ("batch_tokens", 1), ("accumulate", 1)):
        _least(f"{block}.{name}", getattr(stage, name), least, problems)
    for name in ("encoder_learning_rate", "attention_learning_rate", "prior_learning_rate"):
        # 0 keeps these weights as they are
        _least(f"{block}.{name}", getattr(stage, name), 0, problems)
    for name in ("learning_rate", "clip_norm"):
        _above_zero(f"{block}.{name}", getattr(stage, name), problems)
    _share(f"{block}.warmup", stage.warmup, problems)


def _check_stage1(stage: Stage1Options, problems: Problems) -> None:
    _least("stage1.k", stage.k, 1, problems)
    _above_zero("stage1.sigma", stage.sigma, problems)
    _above_zero("stage1.strength", stage.strength, problems)
    if isinstance(stage.labels, int):
        _least("stage1.labels", stage.labels, 1, problems)
    elif stage.labels not in ("positive", "all"):
        problems.add("stage1.labels", f"has to be a whole number, `positive` or `all`, not {stage.labels!r}")


def _check_stage2(stage: Stage2Options, problems: Problems) -> None:
    _least("stage2.gamma", stage.gamma, 0, problems)
    _least("stage2.hard_negatives", stage.hard_negatives, 0, problems)
    _share("stage2.label_smoothing", stage.label_smoothing, problems)


def _check_planted_scores(planted: PlantedScoresOptions, problems: Problems) -> None:
    for name in ("ngrams", "min_documents", "terms", "top", "group_size"):
        _least(f"planted_scores.{name}", getattr(planted, name), 1, problems)
    if planted.group_size > LARGEST_GROUP:
        fix = f"say {LARGEST_GROUP}: more documents are dealt into equal groups"
        problems.add("planted_scores.group_size", f"has to be at most {LARGEST_GROUP}", fix, value=planted.group_size)
    _above_zero("planted_scores.penalty", planted.penalty, problems)
    for name in ("lead", "lead_weight", "adjustment", "weight", "name_weight", "linear_weight", "sentence_weight"):
        _least(f"planted_scores.{name}", getattr(planted, name), 0, problems)


def _least(key: str, value: float | None, least: float, problems: Problems) -> None:
    if value is not None and value < least:
        problems.add(key, f"has to be at least {least}, not {value}")


def _above_zero(key: str, value: float | None, problems: Problems) -> None:
    if value is not None and value <= 0:
        problems.add(key, f"has to be above 0, not {value}")


def _share(key: str, value: float, problems: Problems) -> None:
    if not 0 <= value < 1:
        problems.add(key, f"has to be at least 0 and below 1, not {value}")
