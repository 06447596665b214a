"""The table at the end of a run: numbers as percent, each beside the words that say what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation import names
from plant_plugin.report.result import Result

Values = Mapping[str, float | None]
MACRO_VARIANTS = {
    "Macro-F1": "all labels",
    "Macro-F1-present": "labels in this split",
    "Macro-F1-caml": "from mean P and R",
}
TUNED = "; micro, macro: tuned on validation for that F1"


def print_results(result: Result, *, console: Console | None = None) -> None:
    """Print a result as tables on the standard output, or on ``console``.

    What the result lacks is left out; an undefined value is shown as an en dash.
    """
    metrics: dict[str, float | None] = {}
    parsed: dict[str, names.Metric] = {}
    for name, value in result.get("metrics", {}).items():
        if metric := _parsed(name):
            name = metric.canonical
            parsed[name] = metric
        metrics[name] = value
    thresholds, counts = result.get("thresholds", {}), result.get("counts", {})
    parts: list[RenderableType] = [Text(_title(result), style="bold"), Text(_counts(counts))]
    ranked = {name for name, metric in parsed.items() if metric.k}
    binned = {name for name, metric in parsed.items() if metric.bin}
    thresholded = {name for name, metric in parsed.items() if metric.threshold} - binned
    if ranked:
        cutoffs = sorted({parsed[name].k or 0 for name in ranked})
        columns = {f"@{k}": str(k) for k in cutoffs}
        title = "Ranking, ties broken by lower label id"
        families = {family: family for family in (*names.RANKED, *names.added())}
        parts.append(_families(title, "at k =", columns, families, metrics))
    if thresholded:
        used = dict.fromkeys(str(metric.threshold) for name, metric in parsed.items() if name in thresholded)
        scores = {name: f"\n(score > {thresholds[name]:.3g})" if name in thresholds else "" for name in used}
        columns = {f"@{name}": f"{name}{score}" for name, score in scores.items()}
        headings = {f: f"{f} ({MACRO_VARIANTS[f]})" if f in MACRO_VARIANTS else f for f in names.CLASSIFIED}
        title = "By threshold" + (TUNED if {"micro", "macro"} & set(used) else "")
        parts.append(_families(title, "threshold", columns, headings, metrics))
    threshold = "macro" if "macro" in thresholds else names.DEFAULT_THRESHOLD
    bins = [b for b in names.BINS if any(f"{family}@{threshold}:{b}" in metrics for family in MACRO_VARIANTS)]
    if bins:  # of macro-F1; the other variants and thresholds are in `result.json` only
        title = f"F1@{threshold} by how often the training split has the label"
        columns = {f"@{threshold}:{label_bin}": label_bin for label_bin in bins}
        parts.append(_families(title, "training documents", columns, {f: f for f in MACRO_VARIANTS}, metrics))
    shown = ranked | thresholded | (binned if bins else set())
    if rest := [(name, value) for name, value in metrics.items() if name not in shown]:
        parts.append(_rest(rest, counts))
    parts.append(Text(_footer(result), style="dim"))
    (console or Console()).print(Group(*parts), markup=False)  # a metric may be called anything


def percent(value: float | None) -> str:
    """Write a fraction as percent with two decimals; an en dash where it is undefined."""
    return "–" if value is None or value != value else f"{100 * value:.2f}"


def _table(title: str, head: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(head)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _families(title: str, head: str, columns: Mapping[str, str], families: Mapping[str, str], metrics: Values) -> Table:
    """Make a column for each ending of metrics' names.

    Each family that has any of them is a row; both have a heading.
    """
    table = _table(title, head, columns.values())
    for family, heading in families.items():
        row = [f"{family}{ending}" for ending in columns]
        if any(name in metrics for name in row):
            table.add_row(heading, *(percent(metrics[name]) if name in metrics else "" for name in row))
    return table


def _title(result: Result) -> str:
    headings = [str(result[key]) for key in ("dataset", "model", "strategy") if result.get(key)]
    seed = f", seed {result['seed']}" if result.get("seed") is not None else ""
    return f"{' · '.join(headings)} · {result.get('split', 'test')} split{seed}. Metrics in percent."


def _counts(counts: Mapping[str, int]) -> str:
    words = {
        "documents": "documents",
        "documents_without_labels": "of them without labels (they count 0 in P, R, RP and nDCG)",
        "labels": "labels",
        "labels_present": "of them present in this split",
        "dropped_labels": "true labels outside the label set, not counted",
    }
    return ", ".join(f"{counts[key]:,} {text}" for key, text in words.items() if key in counts)


def _rest(rest: list[tuple[str, float | None]], counts: Mapping[str, int]) -> Table:
    table = _table("Whole ranking", "", [""])
    table.show_header = False
    for name, value in rest:
        metric = _parsed(name)
        label = f"{name} ({metric.summary})" if metric else name
        if name == "AUC-macro" and "auc_labels" in counts:
            label = f"AUC-macro (mean over the {counts['auc_labels']:,} labels with both classes in this split)"
        is_loss = metric is not None and metric.family == "Loss"
        table.add_row(label, f"{value:.4f}" if is_loss and value is not None else percent(value))
    return table


def _parsed(name: str) -> names.Metric | None:
    """Parse a metric; None for a name that some other program wrote."""
    try:
        return names.parse_metric(name)
    except ConfigError:
        return None


def _footer(result: Result) -> str:
    seconds = ", ".join(f"{phase} {value:.1f} s" for phase, value in result.get("time_s", {}).items())
    memory = result.get("peak_memory_mb")
    memory = memory.get("total") if isinstance(memory, Mapping) else memory
    on_gpu = result.get("gpu_memory_mb", {}).get("total")
    parts = [
        f"time: {seconds}" if seconds else "",
        f"peak memory: {memory:,.0f} MB" if memory else "",
        f"device: {result['device']}" if result.get("device") else "",
        f"memory there: {on_gpu:,.0f} MB" if on_gpu else "",
        f"P@k and propensity-scored metrics: {result['backend']}" if result.get("backend") else "",
    ]
    return " · ".join(part for part in parts if part)
