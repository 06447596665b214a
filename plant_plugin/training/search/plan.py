"""What a search will do, checked before any data are read: its own keys, its expressions and all they may draw."""

from __future__ import annotations

import copy
import math
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import yaml

from plant_plugin.config import registry
from plant_plugin.config.load import WITHOUT_INFLUENCE, Config, checked_config, read_given
from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.config.problems import Problems, read_section
from plant_plugin.config.sections import FIELDS, SEARCH_OPTIONS, Asha, Search
from plant_plugin.config.values import Keys, Value
from plant_plugin.config.yaml_file import parse
from plant_plugin.errors import ConfigError, suggestion
from plant_plugin.training.search.space import Expression, put, take_expressions

INSTALL = "pip install 'plant-plugin[search]'"
PACKAGES = {"optuna": ("optuna", "Optuna"), "bayesopt": ("bayes_opt", "bayesian-optimization")}
# Values of one validation metric on the same documents can be compared; these keys would change either.
SAME_FOR_ALL = frozenset(
    {
        "training_file", "val_file", "test_file", "val_size", "label_file", "data_format", "text_column",
        "labels_column", "merge_train_val", "registry", "refit", "include_test_labels", "remove_no_label_data",
        "allow_bad_lines", "monitor_metrics", "val_metric", "limit_val_batches", "metric_threshold", "linear", "eval",
        "checkpoint_path", "cpu", "limit_test_batches", "choose",
    }
)  # fmt: skip


@dataclass(frozen=True)
class SearchPlan:
    """A checked search."""

    given: Keys  # the configuration without the keys of the search, every expression at a value that it may draw
    expressions: tuple[Expression, ...]  # the keys that vary
    options: Search
    base: Config  # `given`, checked

    @property
    def num_trials(self) -> int:
        """How many configurations are tried."""
        grids = [len(each.arguments) for each in self.expressions if each.name == "grid_search"]
        return self.options.num_samples * math.prod(grids)

    @property
    def mode(self) -> str:
        """Whether ``val_metric`` is to be high or low."""
        return "min" if self.base.val_metric == "Loss" else "max"

    def decoded(self, drawn: Keys) -> Keys:
        """Values by key, from what Ray Tune drew."""
        return {each.key: each.decode(drawn[each.key]) for each in self.expressions}

    def configuration(self, chosen: Keys) -> Keys:
        """The keys and values of a configuration file, with the chosen value of each key that varies."""
        values = copy.deepcopy(self.given)
        for each in self.expressions:
            put(values, each.path, chosen[each.key])
        return values


def plan_search(path_or_name: str | Path | None, overrides: Keys | None = None) -> SearchPlan:
    """Read and check a search: ``overrides`` may hold keys of the search too, and expressions as texts.

    Raises:
        ConfigError: With every problem found, in ``problems``.
    """
    changes = dict(overrides or {})
    for key, value in changes.items():
        if isinstance(value, str) and value.lstrip().startswith("["):
            changes[key] = _read(value)
    given, problems = read_given(path_or_name, changes)
    options = _options(given, problems)
    expressions = take_expressions(given, problems)
    _check_expressions(expressions, options, problems)
    _check_installed(options, problems)
    given |= {"merge_train_val": False, "refit": "none"}  # trials are compared on validation documents
    base: Config | None = None
    try:
        base = checked_config(given, problems)
    except ConfigError as error:
        problems.found = list(error.problems)
    else:
        _check_task(base, problems)
    _check_drawn(given, expressions, problems)
    problems.raise_if_any()
    assert base is not None
    return SearchPlan(given, tuple(expressions), options, base)


def _read(flag: str) -> Value:
    """What a flag spells in YAML, if it does."""
    try:
        return parse(flag)
    except yaml.YAMLError:
        return flag


def _options(given: Keys, problems: Problems) -> Search:
    """Take the keys of the search out of the configuration."""
    own = {name: given.pop(name) for name in SEARCH_OPTIONS if name in given}
    own["scheduler"] = _scheduler(own.get("scheduler"), problems)
    options = read_section(Search, own, problems)
    known = (*FIELDS, *SEARCH_OPTIONS)
    for name in [name for name in given if name not in known]:
        del given[name]
        problems.add(str(name), "there is no such key", suggestion(str(name), known))
    if options.no_retrain and options.no_merge_train_val:
        fix = "leave out one: without a second training nothing is merged"
        problems.add("no_retrain", "excludes no_merge_train_val", fix)
    return options


def _scheduler(value: Value, problems: Problems) -> Keys | None:
    """The arguments of ASHA, from a mapping of the file or the text of a flag."""
    value = _read(value) if isinstance(value, str) else value
    if value is None:
        return None
    if not isinstance(value, dict):
        problems.add("scheduler", "has to be a mapping or null", "e.g. {max_t: 50, grace_period: 10}")
        return None
    asha = read_section(Asha, value, problems, "scheduler.")
    if asha.max_t < asha.grace_period:
        problems.add("scheduler.grace_period", f"has to be at most max_t, {asha.max_t}")
    return {name: own for name, own in asdict(asha).items() if name in value or name in ("max_t", "grace_period")}


def _check_expressions(expressions: list[Expression], options: Search, problems: Problems) -> None:
    """Something has to vary; and what varies has to make sense in a search, and to the algorithm."""
    if not expressions and not problems.found:
        fix = "give at least one key a sampling expression, e.g. learning_rate: ['grid_search', [0.01, 0.001]]"
        problems.add("search", "there is nothing to search", fix)
    for each in expressions:
        key, top = each.key, each.path[0]
        if top in SAME_FOR_ALL:
            problems.add(key, "trials that differ in it cannot be compared", "give it one value")
        elif top in WITHOUT_INFLUENCE:
            problems.add(key, "no result depends on it", "give it one value")
        elif top == "planted_scores":
            fix = "give it one value; its adjustment and its weight are chosen on validation documents anyway"
            problems.add(key, "planted scores are added after the epochs that a search compares", fix)
        if options.search_alg == "bayesopt" and each.name != "uniform":
            problems.add(key, f"bayesopt knows no {each.name}", "use uniform, or another search_alg")
        elif options.search_alg == "optuna" and each.name in ("grid_search", "randn", "qrandn"):
            problems.add(key, f"optuna knows no {each.name}", "use choice or uniform, or search_alg: basic_variant")


def _check_installed(options: Search, problems: Problems) -> None:
    if find_spec("ray") is None:
        problems.add("search", "Ray Tune is not installed", INSTALL)
    module, name = PACKAGES.get(options.search_alg or "", (None, ""))
    if module is not None and find_spec(module) is None:
        problems.add("search_alg", f"{name} is not installed", INSTALL, value=options.search_alg)


def _check_task(base: Config, problems: Problems) -> None:
    """Validation documents and a metric on them after every epoch."""
    if base.linear:
        problems.add("linear", "a search is for networks", "try linear options one by one; they train in seconds")
        return
    if base.choose:
        what, fix = "each trial would choose anew", "train with plant.yml once, and name the settled.yml of its run"
        problems.add("choose", what, fix)
    if base.strategy == PLANTED_SCORES:
        what = "no network is trained, so that there are no epochs to compare"
        problems.add("strategy", what, "say plant or end_to_end")
    if base.stage2.epochs == 0:
        problems.add("stage2.epochs", "there are no epochs to compare", "leave it out")
    if base.model_name.lower() == "attentionxml":
        problems.add("model_name", "AttentionXML has no validation metric of the whole model", "choose another network")
    for key in ("eval", "resume"):
        if getattr(base, key):
            problems.add(key, "a search trains its models from the start", "leave it out")
    if base.val_file is None and base.val_size == 0:
        problems.add("val_size", "there are no validation documents to choose by", "give val_file or a val_size")
    if not registry.get("networks", base.model_name).ours:
        monitored = {name.lower() for name in base.monitor_metrics}
        if base.val_metric.lower() not in monitored:
            fix = f"add {base.val_metric} to monitor_metrics"
            problems.add("val_metric", "LibMultiLabel computes it only where it is monitored", fix)


def _check_drawn(given: Keys, expressions: list[Expression], problems: Problems) -> None:
    """Every listed value, and the ends of every range, in an otherwise equal configuration."""
    told = {problem.where for problem in problems.found}
    for each in expressions:
        for value in each.probes()[1:]:
            changed = copy.deepcopy(given)
            put(changed, each.path, value)
            try:
                checked_config(changed, Problems(problems.path, dict(problems.lines)))
            except ConfigError as error:
                for problem in error.problems:
                    what, where = problem.what, str(problem.where)
                    if not where.startswith(each.key):  # of another key: say which value brings it about
                        what += f" (with {each.key}: {value})"
                    if problem.where not in told:
                        problems.found.append(ConfigError(what, where=problem.where, fix=problem.fix))
                told |= {problem.where for problem in error.problems}
