"""Labels that training never shows: which they are, how well scores rank them, and the page of the results.

The protocol of Chalkidis et al. (EMNLP 2020; the public code of that paper): RP@5 and nDCG@5 are means over the
documents that have at least one unseen label, of a ranking of unseen labels alone. Recall at 10 and at 50 counts
mentions: pairs of a document and an unseen label of it that are among the best 10 or 50 of the document's ranking.

    python benchmarks/zero_shot.py     # tables/zero_shot.json -> tables/zero_shot.md

Shapes: N documents, U unseen labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.data.label_names import LabelName, label_name_rows
from plant_plugin.data.tables import read_any
from plant_plugin.files import write_text

TABLES = Path(__file__).resolve().parent / "tables"
RESULTS, PAGE = TABLES / "zero_shot.json", TABLES / "zero_shot.md"
RECALLED, RANKED = (10, 50), 5
AMONG = {"used": "unseen labels of validation and test", "named": "all labels with a name that training does not show"}

Scores = npt.NDArray[np.floating]
Metrics = dict[str, float]


def zero_shot_metrics(scores: Scores, truth: npt.ArrayLike | sp.sparray) -> Metrics:
    """Return the metrics of a ranking of unseen labels, in percent, with the documents and mentions they are of.

    Args:
        scores: (N, U) of unseen labels; -inf where a label is not proposed. The first of equal ones comes first.
        truth: (N, U), which of them each document has.
    """
    true = sp.csr_array(truth).astype(bool)
    rows = np.flatnonzero(np.diff(true.indptr))
    true, wanted = true[rows], np.diff(true.indptr)[rows]
    best = np.argsort(-scores[rows], axis=1, kind="stable")[:, : max(RECALLED)]
    places = np.arange(len(rows))[:, None]
    hits = true.toarray()[places, best] & np.isfinite(scores[rows][places, best])
    metrics = {"documents": float(len(rows)), "mentions": float(wanted.sum())}
    for cutoff in RECALLED:
        metrics[f"recall@{cutoff}"] = 100 * float(hits[:, :cutoff].sum() / wanted.sum())
    discount = 1 / np.log2(np.arange(2, RANKED + 2))
    most, hits = np.minimum(wanted, RANKED), hits[:, :RANKED]
    metrics[f"RP@{RANKED}"] = 100 * float((hits.sum(axis=1) / most).mean())
    gains = (hits * discount[: hits.shape[1]]).sum(axis=1)
    metrics[f"nDCG@{RANKED}"] = 100 * float((gains / discount.cumsum()[most - 1]).mean())
    return metrics


@dataclass(frozen=True)
class Task:
    """A split of a data set whose unseen labels are to be found.

    Attributes:
        name: Of the data set.
        split: ``test``, or ``valid``.
        texts: Of the documents that have an unseen label.
        labels: Unseen ones, first those that validation or test documents have: columns of scores.
        used: How many these are.
        truth: (N, U) of the documents.
        names: Of unseen labels, all that they have.
    """

    name: str
    split: str
    texts: list[str]
    labels: list[str]
    used: int
    truth: sp.csr_array
    names: list[LabelName]


def read_task(data: Path, name: str, split: str, seen: Sequence[str]) -> Task:
    """Read a split (``test`` or ``valid``); labels of the files ``seen`` (``train``, ``valid``) are no unseen ones."""
    folder = data / name
    known = {label for file in seen for labels in read_any(folder / f"{file}.txt").labels for label in labels}
    documents = read_any(folder / f"{split}.txt")
    others = [file for file in ("valid", "test") if file not in seen and (folder / f"{file}.txt").is_file()]
    used = sorted(
        {label for file in others for each in read_any(folder / f"{file}.txt").labels for label in each} - known
    )
    names = [row for row in label_name_rows([str(folder / LABEL_NAMES)]) if row.label not in known]
    labels = used + sorted({row.label for row in names} - set(used))
    column_of = {label: column for column, label in enumerate(labels)}
    rows = [row for row, each in enumerate(documents.labels) if not known.issuperset(each)]
    cells = [(n, column_of[label]) for n, row in enumerate(rows) for label in set(documents.labels[row]) - known]
    places = np.array(cells).T
    truth = sp.csr_array((np.ones(len(cells), bool), (places[0], places[1])), shape=(len(rows), len(labels)))
    return Task(name, split, [documents.texts[row] for row in rows], labels, len(used), truth, names)


def evaluated(task: Task, scores: Scores) -> dict[str, Metrics]:
    """Return the metrics among used labels alone, and among all where there are more; scores (N, U) or of used ones."""
    metrics = {"used": zero_shot_metrics(scores[:, : task.used], task.truth[:, : task.used])}
    if task.used < len(task.labels) == scores.shape[1]:
        metrics["named"] = zero_shot_metrics(scores, task.truth)
    return metrics


def of_row(row: dict[str, Any]) -> tuple[str, ...]:
    """Return what a row of the page is of; results have one for each seed of it."""
    return row["data"], row["split"], row["among"], row["method"]


def keep(rows: Iterable[dict[str, Any]], path: Path = RESULTS) -> None:
    """Write rows beside those that are there; one of the same data set, split, labels, method and seeds is replaced."""

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return *of_row(row), tuple(row["seeds"])

    before = json.loads(path.read_text()) if path.is_file() else []
    kept_rows = {key(row): row for row in [*before, *rows]}
    write_text(path, json.dumps([kept_rows[each] for each in sorted(kept_rows)], indent=1) + "\n")


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page of the results."""
    lines = [
        "# Labels that training never shows, by their names alone", "",
        "Written by `benchmarks/zero_shot.py` from `zero_shot.json`. `names, trained` is ours, `label_set: named`: "
        "of CodiEsp whole models, of other data what they learn of names, fitted alone by "
        "`experiments/names_trained.py`, since network and planted scores say nothing of such labels. It ranks "
        "the labels that it proposes, of all that have a name, or where it is asked for used labels alone, of these; "
        "other methods rank every label. "
        "Nothing else here was trained: BM25 and cosines of "
        "sentences and names, the best of a label's names counting. RP@5 and nDCG@5 are means over documents that have "
        "an unseen label, recall is of mentions, all in %, of a ranking of unseen labels alone: those that validation "
        "or test documents have (used), or all that have a name (named).", "",
        "Chalkidis et al. 2019 (arXiv 1906.02192) and 2020 (arXiv 2010.01653) and Lu et al. 2020 (arXiv 2010.07459) "
        "publish results of EURLEX57K's unseen labels. Their tables could not be read where this page was made, so "
        "no number of theirs stands here.", "",
        "| data | split | labels | among | documents | mentions | method | seeds "
        "| RP@5 | nDCG@5 | recall@10 | recall@50 |",
        "|---|---|---|---:|---:|---:|---|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for of, same in groupby(rows, of_row):
        each = list(same)
        seeds = [len(row["seeds"]) for row in each]
        means = {
            metric: np.average([row["metrics"][metric] for row in each], weights=[max(1, count) for count in seeds])
            for metric in ("RP@5", "nDCG@5", "recall@10", "recall@50")
        }
        first = each[0]
        counts = (first["labels"], first["metrics"]["documents"], first["metrics"]["mentions"])
        cells = [*of[:3], *(f"{int(count):,}" for count in counts), of[3], str(sum(seeds) or "–")]
        lines.append(f"| {' | '.join([*cells, *(f'{mean:.1f}' for mean in means.values())])} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_text(PAGE, page(json.loads(RESULTS.read_text())))
