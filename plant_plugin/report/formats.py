"""A comparison as Markdown, JSON, CSV, LaTeX or one self-contained HTML page."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from plant_plugin.evaluation.verdict import FEWEST
from plant_plugin.report.compare import DOWN, UP, Cell, Table
from plant_plugin.report.published import Published
from plant_plugin.report.spreadsheets import no_formula

Bold = tuple[str, str]  # before and after a bold number
MARKDOWN_BOLD, HTML_BOLD = ("**", "**"), ("<b>", "</b>")
LATEX = str.maketrans(
    {"%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "±": r"$\pm$", "†": r"$^\dagger$", "–": "--",
     UP: r"$\blacktriangle$", DOWN: r"$\blacktriangledown$"}
)  # fmt: skip
GAINS = (
    "system",
    "metric",
    "gain",
    "95 % interval",
    "seeds",
    "verdict",
    "p, randomisation",
    "p, Wilcoxon",
    "p, 10 folds",
)
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #222; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
th, td {{ padding: .3rem .6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
figure {{ margin: 2rem 0; }}
img {{ max-width: 100%; height: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def number(cell: Cell) -> str:
    """Write mean ± deviation in percent, one decimal; an en dash where there is none."""
    if cell.mean is None:
        return "–"
    mean = f"{100 * cell.mean:.1f}"
    return mean if cell.deviation is None else f"{mean} ± {100 * cell.deviation:.1f}"


def written(cell: Cell, bold: Bold) -> str:
    """Write the number with its mark; bold where it is the best, † where it cannot be compared."""
    text = f"{bold[0]}{number(cell)}{bold[1]}" if cell.best else number(cell)
    return f"{text} {cell.mark}".strip() + ("†" if cell.obstacle else "")


def explanation(table: Table) -> str:
    """Say in sentences what the signs mean."""
    return (
        f"Percent, mean ± standard deviation over seeds; bold: the best that can be compared. {UP} and {DOWN}: better "
        f"or worse than {table.baseline}, which is said from {FEWEST} seeds on. Gains pair the runs of one seed: where "
        "one side has more seeds, those that both have count. Then the 95 % interval, over seeds and documents, "
        f"excludes 0, and approximate randomisation of documents gives p < 0.05 ({table.resamples:,} resamples each; "
        f"no correction for the number of comparisons). With fewer seeds the interval is over documents alone. "
        "Wilcoxon's test is over documents, or labels for macro metrics, and over ten parts of the documents. "
        "†: this number and the baseline's cannot be compared as they stand, see the notes."
    )


def header(table: Table) -> list[str]:
    """Return names of the columns of :func:`rows`."""
    return ["system", "seeds", *table.metrics]


def rows(table: Table, bold: Bold, text: Callable[[str], str] = str) -> list[list[str]]:
    """Return a row for each system: name, number of seeds, a cell for each metric; then one for each of papers.

    Args:
        table: The comparison.
        bold: What stands around the best numbers.
        text: Escapes names.
    """
    ours = [
        [text(name), str(table.seeds[name]), *(written(table.cells[name, metric], bold) for metric in table.metrics)]
        for name in table.systems
    ]
    theirs = table.published.rows if table.published else []
    return ours + [[text(row.name), "–", *(row.shown(metric) for metric in table.metrics)] for row in theirs]


def gains(table: Table) -> list[tuple[str, ...]]:
    """Return the columns of ``GAINS`` of every test, gains in points."""
    tested: list[tuple[str, ...]] = []
    for (system, metric), cell in table.cells.items():
        if (test := cell.test) is not None:
            gain, low, high = (f"{100 * value:+.2f}" for value in (test.gain, test.low, test.high))
            wilcoxon = "–" if test.wilcoxon is None else f"{test.wilcoxon:.3f}"
            tested.append((system, metric, gain, f"{low} to {high}", str(test.seeds), test.verdict,
                          f"{test.randomisation:.3f}", wilcoxon, f"{test.folds:.3f}"))  # fmt: skip
    return tested


def markdown_rows(columns: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Write a Markdown table, first column to the left."""
    lines = [columns, ["---"] + ["---:"] * (len(columns) - 1), *body]
    return ["| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines]


def markdown(table: Table) -> str:
    """Write table, gains and notes in Markdown."""
    lines = [f"# {table.title}", "", explanation(table), "", *markdown_rows(header(table), rows(table, MARKDOWN_BOLD))]
    if tested := gains(table):
        lines += ["", f"Gain over {table.baseline}, in points:", "", *markdown_rows(GAINS, tested)]
    if table.notes:
        lines += ["", *(f"- {note}." for note in table.notes)]
    if table.published:
        lines += published_lines(table.published)
    return "\n".join(lines) + "\n"


def published_lines(published: Published) -> list[str]:
    """Say in Markdown what the rows of papers are."""
    return ["", f"{published.heading}:", "", *(f"- {note}." for note in published.notes)]


def as_json(table: Table) -> str:
    """Write everything as JSON, numbers as fractions."""
    cells = [
        {"system": s, "metric": m, **asdict(cell), "mark": cell.mark, "verdict": cell.test and cell.test.verdict}
        for (s, m), cell in table.cells.items()
    ]
    return json.dumps({**asdict(table), "cells": cells}, ensure_ascii=False, indent=1) + "\n"


def page(table: Table, pictures: Mapping[str, bytes] | None = None) -> str:
    """Write one HTML page that needs no other file and runs no script; ``pictures`` are captions and SVG."""
    body = f"<p>{html.escape(explanation(table))}</p>\n" + _html_table(
        header(table), rows(table, HTML_BOLD, html.escape)
    )
    if tested := gains(table):
        body += f"\n<h2>Gain over {html.escape(table.baseline)}, in points</h2>\n"
        body += _html_table(GAINS, [[html.escape(text) for text in row] for row in tested])
    papers = [] if table.published is None else [table.published.heading, *table.published.notes]
    for heading, notes in (("Notes", table.notes), ("Published", papers)):
        if notes:
            listed = "".join(f"<li>{html.escape(note)}.</li>" for note in notes)
            body += f"\n<h2>{heading}</h2>\n<ul>{listed}</ul>"
    for caption, picture in (pictures or {}).items():
        encoded, text = base64.b64encode(picture).decode(), html.escape(caption)
        body += f'\n<figure><img alt="{text}" src="data:image/svg+xml;base64,{encoded}">'
        body += f"<figcaption>{text}</figcaption></figure>"
    return PAGE.format(title=html.escape(table.title), body=body)


def _html_table(columns: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Write a table of texts that are escaped."""
    import pandas

    frame = pandas.DataFrame(body, columns=[html.escape(column) for column in columns])
    with pandas.option_context("display.max_colwidth", None):
        return f'<div class="wide">{frame.to_html(index=False, escape=False, border=0)}</div>'


def as_csv(table: Table) -> str:
    """Write the rows as a spreadsheet reads them, means and deviations as one text."""
    import pandas as pd

    return pd.DataFrame(rows(table, ("", ""), no_formula), columns=header(table)).to_csv(index=False)


def latex(table: Table) -> str:
    """Write the rows as a LaTeX table, for ``booktabs``, the best numbers bold."""
    import pandas as pd

    cells = [[cell.translate(LATEX) for cell in row] for row in rows(table, (r"\textbf{", "}"))]
    names = [name.translate(LATEX) for name in header(table)]
    return pd.DataFrame(cells, columns=names).to_latex(index=False)


FORMATS: dict[str, Callable[[Table], str]] = {
    ".md": markdown, ".json": as_json, ".html": page, ".csv": as_csv, ".tex": latex,
}  # fmt: skip
