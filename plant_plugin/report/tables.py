"""The table at the end of a run: numbers as percent, each beside the words that say what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation import names

Values = Mapping[str, float | None]
MACRO_VARIANTS = {
    "Macro-F1": "all labels",
    "Macro-F1-present": "labels in this split",
    "Macro-F1-caml": "from mean P and R",
}
TUNED = "; micro, macro: tuned on validation for that F1"


def print_results(result: Mapping[str, Any], *, console: Console | None = None) -> None:
    """Print a result as tables.

    Args:
        result: The content of ``result.json``. What it lacks is left out; a null value is shown as an en dash.
        console: Where to print; the standard output by default.
    """
    (console or Console()).print(results_table(result))


def results_table(result: Mapping[str, Any]) -> RenderableType:
    """The tables of ``print_results`` as one thing that rich can print."""
    metrics: Values = result.get("metrics", {})
    parts: list[RenderableType] = [Text(_title(result), style="bold"), Text(_counts(result.get("counts", {})))]
    shown: set[str] = set()
    for table, used in (
        _ranked(metrics),
        _thresholded(metrics, result.get("thresholds", {})),
        _binned(metrics, result.get("thresholds", {})),
    ):
        if used:
            parts.append(table)
            shown |= used
    rest = [(name, value) for name, value in metrics.items() if name not in shown]
    if rest:
        parts.append(_rest(rest, result.get("counts", {})))
    parts.append(Text(_footer(result), style="dim"))
    return Group(*parts)


def percent(value: float | None) -> str:
    """A fraction as percent with two decimals; an en dash where it is undefined."""
    return "–" if value is None or value != value else f"{100 * value:.2f}"


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)


def _title(result: Mapping[str, Any]) -> str:
    told = [str(result[key]) for key in ("dataset", "model", "strategy") if result.get(key)]
    seed = f", seed {result['seed']}" if result.get("seed") is not None else ""
    return f"{' · '.join(told)} · {result.get('split', 'test')} split{seed}. Metrics in percent."


def _counts(counts: Mapping[str, int]) -> str:
    words = {
        "documents": "documents",
        "documents_without_labels": "of them without labels (they count 0 in P, R, RP and nDCG)",
        "labels": "labels",
        "labels_present": "of them present in this split",
        "dropped_labels": "true labels outside the label set, not counted",
    }
    return ", ".join(f"{counts[key]:,} {text}" for key, text in words.items() if key in counts)


def _ranked(metrics: Values) -> tuple[Table, set[str]]:
    """Families by cut-off."""
    found = {name: metric for name in metrics if (metric := _parsed(name)) and metric.k}
    cutoffs = sorted({metric.k for metric in found.values() if metric.k})
    table = _table("Ranking, ties broken by lower label id")
    table.add_column("at k =")
    for k in cutoffs:
        table.add_column(str(k), justify="right")
    for family in names.RANKED:
        at = {metric.k: metrics[name] for name, metric in found.items() if metric.family == family}
        if at:
            table.add_row(family, *(percent(at[k]) if k in at else "" for k in cutoffs))
    return table, set(found)


def _thresholded(metrics: Values, thresholds: Values) -> tuple[Table, set[str]]:
    """Families by threshold."""
    parsed = {name: _parsed(name) for name in metrics}
    found = {name: metric for name, metric in parsed.items() if metric and metric.threshold and not metric.bin}
    used = list(dict.fromkeys(str(metric.threshold) for metric in found.values()))
    table = _table("By threshold" + (TUNED if {"micro", "macro"} & set(used) else ""))
    table.add_column("threshold")
    for name in used:
        score = thresholds.get(name)
        table.add_column(name + (f"\n(score > {score:.3g})" if score is not None else ""), justify="right")
    for family in names.CLASSIFIED:
        at = {str(metric.threshold): metrics[name] for name, metric in found.items() if metric.family == family}
        if at:
            label = f"{family} ({MACRO_VARIANTS[family]})" if family in MACRO_VARIANTS else family
            table.add_row(label, *(percent(at[name]) if name in at else "" for name in used))
    return table, set(found)


def _binned(metrics: Values, thresholds: Values) -> tuple[Table, set[str]]:
    """Macro-F1 by frequency bin; the other variants and thresholds are in ``result.json`` only."""
    binned = {name for name in metrics if (metric := _parsed(name)) and metric.bin}
    threshold = "macro" if "macro" in thresholds else names.DEFAULT_THRESHOLD
    table = _table(f"F1@{threshold} by how often the training split has the label")
    table.add_column("training documents")
    bins = [b for b in names.BINS if any(f"{family}@{threshold}:{b}" in metrics for family in MACRO_VARIANTS)]
    for label_bin in bins:
        table.add_column(label_bin, justify="right")
    for family in MACRO_VARIANTS:
        row = [f"{family}@{threshold}:{label_bin}" for label_bin in bins]
        if any(name in metrics for name in row):
            table.add_row(family, *(percent(metrics[name]) if name in metrics else "" for name in row))
    return table, binned if bins else set()


def _rest(rest: list[tuple[str, float | None]], counts: Mapping[str, int]) -> Table:
    table = _table("Whole ranking")
    table.add_column()
    table.add_column(justify="right")
    table.show_header = False
    for name, value in rest:
        metric = _parsed(name)
        label = f"{name} ({names.FAMILIES[metric.family]})" if metric else name
        if name == "AUC-macro" and "auc_labels" in counts:
            label = f"AUC-macro (mean over the {counts['auc_labels']:,} labels with both classes in this split)"
        is_loss = metric is not None and metric.family == "Loss"
        table.add_row(label, f"{value:.4f}" if is_loss and value is not None else percent(value))
    return table


def _parsed(name: str) -> names.Metric | None:
    """The metric, or None for a name that some other program wrote."""
    try:
        return names.parse_metric(name)
    except ConfigError:
        return None


def _footer(result: Mapping[str, Any]) -> str:
    seconds = ", ".join(f"{phase} {value:.1f} s" for phase, value in result.get("time_s", {}).items())
    memory = result.get("peak_memory_mb")
    memory = memory.get("total") if isinstance(memory, Mapping) else memory
    told = [
        f"time: {seconds}" if seconds else "",
        f"peak memory: {memory:,.0f} MB" if memory else "",
        f"device: {result['device']}" if result.get("device") else "",
        f"P@k and propensity-scored metrics: {result['backend']}" if result.get("backend") else "",
    ]
    return " · ".join(part for part in told if part)
