"""The page of an experiment: its question, a table, what the paired tests say, and its pictures."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import numpy.typing as npt
from by_frequency import BINS, RANK, WRONG, near_misses, recall_by_frequency
from pictures import Line, frequency_picture, learning_curves, line_picture, violin_picture

from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.report.compare import Table, compare
from plant_plugin.report.formats import GAINS, explanation, gains, markdown_rows, published_lines
from plant_plugin.report.pictures import gains_picture
from plant_plugin.report.published import Published
from plant_plugin.report.systems import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WATCHED = "nDCG@5"  # of validation, epoch by epoch: every run has it
FEW = (1, 5)  # training documents of a rare label in the main comparison
COMMON = 0.01  # share of the training documents from which a label is common in the transfer experiment
MOST_LINES = 7  # as many colours as there are
WHERE = {
    False: "Test split, thresholds tuned on validation",
    True: "Validation documents, thresholds tuned on the same",
}
NOT_NOTED = "not noted"
TESTING = ("test", "libmultilabel_test")  # phases of a run in which the test split is scored
AXES = {"attention-nDCG": "nDCG@K of the attention after stage 1, validation (%)"}


def each(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], processes: int) -> list[Any]:
    """What a function returns of each call, so many at a time (-1: a process for each core, of one thread each)."""
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        return joblib.Parallel(processes)(joblib.delayed(function)(*call) for call in calls)


def label_f1(documents: PerDocument) -> npt.NDArray[np.float64]:
    """F1 of each label of the test split, (L,), at the threshold for macro-F1 (else 0.5); NaN for labels never true."""
    chosen = documents.predicted.get("macro", documents.predicted["0.5"])
    true, predicted = (np.asarray(pairs.sum(axis=0)).ravel() for pairs in (documents.truth, chosen))
    hit = np.asarray(chosen.multiply(documents.truth).sum(axis=0)).ravel()
    return np.where(true > 0, 2 * hit / np.maximum(true + predicted, 1), np.nan)


def rare_f1(system: System, lowest: float, highest: float) -> list[npt.NDArray[np.float64]]:
    """Seed by seed, F1 of the labels of the test split with so many training documents, both ends included."""
    rows = []
    for documents in system.documents:
        values, counts = label_f1(documents), documents.train_counts
        assert counts is not None
        rows.append(values[(counts >= lowest) & (counts <= highest) & ~np.isnan(values)])
    return rows


def peak(result: Mapping[str, Any]) -> float | None:
    """Peak memory of the run in MB."""
    memory = result["peak_memory_mb"]
    return memory.get("total") if isinstance(memory, dict) else memory


def _training_seconds(result: Mapping[str, Any]) -> float:
    """Processor seconds of all but testing: reading, training, choosing thresholds."""
    seconds = result["cpu_s"]
    return float(seconds["total"] - sum(seconds.get(phase, 0.0) for phase in TESTING))


def _on_processor(result: Mapping[str, Any]) -> bool:
    """Whether its processor seconds and main memory tell what the run cost."""
    return bool(result.get("device", "cpu") == "cpu")


def _counted(result: Mapping[str, Any]) -> bool:
    """Whether it has processor seconds, which early results have not."""
    return "cpu_s" in result and _on_processor(result)


COSTS: dict[str, Callable[[Mapping[str, Any]], float | None]] = {
    "training CPU s": lambda result: _training_seconds(result) if _counted(result) else None,
    "minutes": lambda result: result["time_s"]["total"] / 60,
    "GiB": lambda result: memory / 1024 if _on_processor(result) and (memory := peak(result)) is not None else None,
    "CPU ms a case": lambda result: (
        1000 * result["cpu_s"]["test"] / result["counts"]["documents"] if _counted(result) else None
    ),
}


PROMISED = ("promise 0.8", "promise 0.9", "promise 0.95")


def _machine(result: Mapping[str, Any]) -> tuple[str, int]:
    """The processor's name, which may be that of many kinds, and its cores; of a run on a GPU that one's name and 0."""
    device, processor = str(result.get("device", "cpu")), result.get("processor", {"name": "", "cores": 0})
    return (processor["name"], processor["cores"]) if device == "cpu" else (device, 0)


def column(system: System, name: str) -> list[float]:
    """A column's value of every seed that has it, as fractions; costs in their own unit.

    Costs are of the runs on one machine: that of most of them, of the first where several have as many.
    """
    if name in COSTS:
        usual = Counter(map(_machine, system.results)).most_common(1)[0][0]
        runs = [result for result in system.results if _machine(result) == usual]
        return [value for result in runs if (value := COSTS[name](result)) is not None]
    if name in ("rare-F1", "common-F1"):
        limit = COMMON * (system.documents[0].num_train or 0) if system.documents else 0.0
        ends = (0, np.nextafter(limit, 0)) if name == "rare-F1" else (limit, np.inf)
        return [float(values.mean()) for values in rare_f1(system, *ends) if len(values)]
    if name == "attention-nDCG":
        epochs = [result.get("epochs", {}).get("stage1", []) for result in system.results]
        return [max(value for epoch in found for value in epoch.values()) for found in epochs if found]
    if name == "validation-Macro-F1":
        return [result["validation"]["Macro-F1@macro"] for result in system.results if "validation" in result]
    summaries = [result.get("attention", {}).get("summary", {}) for result in system.results]
    if any(name in summary for summary in summaries):
        return [summary[name] for summary in summaries if summary.get(name) is not None]
    return system.values(name)


def cell(values: list[float], scale: float = 100.0) -> str:
    """Mean ± deviation."""
    if not values:
        return "–"
    mean = f"{scale * statistics.fmean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {scale * statistics.stdev(values):.1f}"


def rows_of(systems: list[System], columns: list[str], published: Published | None) -> list[list[str]]:
    """Name, number of seeds and columns of each system, and of what others have published."""
    ours = [
        [system.name, str(len(system.results)),
         *(cell(column(system, name), 1.0 if name in COSTS else 100.0) for name in columns)]
        for system in systems
    ]  # fmt: skip
    theirs = published.rows if published else []
    return ours + [[row.name, "–", *(row.shown(name) for name in columns)] for row in theirs]


def baseline_of(systems: list[System], definition: Mapping[str, Any]) -> str:
    """The baseline of the tests; of a list the first that has a result, empty where none has."""
    named = definition.get("baseline", [])
    run = {system.name for system in systems}
    return next((name for name in ([named] if isinstance(named, str) else named) if name in run), "")


def sources(published: Published | None) -> list[str]:
    """Where the published rows come from and how they differ."""
    return [*published_lines(published)[1:], ""] if published else []


def tested(systems: list[System], baseline: str, metrics: Iterable[str]) -> Table | None:
    """What the paired tests of ``plant compare`` say, of the systems whose per-document values are beside them."""
    with_documents = [system for system in systems if system.documents]
    if baseline not in {system.name for system in with_documents} or len(with_documents) < 2:
        return None
    return compare(
        with_documents, baseline, metrics=[name for name in metrics if any(s.values(name) for s in with_documents)]
    )


def gain_lines(table: Table) -> list[str]:
    """The tests as Markdown."""
    heading = f"Gain over {table.baseline}, in points, where per-document values were kept. {explanation(table)}"
    notes = [f"- {note}." for note in table.notes]
    return ["", heading, "", *markdown_rows(list(GAINS), [list(row) for row in gains(table)]), "", *notes, ""]


def titled(systems: list[System], text: str) -> str:
    """With the data set's name before it."""
    return f"{systems[0].told('dataset')}: {text}"


def drawn(systems: list[System], definition: Mapping[str, Any]) -> list[System]:
    """The systems that pictures show, in the order of the definition; all where it names none."""
    if "drawn" not in definition:
        return systems
    by_name = {system.name: system for system in systems}
    return [by_name[name] for name in definition["drawn"] if name in by_name]


def grid_picture(systems: list[System], definition: Mapping[str, Any]) -> Figure:
    """A panel for each column, a line for each variant, over the values of the grid."""
    panels: dict[str, dict[str, Line]] = {}
    variants = dict.fromkeys(system.told("experiment", "variant") for system in systems)
    for name in definition["columns"]:
        lines = panels.setdefault(AXES.get(name, f"{name} in the test split (%)"), {})
        for variant in variants:
            found = []
            for system in systems:
                if system.told("experiment", "variant") == variant and (values := column(system, name)):
                    x = system.told("experiment", "training_documents") or system.told("experiment", "value")
                    found.append((float(x), [100 * value for value in values]))
            found.sort()
            spread = [statistics.stdev(values) if len(values) > 1 else 0.0 for _, values in found]
            lines[variant] = Line([(x, statistics.fmean(values)) for x, values in found], spread)
    logarithmic = definition.get("logarithmic", False)
    title = titled(systems, definition["question"])
    return line_picture(panels, title=title, x=definition["axis"], logarithmic=logarithmic)


def rare_picture(systems: list[System], definition: Mapping[str, Any]) -> Figure | None:
    """The distribution of F1 over the labels with one to five training documents, all seeds together."""
    groups = {
        system.name: [100 * float(value) for values in rare_f1(system, *FEW) for value in values]
        for system in drawn(systems, definition)
        if system.documents and system.documents[0].train_counts is not None
    }
    if not any(groups.values()):
        return None
    title = titled(systems, f"F1 of each label with {FEW[0]} to {FEW[1]} training documents")
    return violin_picture(
        groups, title=title, x="system (n: labels, all seeds; width: share of labels)", y="F1 in the test split (%)"
    )


def consistency_picture(systems: list[System], definition: Mapping[str, Any]) -> Figure | None:
    """How alike a label's attention is across its documents, of rare and of common labels."""
    groups: dict[str, list[float]] = {}
    for system in systems:
        for kind in ("rare", "common"):
            lists = [result.get("attention", {}).get("across_documents", {}).get(kind, []) for result in system.results]
            groups[f"{system.name},\n{kind} labels"] = [value for values in lists for value in values]
    if not any(groups.values()):
        return None
    title = titled(systems, "how alike a label's attention is from document to document")
    return violin_picture(
        groups, title=title, x="strategy and labels (n: labels, all seeds; width: share of labels)", y="mean cosine"
    )


def gain_picture(systems: list[System], definition: Mapping[str, Any]) -> Figure | None:
    """Gains over the baseline."""
    table = tested(systems, baseline_of(systems, definition), definition["columns"])
    if table and definition.get("on_validation"):  # the results call what they were tested on the test split
        table.title = table.title.replace("test split", "validation documents")
    return None if table is None else gains_picture(table, [n for n in definition["columns"] if n in table.metrics][:4])


def curves(systems: list[System], definition: Mapping[str, Any]) -> Figure:
    """Validation beside training, the first seed of each."""
    title = titled(systems, definition["question"])
    return learning_curves({system.name: system.results[0] for system in systems}, ["Loss", "P@15"], title=title)


PICTURES: dict[str, Callable[[list[System], Mapping[str, Any]], Any]] = {
    "frequency": lambda systems, definition: frequency_picture(
        drawn(systems, definition)[:MOST_LINES],
        title=titled(systems, definition.get("heading", "F1 by frequency of the label")),
    ),
    "rare_labels": rare_picture,
    "consistency": consistency_picture,
    "gains": gain_picture,
    "grid": grid_picture,
    "learning_curves": curves,
}


def figures(systems: list[System], definition: Mapping[str, Any]) -> dict[str, Figure]:
    """Kind of picture -> picture, of those that the results allow."""
    drawn = {kind: PICTURES[kind](systems, definition) for kind in definition["pictures"]}
    return {kind: figure for kind, figure in drawn.items() if figure is not None}


def not_run(systems: list[System], definition: Mapping[str, Any]) -> list[str]:
    """A sentence on the variants that have no result, if there are any."""
    run = {system.told("experiment", "variant") or system.name for system in systems}
    missing = [name for name in definition["variants"] if name not in run]
    return [f"Not run: {', '.join(missing)}.", ""] if missing else []


def gone(systems: list[System], definition: Mapping[str, Any]) -> list[str]:
    """A sentence on the systems that the package no longer has, and why, if there are any."""
    of: dict[str, list[str]] = {}
    for system in systems:
        if why := definition.get("gone", {}).get(system.name):
            of.setdefault(why, []).append(system.name)
    reasons = "; ".join(f"{', '.join(names)} ({why})" for why, names in of.items())
    return [f"No longer in the package or its trials: {reasons}.", ""] if reasons else []


def processors(systems: list[System]) -> list[str]:
    """A sentence on the processors that the runs were made on; results of before they were noted say nothing."""
    of: dict[str, dict[str, None]] = {}
    for system in systems:
        for result in system.results:
            name, cores = _machine(result)
            processor = f"{name}, {cores} core{'s' * (cores > 1)}" if cores else name or NOT_NOTED
            of.setdefault(processor, {})[system.name] = None
    if set(of) <= {NOT_NOTED}:
        return []
    parts = [f"{processor}: {', '.join(names)}" for processor, names in sorted(of.items())]
    several = any(len(set(map(_machine, system.results))) > 1 for system in systems)
    alone = (
        " Times and memory of a system with runs on several are of the one that most of them had." if several else ""
    )
    return [f"Processors: {'; '.join(parts)}.{alone}", ""]


def rising(systems: list[System]) -> list[str]:
    """A sentence on the systems of which most seeds were best in their last epoch, if there are any."""
    rising_runs = []
    for system in systems:
        epochs = [[epoch[WATCHED] for epoch in result.get("epochs", {}).get("val", []) if WATCHED in epoch]
                  for result in system.results]  # fmt: skip
        last = [values[-1] == max(values) for values in epochs if len(values) > 1]
        if 2 * sum(last) > len(last):
            rising_runs.append(system.name)
    names = ", ".join(rising_runs)
    sentence = f"Best on validation ({WATCHED}) in the last of their epochs, so that more might gain: {names}."
    return [sentence, ""] if rising_runs else []


def page(name: str, systems: list[System], definition: Mapping[str, Any], published: Published | None = None) -> str:
    """The Markdown page of an experiment other than the main comparison."""
    columns = definition["columns"]
    rows = rows_of(systems, [*columns, "minutes"], published)
    lines = [
        f"# {name}", "", "Made by `python benchmarks/tables.py` from `benchmarks/results`; do not edit.", "",
        f"**{definition['question']}** {definition.get('note', '')}".strip(), "",
        f"{WHERE[bool(definition.get('on_validation'))]}, percent; whole run in minutes.", "",
        *markdown_rows(["variant", "seeds", *columns, "minutes"], rows), "",
        *sources(published),
        *(frequency_lines(systems) if definition.get("by_frequency") else []),
        *promise_lines(systems),
        *processors(systems),
        *rising(systems),
        *gone(systems, definition),
        *not_run(systems, definition),
    ]  # fmt: skip
    if (baseline := baseline_of(systems, definition)) and (found := tested(systems, baseline, columns)):
        lines += gain_lines(found)
    lines += picture_lines(name, definition)
    return "\n".join(lines)


def promise_lines(systems: list[System]) -> list[str]:
    """What promises reached on documents of the test, `plant predict --promise 0.9`, and the error of probabilities.

    Of a system's runs those that promised something, where some did; a page where none did has no such lines.
    """
    rows = []
    for system in systems:
        measured = [result for result in system.results if result.get("calibration") or "promises" in result]
        runs = [result for result in measured if "promises" in result] or measured
        promises = [result.get("promises", {}) for result in runs]
        found = [[promise[name] for promise in promises if name in promise] for name in PROMISED]
        errors = [result["calibration"] for result in runs if result.get("calibration")]
        if runs:
            rows.append([system.name, str(len(runs)), *(cell([each["listed"] for each in one]) for one in found),
                         *(cell([each["labels"] for each in one], 1.0) for one in found),
                         *(f"{100 * statistics.fmean(one[name] for one in errors):.2f}" if errors else "–"
                           for name in ("ECE", "ECE_predicted"))])  # fmt: skip
    if not any("promises" in result for system in systems for result in system.results):
        return []
    header = [f"{what}, {float(name.split()[1]):.0%}" for what in ("listed", "labels") for name in PROMISED]
    return [
        "Promises (`plant predict --promise`, `docs/metrics.md`): the share of a document's true labels that is listed "
        "where so much was promised by validation documents, and how many labels are listed for that; means over test "
        "documents. Labels that a variant cannot say are no part of it; a dash where none was made. ECE: how far "
        "probabilities are from the share that is true, in ten bins, of all pairs of a document and a label, and of "
        "those of 0.5 and more.", "",
        *markdown_rows(["variant", "seeds", *header, "ECE", "ECE, 0.5 and more"], rows), "",
        *drawn_anew_lines(systems),
    ]  # fmt: skip


def drawn_anew_lines(systems: list[System]) -> list[str]:
    """How far promises are off by chance, where that was measured: `drawn_anew.py`."""
    rows = [
        [system.name, name.split()[1], *(f"{100 * found[of]:.1f}" for of in ("mean", "deviation", "near"))]
        for system in systems
        for name, found in system.results[0].get("drawn_anew", {}).items()
        if name in PROMISED
    ]
    if not rows:
        return []
    text = (
        "The same where validation and test documents are put together and drawn apart anew, 200 times: what is "
        "listed, its standard deviation over draws, and the share of draws within two points of what was promised."
    )
    return [text, "", *markdown_rows(["variant", "promised", "listed", "deviation", "within 2 points"], rows), ""]


def frequency_lines(systems: list[System]) -> list[str]:
    """What is found of labels of few and of many training documents, and how near wrong ones are."""
    rows = []
    for system in (system for system in systems if system.documents):
        recalls = [recall_by_frequency(documents) for documents in system.documents]
        misses = [near_misses(documents) for documents in system.documents]
        found = [[recall[name][0] for recall in recalls if name in recall] for name in BINS]
        mentions = ", ".join(str(recalls[0].get(name, (0, 0))[1]) for name in BINS)
        rows.append(
            [system.name, *map(cell, [*found, *(list(shares) for shares in zip(*misses, strict=True))]), mentions]
        )
    heading = ["variant", *(f"R@{RANK}, {name}" for name in BINS), f"wrong of {WRONG}", "of these near", "mentions"]
    text = (
        f"Recall of true labels among the best {RANK}, by how many training documents they have. Of the best {WRONG} "
        "labels the share that is wrong, and of these the share in the category (three characters) of a true one. "
        "Mentions: true labels of each kind, of the first seed; a variant that cannot say a label has none of it."
    )
    return [text, "", *markdown_rows(heading, rows), ""] if rows else []


def picture_lines(name: str, definition: Mapping[str, Any]) -> list[str]:
    """How to make the pictures of an experiment, if it has any."""
    kinds = ", ".join(kind.replace("_", " ") for kind in definition["pictures"])
    return [f"Pictures ({kinds}): `python benchmarks/tables.py --pictures {name}`.", ""] if kinds else []
