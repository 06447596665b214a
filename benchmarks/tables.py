"""Write ``benchmarks/tables`` from ``benchmarks/results``: a page for each data set and each experiment.

The README's tables are written too, between their marks, and the pages of speed and backbones from their measurements.
A page of results that are gone goes with them. Pages of other scripts hold what these measured, and are not made again.

    python benchmarks/tables.py            # write what is out of date (``made_from.py``)
    python benchmarks/tables.py --all      # write every page, to see that this machine comes to the same numbers
    python benchmarks/tables.py --check    # exit 1 where something is out of date; nothing is computed
    python benchmarks/tables.py --pictures eurlex6k codiesp-coding   # their pictures, to benchmarks/pictures

A page of the main comparison begins with the columns of papers on extreme classification.
Numbers are percent: mean ± standard deviation over seeds, or the one number there is. Thresholds of F1 are tuned on
validation (``@micro`` for micro-F1, ``@macro`` for macro-F1). Where per-document values were kept (``kept_results.py``)
the tests of ``plant compare`` are in the table.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from experiment_pages import (
    each,
    figures,
    gain_lines,
    gone,
    page,
    picture_lines,
    processors,
    rising,
    rows_of,
    sources,
    tested,
)  # fmt: skip
from kept_results import files_of, load_systems, names_in
from made_from import MadeFrom, digest, digest_of_code
from pictures import save_picture

from plant_plugin.report.compare import FIELDS
from plant_plugin.report.formats import markdown_rows
from plant_plugin.report.published import Published, content, published
from plant_plugin.report.systems import System

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "speed"))  # its scripts make their own pages
MORE = ("P@1", "P@5", "RP@5", "PSP@5", "nDCG@5", "Micro-F1@micro", "Macro-F1@macro", "Macro-F1-present@macro",
        "Macro-F1-caml@macro")  # fmt: skip
BINS = ("0", "1-5", "6-10", "11-50", "51-100", "101-500", ">500")
RARE = tuple(f"Macro-F1@macro:{name}" for name in ("1-5", "6-10"))
IN_README = {  # folder of results -> columns of its table in the README, between its marks
    "codiesp-coding": ["MAP-gold", "MAP", "P@1", "P@5", "Micro-F1@micro", "Macro-F1-present@macro", "training CPU s"],
}
SHOWN = {"codiesp-coding": "frequency.png", "eurlex6k": "frequency.svg"}  # in README.md and docs/method.md
MARK, END = "<!-- {}, written by benchmarks/tables.py -->\n", "<!-- end -->\n"
BASELINES = ("linear", "linear_tree")  # the first that has run on a data set
TWO_STAGES, ONE_STAGE = "plant_names", "end_to_end_names"  # does stage 1 pay in what is packaged?
MADE = "Made by `python benchmarks/tables.py`"
SPEED = {"speed.md": ("table", "results.json"), "backbones.md": ("backbones", "backbones.json")}  # script, record
EXPERIMENTS = yaml.safe_load((HERE / "experiments" / "experiments.yml").read_text(encoding="utf-8"))


def load(folder: Path, order: list[str]) -> list[System]:
    """The systems that have a result, in the given order and then by name."""
    place = {name: number for number, name in enumerate(order)}
    return sorted(load_systems(folder), key=lambda system: place.get(system.name, len(order)))


def published_of(name: str, definition: dict[str, Any]) -> Published | None:
    """What papers report of the data set of a page, where its experiment is to be set beside them."""
    benchmark = name.partition("-")[0]
    return published(benchmark) if definition.get("published") and benchmark in content().benchmarks else None


def table(dataset: str, systems: list[System], definition: dict[str, Any]) -> str:
    """The page of a data set: its main comparison, in the columns of its field."""
    papers = published_of(dataset, definition)
    shown = list(FIELDS["xmc"])
    more = [name for name in MORE if name not in shown]
    sizes = [str(system.told("counts", "labels")) for system in systems] + ["–"] * (len(papers.rows) if papers else 0)
    rows = rows_of(systems, [*shown, "minutes", "GiB"], papers)
    main = [[name, seeds, size, *cells] for (name, seeds, *cells), size in zip(rows, sizes, strict=True)]
    bins = rows_of(systems, [f"Macro-F1@macro:{name}" for name in BINS], None)
    baseline = next((name for name in BASELINES if name in {system.name for system in systems}), "")
    first = systems[0].results[0]
    counts = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in sorted(first["counts"].items()))
    lines = [
        f"# {dataset}", "",
        "Made by `python benchmarks/tables.py` from `benchmarks/results`; do not edit.", "",
        "Test split, percent. Thresholds tuned on validation. Time: whole run in minutes on the machine named in "
        "`benchmarks/README.md`; memory: peak resident GiB. "
        "L: labels that the system knows; Macro-F1 over all labels is a mean over L, so compare systems of another L "
        "by Macro-F1-present, whose labels are those of the test split that the system knows.", "",
        *markdown_rows(["system", "seeds", "L", *shown, "minutes", "GiB"], main), "",
        *sources(papers),
        *processors(systems),
        *rising(systems),
        *gone(systems, definition),
        "Other measures of the same runs:", "",
        *markdown_rows(["system", "seeds", *more], rows_of(systems, more, papers)), "",
        "Macro-F1@macro by number of training documents of a label:", "",
        *markdown_rows(["system", *BINS], [[name, *cells] for name, _, *cells in bins]), "",
        *(gain_lines(gains) if (gains := tested(systems, baseline, (*shown, *more, *RARE))) else []),
        *stage1_lines(systems, (*shown, *more, *RARE)),
        f"Counts ({systems[0].name}, first seed): {counts}.", "",
        *picture_lines(dataset, definition),
    ]  # fmt: skip
    return "\n".join(lines)


def stage1_lines(systems: list[System], metrics: Sequence[str]) -> list[str]:
    """The tests of two stages against one, where both have results."""
    pair = [system for system in systems if system.name in (TWO_STAGES, ONE_STAGE)]
    table = tested(pair, ONE_STAGE, metrics)
    return gain_lines(table) if table else []


def readme(text: str, name: str, systems: list[System]) -> str:
    """The README with a short form of a page's table and what its rows are between its marks, if it has these."""
    before, mark, rest = text.partition(MARK.format(name))
    if not mark:
        return text
    _, _, after = rest.partition(END)
    rows = rows_of(systems, IN_README[name], published_of(name, EXPERIMENTS[experiment_of(name)]))
    called = EXPERIMENTS[experiment_of(name)]["in_readme"].items()
    rows_are = [f"- `{variant}` is {words}." for variant, words in called if variant in {row[0] for row in rows}]
    lines = [*markdown_rows(["system", "seeds", *IN_README[name]], rows), "", *rows_are]
    table = "".join(f"{line}\n" for line in lines)
    return f"{before}{mark}{table}{END}{after}"


def experiment_of(name: str) -> str:
    """The experiment that a folder of results is of."""
    return name.partition("-")[2] or "main"


def variants_of(definition: dict[str, Any]) -> list[str]:
    """Folders of an experiment's results, in the order of its definition; last what is gone."""
    values = next(iter(definition.get("grid", {}).values()), [None])
    known = [name if value is None else f"{name}_{value:g}" for name in definition["variants"] for value in values]
    return [*known, *definition.get("gone", ())]


def write_page(folder: Path, tables: Path) -> None:
    """Write the page of an experiment and the picture of it that README or docs show."""
    name = folder.name
    definition = EXPERIMENTS[experiment_of(name)]
    systems = load(folder, variants_of(definition))
    if experiment_of(name) == "main":
        text = table(name, systems, definition)
    else:
        text = page(name, systems, definition, published_of(name, definition))
    path = tables / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if name in SHOWN:
        kind, _, _ = SHOWN[name].partition(".")
        save_picture(figures(systems, {**definition, "pictures": [kind]})[kind], tables / f"{name}_{SHOWN[name]}")


def write_pictures(folder: Path, pictures: Path) -> None:
    """Write all pictures of an experiment."""
    definition = EXPERIMENTS[experiment_of(folder.name)]
    for kind, figure in figures(load(folder, variants_of(definition)), definition).items():
        save_picture(figure, pictures / f"{folder.name}_{kind}.svg")


def write_pages(
    results: Path, tables: Path, *, check: bool = False, everything: bool = False, processes: int = 1
) -> list[str]:
    """Write the pages that are out of date, or all; with ``check`` only name them."""
    pages_made, code = MadeFrom(tables / "made_from.json"), digest_of_code()
    sources = {}
    for folder in (results / name for name in names_in(results)):
        definition = EXPERIMENTS[experiment_of(folder.name)]
        papers = published_of(folder.name, definition)
        sources_read = digest(results, files_of(folder), code, definition, papers and repr(papers))
        if everything or not pages_made.is_current(tables / f"{folder.name}.md", sources_read):
            sources[folder] = sources_read
    current = {f"{name}.md" for name in names_in(results)}
    gone = [
        path for path in tables.glob("*.md") if path.name not in current and MADE in path.read_text(encoding="utf-8")
    ]
    if check:
        return sorted([*(f"{folder.name}.md" for folder in sources), *(path.name for path in gone)])
    largest = {folder: sum(path.stat().st_size for path in files_of(folder)) for folder in sources}
    folders = sorted(sources, key=largest.__getitem__, reverse=True)  # the longest first
    each(write_page, [(folder, tables) for folder in folders], processes)
    for path in gone:
        path.unlink()
    if folders or gone:
        written = [(tables / f"{folder.name}.md", sources[folder]) for folder in folders]
        pages_made.write(written, [path.name for path in gone])
    return []


def write_speed(tables: Path, *, check: bool = False) -> list[str]:
    """Write the pages whose measurements are kept in ``speed``; with ``check`` only name those that are out of date."""
    stale = []
    for name, (script, record) in SPEED.items():
        made_by = importlib.import_module(script)
        text = made_by.page(json.loads((HERE / "speed" / record).read_text(encoding="utf-8")))
        path = tables / name
        if check and (not path.is_file() or path.read_text(encoding="utf-8") != text):
            stale.append(name)
        elif not check:
            path.write_text(text, encoding="utf-8")
    return stale


def main() -> int:
    """Write or check every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--pictures", nargs="+", metavar="NAME", help="of these results, to benchmarks/pictures")
    options = parser.parse_args()
    if options.pictures:
        for name in options.pictures:
            write_pictures(HERE / "results" / name, HERE / "pictures")
        return 0
    check = options.check
    stale = write_pages(HERE / "results", HERE / "tables", check=check, everything=options.all, processes=-1)
    stale += write_speed(HERE / "tables", check=check)
    path = HERE.parent / "README.md"
    text = path.read_text(encoding="utf-8")
    written = text
    for name in IN_README:
        if systems := load_systems(HERE / "results" / name, EXPERIMENTS[experiment_of(name)]["in_readme"]):
            written = readme(written, name, systems)
    if written != text and check:
        stale.append(path.name)
    elif written != text:
        path.write_text(written, encoding="utf-8")
    if stale:
        print(f"out of date: {', '.join(stale)}; run python benchmarks/tables.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
