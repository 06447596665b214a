"""Promises by group of documents: a threshold for each third of the lengths, or each value of a table's column.

A promise is a mean over all documents: it may hold because much is listed of short notes and little of long ones, or of
one ward and not of another. With a threshold for each group, chosen on its own held-out documents by the same rules, it
holds in each (:mod:`plant_plugin.evaluation.promises`). So each group needs as many documents as a promise does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit

from plant_plugin.data.rows import Document
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.promises import PROMISE, Lists, Outcome, named
from plant_plugin.model.predictor import Prediction, Predictor
from plant_plugin.model.trained import in_chunks
from plant_plugin.report.label_statistics import read_train_counts

LENGTH = "length"
THIRDS = ("short", "middle", "long")


@dataclass
class Grouped(Document):
    """A document with its value of a column."""

    group: str = ""


@dataclass(frozen=True)
class GroupThresholds:
    """A threshold for each group.

    Attributes:
        promised: The name of what each promises, ``promise 0.9``.
        probabilities: Of each group's name.
        longest: Characters of a text that is still ``short``, and of one that is still ``middle``; empty: groups are
            values of a column.
    """

    promised: str
    probabilities: dict[str, float]
    longest: tuple[int, ...] = ()

    def predicted(
        self, predict: Callable[..., list[Prediction]], documents: Sequence[Document], top: int | None
    ) -> list[Prediction]:
        """Predict documents, each at the threshold of its group.

        Raises:
            DataError: A document of a group that has no threshold.
        """
        places: dict[str, list[int]] = {}
        for place, document in enumerate(documents):
            places.setdefault(self._group(document), []).append(place)
        found: dict[int, Prediction] = {}
        for group, of_group in places.items():
            texts = [documents[place].text for place in of_group]
            predictions = predict(texts, threshold=self.probabilities[group], top=top)
            found.update(zip(of_group, predictions, strict=True))
        return [found[place] for place in range(len(documents))]

    def _group(self, document: Document) -> str:
        group = document.group if isinstance(document, Grouped) else ""
        if self.longest:  # held-out texts of one length are all short
            group = THIRDS[bisect_left(self.longest, len(document.text))]
        if group not in self.probabilities:
            fix = "leave it out, or name held-out documents of its group too"
            raise DataError("no held-out document is of its group", where=f"document {document.number}", fix=fix)
        return group


def longest_of(texts: Sequence[str]) -> tuple[int, ...]:
    """Return the characters of the longest text of the first third, and of the second, by length."""
    return tuple(int(length) for length in np.quantile([len(text) for text in texts], (1 / 3, 2 / 3), method="lower"))


def chosen(
    predictor: Predictor, texts: Sequence[str], labels: Sequence[Sequence[str]], groups: Sequence[str] | None,
    kind: str, share: float,
) -> tuple[GroupThresholds, dict[str, Outcome]]:  # fmt: skip
    """Choose the threshold of each group on held-out documents.

    Args:
        predictor: A model that was not trained on them.
        texts: N.
        labels: The true ones; what the model does not know is not promised.
        groups: Of each text; None: by length.
        kind: ``promise`` or ``accept``.
        share: Of the true labels that are listed, or of the listed ones that are true.

    Returns:
        The thresholds, and what each does to the held-out documents of its group.

    Raises:
        ConfigError: A group has too few documents, or none of its thresholds shows it; with the number needed.
    """
    longest = longest_of(texts) if groups is None else ()
    of_text = [THIRDS[bisect_left(longest, len(text))] for text in texts] if groups is None else groups
    known = _known(predictor)
    lists = {group: Lists(known) for group in (THIRDS if groups is None else sorted({*groups}))}
    for chunk in in_chunks(range(len(texts)), predictor.batch_size):
        logits = predictor.logits([texts[place] for place in chunk])
        true = _true(predictor, [labels[place] for place in chunk])
        names = np.array([of_text[place] for place in chunk])
        for group, those in lists.items():
            if (rows := np.flatnonzero(names == group)).size:
                those.update(logits[rows], true[rows])
    name = named(kind, share)
    of_group = {group: those.thresholds() for group, those in lists.items() if those.documents}
    if unmet := [outcomes[name] for limits, outcomes in of_group.values() if name not in limits]:
        raise _refused(unmet, len(of_group), kind, share)
    probabilities = {group: float(expit(limits[name])) for group, (limits, _) in of_group.items()}
    return GroupThresholds(name, probabilities, longest), {
        group: outcomes[name] for group, (_, outcomes) in of_group.items()
    }


def _known(predictor: Predictor) -> npt.NDArray[np.bool_] | None:
    """Return which labels the model knows by a training document or a name, (L,); None: nothing says it, so all."""
    trained = predictor.num_trained
    counts = read_train_counts(predictor.folder, predictor.labels[:trained])
    if counts is None:
        return None
    known = np.ones(len(predictor.labels), bool)
    known[:trained] = counts > 0
    return known if predictor.open_labels is None else known | predictor.open_labels.by_name


def _true(predictor: Predictor, labels: Sequence[Sequence[str]]) -> sparse.csr_array:
    pairs = [
        (row, predictor.column_of[label])
        for row, names in enumerate(labels)
        for label in set(names)
        if label in predictor.column_of
    ]
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    return sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), (len(labels), len(predictor.labels)))


def _refused(unmet: Sequence[Outcome], groups: int, kind: str, share: float) -> ConfigError:
    """Return the error; it names no group, which a column of ids would make one of each patient."""
    smallest = min(outcome["documents"] for outcome in unmet)
    what = f"{len(unmet)} of {groups} groups cannot be promised {share:g}"
    what += f": documents with a label in the smallest: {smallest}"
    if needs := max((outcome.get("needs", 0) for outcome in unmet), default=0):
        unit = "documents" if kind == PROMISE else "labels above 0.5"
        what += f", and {needs} {unit} could show it"
    fix = "promise less, give more held-out documents, or put groups together"
    return ConfigError(what, where="--promise-by", fix=fix)
