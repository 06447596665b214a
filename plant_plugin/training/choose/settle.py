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
from plant_plugin.config.problems import Problems
from plant_plugin.config.rules import is_ours, is_plant_over_words
from plant_plugin.config.values import Keys
from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.said import counted
from plant_plugin.report.progress import said_to_go_on
from plant_plugin.report.run_folder import SETTLED
from plant_plugin.training.choose.decisions import BEFORE_LAAT, FOR_WORDS, OURS_ONLY, SIZES, Decision, Facts, decide
from plant_plugin.training.choose.facts import beside, look
from plant_plugin.training.choose.network import fit_into, without_network

NETWORK = "model_name", "network_config"


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
        decisions = without_network(decide(facts), facts, keys)
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
    seen = f"{counted(facts.documents, 'document')} in {facts.language}, {counted(facts.labels, 'label')}, {marked}"
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
