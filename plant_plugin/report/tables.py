"""The table at the end of a run: numbers as percent, each beside the words that say what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    metrics: Values = {_canonical(name): value for name, value in result.get("metrics", {}).items()}
    thresholds, counts = result.get("thresholds", {}), result.get("counts", {})
    parts: list[RenderableType] = [Text(_title(result), style="bold"), Text(_counts(counts))]
    parsed = {name: metric for name in metrics if (metric := _parsed(name))}
    ranked = {name for name, metric in parsed.items() if metric.k}
    binned = {name for name, metric in parsed.items() if metric.bin}
    thresholded = {name for name, metric in parsed.items() if metric.threshold} - binned
    if ranked:
        parts.append(_ranked(metrics, sorted({parsed[name].k or 0 for name in ranked})))
    if thresholded:
        used = dict.fromkeys(str(metric.threshold) for name, metric in parsed.items() if name in thresholded)
        parts.append(_thresholded(metrics, list(used), thresholds))
    threshold = "macro" if "macro" in thresholds else names.DEFAULT_THRESHOLD
    bins = [b for b in names.BINS if any(f"{family}@{threshold}:{b}" in metrics for family in MACRO_VARIANTS)]
    if bins:
        parts.append(_binned(metrics, bins, threshold))
    shown = ranked | thresholded | (binned if bins else set())
    if rest := [(name, value) for name, value in metrics.items() if name not in shown]:
        parts.append(_rest(rest, counts))
    parts.append(Text(_footer(result), style="dim"))
    return Group(*parts)


def percent(value: float | None) -> str:
    """A fraction as percent with two decimals; an en dash where it is undefined."""
    return "–" if value is None or value != value else f"{100 * value:.2f}"


def _table(title: str, head: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(head)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _add_row(table: Table, label: str, metrics: Values, row: Sequence[str]) -> None:
    """The metrics of a row, a column each; an empty place where there is none, no row where there is none at all."""
    if any(name in metrics for name in row):
        table.add_row(label, *(percent(metrics[name]) if name in metrics else "" for name in row))


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


def _ranked(metrics: Values, cutoffs: Sequence[int]) -> Table:
    """Families by cut-off."""
    table = _table("Ranking, ties broken by lower label id", "at k =", [str(k) for k in cutoffs])
    for family in names.RANKED:
        _add_row(table, family, metrics, [f"{family}@{k}" for k in cutoffs])
    return table


def _thresholded(metrics: Values, used: Sequence[str], thresholds: Values) -> Table:
    """Families by threshold."""
    tuned = TUNED if {"micro", "macro"} & set(used) else ""
    scores = [thresholds.get(name) for name in used]
    shown = ["" if score is None else f"\n(score > {score:.3g})" for score in scores]
    table = _table("By threshold" + tuned, "threshold", [f"{a}{b}" for a, b in zip(used, shown, strict=True)])
    for family in names.CLASSIFIED:
        label = f"{family} ({MACRO_VARIANTS[family]})" if family in MACRO_VARIANTS else family
        _add_row(table, label, metrics, [f"{family}@{name}" for name in used])
    return table


def _binned(metrics: Values, bins: Sequence[str], threshold: str) -> Table:
    """Macro-F1 by frequency bin; the other variants and thresholds are in ``result.json`` only."""
    table = _table(f"F1@{threshold} by how often the training split has the label", "training documents", bins)
    for family in MACRO_VARIANTS:
        _add_row(table, family, metrics, [f"{family}@{threshold}:{label_bin}" for label_bin in bins])
    return table


def _rest(rest: list[tuple[str, float | None]], counts: Mapping[str, int]) -> Table:
    table = _table("Whole ranking", "", [""])
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


def _canonical(name: str) -> str:
    metric = _parsed(name)
    return name if metric is None else metric.canonical


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
