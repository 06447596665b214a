"""The table at the end of a run: numbers as percent, each beside the words that say what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation import names
from plant_plugin.report.footer import footer
from plant_plugin.report.result import Result

Cells = dict[tuple[str, str], float | None]  # by row and column
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
    thresholds, counts = result.get("thresholds", {}), result.get("counts", {})
    of_bins = "macro" if "macro" in thresholds else names.DEFAULT_THRESHOLD
    ranked, thresholded, binned, rest = Cells(), Cells(), Cells(), dict[str, float | None]()
    for name, value in result.get("metrics", {}).items():
        metric = _parsed(name)
        if metric is None or not (metric.k or metric.threshold):
            rest[metric.canonical if metric else name] = value
        elif metric.k:
            ranked[metric.family, str(metric.k)] = value
        elif not metric.bin:
            thresholded[metric.family, str(metric.threshold)] = value
        elif metric.family in MACRO_VARIANTS and metric.threshold == of_bins:
            binned[metric.family, metric.bin] = value  # other variants and thresholds are in `result.json` only
    used = dict.fromkeys(threshold for _, threshold in thresholded)
    scores = {name: f"{name}\n(score > {thresholds[name]:.3g})" for name in used if name in thresholds}
    variants = {family: f"{family} ({meaning})" for family, meaning in MACRO_VARIANTS.items()}
    tuned = TUNED if {"micro", "macro"} & set(used) else ""
    by_bin = f"F1@{of_bins} by how often the training split has the label"
    parts: list[RenderableType] = [Text(heading(result), style="bold"), Text(_counts(counts))]
    parts += _table("Ranking, ties broken by lower label id", "at k =", ranked, {})
    parts += _table("By threshold" + tuned, "threshold", thresholded, {**variants, **scores})
    parts += _table(by_bin, "training documents", binned, {})
    if rest:
        parts.append(_rest(rest, counts))
    parts.append(Text(footer(result), style="dim"))
    (console or Console()).print(Group(*parts), markup=False)  # a metric may be called anything


def percent(value: float | None) -> str:
    """Write a fraction as percent with two decimals; an en dash where it is undefined."""
    return "–" if value is None or value != value else f"{100 * value:.2f}"


def _empty(title: str, head: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(head)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _table(title: str, head: str, cells: Cells, headings: Mapping[str, str]) -> list[Table]:
    """Make a table of cells, none where there are none; rows and columns are called by their headings, if they have."""
    rows, columns = (dict.fromkeys(key[side] for key in cells) for side in (0, 1))
    table = _empty(title, head, (headings.get(column, column) for column in columns))
    for row in rows:
        shown = (percent(cells[row, column]) if (row, column) in cells else "" for column in columns)
        table.add_row(headings.get(row, row), *shown)
    return [table] if cells else []


def heading(result: Result) -> str:
    """Return what was tested, and where."""
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


def _rest(rest: Mapping[str, float | None], counts: Mapping[str, int]) -> Table:
    table = _empty("Whole ranking", "", [""])
    table.show_header = False
    for name, value in rest.items():
        metric = _parsed(name)
        label = f"{name} ({metric.summary})" if metric else name
        if name == "AUC-macro" and "auc_labels" in counts:
            label = f"AUC-macro (mean over the {counts['auc_labels']:,} labels with both classes in this split)"
        table.add_row(label, percent(value))
    return table


def _parsed(name: str) -> names.Metric | None:
    """Parse a metric; None for a name that some other program wrote."""
    try:
        return names.parse_metric(name)
    except ConfigError:
        return None
