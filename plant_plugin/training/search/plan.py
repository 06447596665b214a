"""A search, checked before any data are read: LibMultiLabel's expressions become domains of Ray Tune.

``['grid_search', [8, 16]]`` or ``['loguniform', 1e-5, 1e-3]`` in place of a value calls the function of that name in
:mod:`ray.tune` with the rest of the list.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

import yaml
from ray import tune

from plant_plugin.config.load import Config, checked_config, read_given
from plant_plugin.config.problems import Problems, read_section
from plant_plugin.config.sections import BLOCKS, MAPPINGS, SEARCH_OPTIONS, Asha, Search
from plant_plugin.config.values import Keys, Value
from plant_plugin.config.yaml_file import parse
from plant_plugin.errors import needs_extra

PACKAGES = {"optuna": "optuna", "bayesopt": "bayes_opt"}
LISTED, NORMAL = ("choice", "grid_search"), ("randn", "qrandn")
NAMES = (*LISTED, *NORMAL, "uniform", "quniform", "loguniform", "qloguniform", "randint", "qrandint")
UNKNOWN = {"optuna": ("grid_search", *NORMAL), "bayesopt": tuple(name for name in NAMES if name != "uniform")}
# Values of one validation metric on the same documents can be compared: keys that change either, or come afterwards.
SAME_FOR_ALL = (
    "training_file", "val_file", "val_size", "label_file", "data_format", "include_test_labels", "remove_no_label_data",
    "val_metric", "metric_threshold", "limit_val_batches", "planted_scores",
)  # fmt: skip


@dataclass(frozen=True)
class SearchPlan:
    """A checked search."""

    values: Keys  # of the second training's configuration, each that varies at one that may be drawn
    space: dict[str, object]  # what Ray Tune draws from, by key (``network_config.rnn_dim``)
    options: Search
    base: Config  # `values`, checked

    @property
    def mode(self) -> str:
        """Tell whether ``val_metric`` is to be high (``max``) or low (``min``)."""
        return "min" if self.base.val_metric == "Loss" else "max"

    def configuration(self, drawn: Keys) -> Keys:
        """Return what the configuration file of the second training says, with values that Ray Tune drew."""
        values = copy.deepcopy(self.values)
        for key, value in drawn.items():
            _put(values, key, value)
        return values


def plan_search(path_or_name: str | Path | None, overrides: Keys | None = None) -> SearchPlan:
    """Read and check a search: ``overrides`` may hold keys of the search too, and expressions as texts.

    Raises:
        ConfigError: With every problem of its expressions, or else of its values, in ``problems``.
    """
    flags = dict(overrides or {})
    for key, value in flags.items():
        if isinstance(value, str) and value.startswith(("[", "{")):
            with contextlib.suppress(yaml.YAMLError):  # a text that the check of its key refuses
                flags[key] = parse(value)
    values, problems = read_given(path_or_name, flags)
    options = _options(values, problems)
    space, examples = _expressions(values, options, problems)
    problems.raise_if_any()
    merged = not (options.no_retrain or options.no_merge_train_val)
    values |= {"merge_train_val": False, "refit": "train+val" if merged else "none"}
    base = checked_config(values, problems)
    if base.linear or base.model_name.lower() == "attentionxml":
        problems.add("model_name", "a search is for networks with a metric after each epoch", "search another model")
    if base.choose:
        problems.add("choose", "each trial would choose anew", "train once, and search from the settled.yml of its run")
    problems.raise_if_any()
    plan = SearchPlan(values, space, options, base)
    for key, drawable in examples.items():
        for value in drawable:
            checked_config(plan.configuration({key: value}), Problems(problems.path, problems.lines))
    return plan


def _options(values: Keys, problems: Problems) -> Search:
    """Take the keys of the search out of the configuration."""
    chosen = {name: values.pop(name) for name in SEARCH_OPTIONS if name in values}
    if isinstance(chosen.get("scheduler"), dict):
        chosen["scheduler"] = asdict(read_section(Asha, chosen["scheduler"], problems, "scheduler."))
    options = read_section(Search, chosen, problems)
    with needs_extra("search"):
        import_module(PACKAGES.get(options.search_alg or "", "ray"))
    if options.no_retrain and options.scheduler is not None:
        problems.add("no_retrain", "a trial that the scheduler stops has no model to test", "leave out one of the two")
    return options


def _expressions(values: Keys, options: Search, problems: Problems) -> tuple[dict[str, object], dict[str, list[Value]]]:
    """Return the domain and some values of each key with an expression, in whose place the first of these is put."""
    space, examples = {}, {}
    for key, (name, *arguments) in list(_lists(values)):
        try:
            space[key], examples[key] = _domain(name, arguments)
        except (TypeError, ValueError, ZeroDivisionError, IndexError) as error:  # most of them Ray's
            problems.add(key, f"{name!r}: {error}", "see the table of expressions in docs/search.md")
            continue
        _put(values, key, examples[key][0])
        if key.partition(".")[0] in SAME_FOR_ALL:
            problems.add(key, "trials that differ in it cannot be compared", "give it one value")
        if name in UNKNOWN.get(options.search_alg or "", ()):
            problems.add(key, f"{options.search_alg} knows no {name}", "use uniform, or search_alg: basic_variant")
    if not space:
        fix = "give at least one key a sampling expression, e.g. learning_rate: ['grid_search', [0.01, 0.001]]"
        problems.add("search", "there is nothing to search", fix)
    return space, examples


def _domain(name: str, arguments: list[Value]) -> tuple[object, list[Value]]:
    """Return a domain of Ray Tune, and values that it may draw: all listed ones, else the mean or both ends."""
    if name in LISTED:
        if not (arguments and isinstance(arguments[0], list) and arguments[0]):
            raise ValueError("a list of values has to follow")
        return getattr(tune, name)(*arguments), arguments[0]
    numbers = [float(number) if isinstance(number, str) else number for number in arguments]  # 1e-3 is a text in YAML
    domain = getattr(tune, name)(*numbers)
    low, high = numbers[0], numbers[1] - (name == "randint")
    if name in NORMAL:
        return domain, [low]
    if low > high:
        raise ValueError("low has to be below high")
    return domain, [low, high]


def _lists(values: Mapping[str, Value], above: str = "") -> Iterator[tuple[str, Value]]:
    """Yield every list that begins with the name of an expression, after its key."""
    for name, value in values.items():
        if isinstance(value, dict) and (above or name in (*BLOCKS, *MAPPINGS)):
            yield from _lists(value, f"{above}{name}.")
        elif isinstance(value, list) and value and value[0] in NAMES:
            yield f"{above}{name}", value


def _put(values: Keys, key: str, value: Value) -> None:
    """Set a key of a nested mapping in place."""
    *blocks, name = key.split(".")
    for block in blocks:
        values = values[block]
    values[name] = value
