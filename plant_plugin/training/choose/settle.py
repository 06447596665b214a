"""Settle a configuration with ``choose: true``: look at the data, decide, print the decisions and write them down."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import yaml

from plant_plugin.config import Config
from plant_plugin.config.load import checked_config
from plant_plugin.config.methods import read_configuration
from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.config.problems import Problems
from plant_plugin.config.rules import is_ours, is_plant_over_words
from plant_plugin.config.sections import Settings
from plant_plugin.config.values import Keys
from plant_plugin.errors import ConfigError
from plant_plugin.report.progress import said_to_go_on
from plant_plugin.report.run_folder import SETTLED
from plant_plugin.training.choose.decisions import BEFORE_LAAT, FOR_WORDS, OURS_ONLY, SIZES, Decision, Facts, decide
from plant_plugin.training.choose.facts import beside, look
from plant_plugin.training.pace import measure

NETWORK = "model_name", "network_config"

MINUTE = 60.0
FOR_EPOCHS = 0.5  # share of a budget; the rest reads, solves the linear model, validates and tests
SHORTENED = 250, 128  # words: what is tried first, and the shortest that a budget leaves


def settle(config: Config) -> Config:
    """Return the configuration that says what ``config`` leaves to the data, with its file's content as ``settled``.

    Raises:
        ConfigError: The user gives what does not go with what is chosen.
        DataError: The files cannot be used.
    """
    if config.eval:
        what, fix = "a trained model has its own keys", f"name {SETTLED} of its run: --config RUN_FOLDER/{SETTLED}"
        raise ConfigError(what, where="choose", fix=fix)
    started = time.perf_counter()
    user_values = config.unchecked | beside(str(config.training_file)) | config.unchecked
    user_values = {key: value for key, value in user_values.items() if key not in ("choose", "minutes", "resume")}
    keys = set(_dotted(user_values))
    say = partial(print, file=sys.stderr, flush=True)
    with contextlib.nullcontext() if config.silent else said_to_go_on("choosing by the data", say):
        facts = look(replace(config, val_file=user_values.get("val_file")), keys, network=_is_open(user_values))
        decisions = decide(facts)
    if not is_plant_over_words(config):
        decisions = [_sizes(decision, config) for decision in decisions]
    if any("model_name" in decision.keys for decision in decisions):  # in the place of plant.yml's
        user_values = {key: value for key, value in user_values.items() if key not in NETWORK}
        keys = set(_dotted(user_values))
    decisions = [_left_open(decision, keys) for decision in decisions]
    settled = _checked(_filled(user_values, decisions), config)
    if config.minutes:
        budget = _left_open(fit_into(config.minutes, settled, facts, started), keys)
        decisions = [*(_left_open(decision, budget.keys.keys()) for decision in decisions), budget]
        settled = _checked(_filled(user_values, decisions), config)
    lines = explained(facts, decisions)
    if not config.silent:
        say("\n".join(lines))
    comment = "".join(f"# {line}".rstrip() + "\n" for line in ("libmultilabel --config FILE", "", *lines))
    content = yaml.safe_dump(_filled(user_values, decisions), sort_keys=False, allow_unicode=True, width=1000)
    return replace(settled, settled=f"{comment}\n{content}")


def _sizes(decision: Decision, config: Config) -> Decision:
    """Return what is left of a decision for a network that is no PLANT over words."""
    sizes = SIZES - FOR_WORDS if config.network_config.get("lm_weight") else SIZES
    keys = {key: value for key, value in decision.keys.items() if key in sizes}
    if not is_ours(config):  # which LibMultiLabel trains, and by its own metrics
        keys = {key.removeprefix("stage2."): value for key, value in keys.items() if key not in OURS_ONLY}
    return replace(decision, keys=keys)


def explained(facts: Facts, decisions: Iterable[Decision]) -> list[str]:
    """Return at most ten lines: the facts, and each decision with its reason."""
    marked = "evidence" if facts.evidence else "no evidence"
    seen = f"{facts.documents:,} documents in {facts.language}, {facts.labels:,} labels, {marked}"
    lines = [f"{seen}; chosen, and kept as a configuration:"]
    for decision in decisions:
        shown = {key: value for key, value in decision.keys.items() if key != "monitor_metrics"}
        if shown:
            keys = ", ".join(f"{key} {_spelled(value)}" for key, value in shown.items())
            lines.append(f"  {keys}: {decision.reason}")
    return lines


def _is_open(user_values: Mapping[str, object]) -> bool:
    """Tell whether the user says of the network only what plant.yml says, and nothing that excludes another."""
    plant, _ = read_configuration("plant")
    return not BEFORE_LAAT & set(_dotted(user_values)) and all(user_values.get(key) == plant[key] for key in NETWORK)


def _dotted(values: Mapping[str, object], above: str = "") -> Iterator[str]:
    """Yield the keys of a configuration, those of blocks with a dot."""
    for key, value in values.items():
        yield f"{above}{key}"
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{above}{key}.")


def _left_open(decision: Decision, user_keys: Iterable[str]) -> Decision:
    """Return the decision without the keys that are given, also for both stages at once."""
    user_keys = set(user_keys)
    keys = {key: value for key, value in decision.keys.items() if not {key, re.sub("^stage[12].", "", key)} & user_keys}
    return replace(decision, keys=keys)


def _filled(user_values: Mapping[str, object], decisions: Iterable[Decision]) -> Keys:
    """Return what is given with what is chosen: a configuration that needs no data to be looked at."""
    filled: Keys = {key: dict(value) if isinstance(value, Mapping) else value for key, value in user_values.items()}
    for decision in decisions:
        for key, value in decision.keys.items():
            block, _, inner = key.rpartition(".")
            (filled.setdefault(block, {}) if block else filled)[inner] = value
    return filled


def _spelled(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("\n").removesuffix("\n...")


def _checked(filled: Keys, config: Config) -> Config:
    settled = checked_config({**filled, "resume": config.resume}, Problems(config.config_path))
    return replace(settled, trust_code=config.trust_code)


def fit_into(minutes: float, config: Settings, facts: Facts, started: float) -> Decision:
    """Choose epochs, length or strategy with which training ends in about so many minutes.

    The time since ``started``, in which the data were looked at and steps are timed, is taken from them. First the
    second stage gets fewer epochs, then documents are read less far, then no network is trained.
    """
    if config.strategy == PLANTED_SCORES:
        return Decision({}, "")
    stage2 = replace(config.stage2, epochs=config.stage2.epochs or None)  # without epochs it would not be measured
    stages = measure(replace(config, stage2=stage2)).stages
    epoch1, epoch2 = (stages[name].training_seconds if name in stages else 0.0 for name in ("stage1", "stage2"))
    left = MINUTE * minutes - (time.perf_counter() - started)
    room = max(0.0, left) * FOR_EPOCHS / (2 if config.refit != "none" else 1)
    epochs = [config.epochs if stage.epochs is None else stage.epochs for stage in (config.stage1, config.stage2)]
    ranked, wanted = 0 if config.strategy == "end_to_end" else epochs[0], max(1, epochs[1])
    length, words = config.max_seq_length or facts.long, max(1, facts.words)  # 0: most documents hold only numbers
    for shorter in (length, *(short for short in SHORTENED if short < length)):
        share = min(1.0, min(shorter, words) / min(length, words))  # a step takes as long as its words
        first, second = share * epoch1, share * epoch2
        for epochs1 in range(ranked, -1, -1):
            epochs2 = min(wanted, int((room - epochs1 * first) / second))
            if epochs2 >= min(wanted, max(1, epochs1)):  # a shortened second stage is no shorter than the first
                keys: Keys = {"stage1.epochs": epochs1, "max_seq_length": shorter, "stage2.epochs": epochs2}
                why = f"an epoch takes {first:.0f} and {second:.0f} seconds"
                return Decision(keys, f"{why}; {left / MINUTE:.1f} of {minutes:g} minutes are left")
    return Decision({"strategy": PLANTED_SCORES}, f"an epoch of the network does not fit into {minutes:g} minutes")
