"""A comparison as Markdown, CSV, LaTeX, JSON or one self-contained HTML page."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from plant_plugin.report.compare import DOWN, UP, Cell, Table
from plant_plugin.report.published import Published

LATEX_MARKS = {UP: r"\,$\blacktriangle$", DOWN: r"\,$\blacktriangledown$", "": ""}
LATEX_ESCAPES = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", ">": r"\textgreater{}", "<": r"\textless{}",
})  # fmt: skip
GAINS = ("system", "metric", "gain", "95 % interval", "p, randomisation", "p, Wilcoxon", "p, 10 folds")
TESTED = ("gain", "low", "high", "p_randomisation", "p_wilcoxon", "p_folds")
CSV_COLUMNS = ("system", "metric", "seeds", "mean", "deviation", *TESTED, "mark", "best", "obstacle", "notes")
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
.up {{ color: #1a7f37; }} .down {{ color: #b42318; }} .apart {{ color: #888; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def number(cell: Cell) -> str:
    """Mean ± deviation in percent, one decimal; an en dash where there is none."""
    if cell.mean is None:
        return "–"
    mean = f"{100 * cell.mean:.1f}"
    return mean if cell.deviation is None else f"{mean} ± {100 * cell.deviation:.1f}"


def explanation(table: Table) -> str:
    """What the signs mean, in sentences."""
    return (
        f"Percent, mean ± standard deviation over seeds; bold: the best that can be compared. {UP} and {DOWN}: "
        f"significantly above or below {table.baseline}: approximate randomisation gives p < 0.05 and the 95 % "
        f"interval of the paired bootstrap excludes 0 ({table.resamples:,} resamples of the documents each; no "
        "correction for the number of comparisons; seeds are averaged, so the tests are about documents, not seeds; of "
        "the AUCs the interval alone). "
        "Wilcoxon's test is over documents, or labels for macro metrics, and over ten parts of the documents. "
        "†: this number and the baseline's cannot be compared as they stand, see the notes."
    )


def gains(table: Table) -> list[tuple[str, ...]]:
    """The columns of ``GAINS`` of every test, gains in points."""
    found: list[tuple[str, ...]] = []
    for (system, metric), cell in table.cells.items():
        if (test := cell.test) is not None:
            gain, low, high = (f"{100 * value:+.2f}" for value in (test.gain, test.low, test.high))
            randomisation, wilcoxon = ("–" if p is None else f"{p:.3f}" for p in (test.randomisation, test.wilcoxon))
            found.append((system, metric, f"{gain} {cell.mark}".strip(), f"{low} to {high}",
                          randomisation, wilcoxon, f"{test.folds:.3f}"))  # fmt: skip
    return found


def _rows(table: Table, text: Callable[[str], str], written: Callable[[Cell], str]) -> list[list[str]]:
    """A row for each system: its name, its number of seeds, a cell for each metric; then those of papers."""
    ours = [
        [text(name), text(str(table.seeds[name])), *(written(table.cells[name, metric]) for metric in table.metrics)]
        for name in table.systems
    ]
    theirs = table.published.rows if table.published else []
    return ours + [[text(row.name), text("–"), *(text(row.shown(m)) for m in table.metrics)] for row in theirs]


def markdown_rows(header: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, first column to the left."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *body]
    return ["| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines]


def markdown(table: Table) -> str:
    """The table, the gains and the notes."""

    def written(cell: Cell) -> str:
        text = f"**{number(cell)}**" if cell.best else number(cell)
        return f"{text} {cell.mark}".strip() + ("†" if cell.obstacle else "")

    rows = markdown_rows(["system", "seeds", *table.metrics], _rows(table, str, written))
    lines = [f"# {table.title}", "", explanation(table), "", *rows]
    if found := gains(table):
        lines += ["", f"Gain over {table.baseline}, in points:", "", *markdown_rows(GAINS, found)]
    if table.notes:
        lines += ["", *(f"- {note}." for note in table.notes)]
    if table.published:
        lines += published_lines(table.published)
    return "\n".join(lines) + "\n"


def published_lines(published: Published) -> list[str]:
    """What the rows of papers are, in Markdown."""
    return ["", f"{published.heading}:", "", *(f"- {note}." for note in published.notes)]


def comma_separated(table: Table) -> str:
    """One line for each system and metric, numbers as fractions; each with its system's or its papers' notes."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for (system, metric), cell in table.cells.items():
        tests = {column: getattr(cell.test, column.removeprefix("p_"), None) for column in TESTED}
        notes = [note.removeprefix(f"{system}: ") for note in table.notes if note.startswith(f"{system}: ")]
        writer.writerow({
            "system": system, "metric": metric, "seeds": table.seeds.get(system), "mean": cell.mean,
            "deviation": cell.deviation, **tests, "mark": cell.mark, "best": int(cell.best),
            "obstacle": cell.obstacle, "notes": "; ".join(notes),
        })  # fmt: skip
    if (papers := table.published) is not None:
        told = {"obstacle": papers.heading, "notes": "; ".join(papers.notes)}
        for row in papers.rows:
            values = {metric: row.value(metric) for metric in table.metrics}
            writer.writerows(
                {"system": row.name, "metric": metric, "mean": value, **told}
                for metric, value in values.items()
                if value is not None
            )
    return stream.getvalue()


def as_json(table: Table) -> str:
    """Everything, numbers as fractions."""
    cells = [{"system": s, "metric": m, **asdict(cell), "mark": cell.mark} for (s, m), cell in table.cells.items()]
    return json.dumps({**asdict(table), "cells": cells}, ensure_ascii=False, indent=1) + "\n"


def latex(table: Table) -> str:
    """Two ``tabular`` for booktabs and amssymb, of the numbers and of the gains, with the notes as comments."""

    def written(cell: Cell) -> str:
        text = number(cell).replace("±", r"$\pm$").replace("–", "--")
        text = rf"\textbf{{{text}}}" if cell.best else text
        return text + LATEX_MARKS[cell.mark] + (r"$^\dagger$" if cell.obstacle else "")

    def escaped(text: str) -> str:
        text = text.translate(LATEX_ESCAPES).replace("–", "--")
        return text.replace(f" {UP}", LATEX_MARKS[UP]).replace(f" {DOWN}", LATEX_MARKS[DOWN])

    rows = _rows(table, escaped, written)
    lines = [f"% {table.title}. {explanation(table)}", *_tabular("lr", ("system", "seeds", *table.metrics), rows)]
    if found := gains(table):
        tested = [[escaped(text) for text in row] for row in found]
        lines += [f"% Gain over {table.baseline}, in points.", *_tabular("ll", GAINS, tested)]
    lines += [f"% {note}." for note in (*table.notes, *_papers(table))]
    return "\n".join(line.replace("\n", " ") for line in lines) + "\n"


def _papers(table: Table) -> list[str]:
    return [] if table.published is None else [table.published.heading, *table.published.notes]


def _tabular(first: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose columns are numbers but for the first two; ``first`` is how these are aligned."""
    head = [text.translate(LATEX_ESCAPES) for text in header]
    begin = rf"\begin{{tabular}}{{{first}{'r' * (len(header) - 2)}}}"
    written = [" & ".join(row) + r" \\" for row in (head, *rows)]
    return [begin, r"\toprule", written[0], r"\midrule", *written[1:], r"\bottomrule", r"\end{tabular}"]


def page(table: Table, pictures: Mapping[str, bytes] | None = None) -> str:
    """One HTML page that needs no other file and runs no script; ``pictures`` are captions and SVG."""

    def plain(text: str) -> str:
        return f"<td>{html.escape(text)}</td>"

    rows = _rows(table, plain, _html_cell)
    body = f"<p>{html.escape(explanation(table))}</p>\n" + _html_table(("system", "seeds", *table.metrics), rows)
    if found := gains(table):
        body += f"\n<h2>Gain over {html.escape(table.baseline)}, in points</h2>\n"
        body += _html_table(GAINS, [[plain(text) for text in row] for row in found])
    for heading, notes in (("Notes", table.notes), ("Published", _papers(table))):
        if notes:
            listed = "".join(f"<li>{html.escape(note)}.</li>" for note in notes)
            body += f"\n<h2>{heading}</h2>\n<ul>{listed}</ul>"
    for caption, picture in (pictures or {}).items():
        encoded, text = base64.b64encode(picture).decode(), html.escape(caption)
        body += f'\n<figure><img alt="{text}" src="data:image/svg+xml;base64,{encoded}">'
        body += f"<figcaption>{text}</figcaption></figure>"
    return PAGE.format(title=html.escape(table.title), body=body)


def _html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are written already."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in header)
    body = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'


def _html_cell(cell: Cell) -> str:
    text = html.escape(number(cell))
    text = f"<b>{text}</b>" if cell.best else text
    if cell.mark:
        text += f' <span class="{"up" if cell.mark == UP else "down"}">{cell.mark}</span>'
    if cell.obstacle:
        return f'<td class="apart" title="{html.escape(cell.obstacle)}">{text}†</td>'
    return f"<td>{text}</td>"


FORMATS: dict[str, Callable[[Table], str]] = {
    ".md": markdown, ".csv": comma_separated, ".tex": latex, ".json": as_json, ".html": page,
}  # fmt: skip
