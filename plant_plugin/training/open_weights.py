"""Choose on validation documents how what names say joins the logits of a model.

Shapes: N documents, K labels of training, U that only a name makes known, E scores of documents and labels.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from plant_plugin.data.label_names import LabelName
from plant_plugin.evaluation.ranking import average_precisions, top_labels, with_unranked
from plant_plugin.relevance.names.open_labels import ARRAYS, FLOOR, OpenLabels, read_weights
from plant_plugin.relevance.phrases import Phrases
from plant_plugin.report.record import FIRST_PASS
from plant_plugin.report.run import Run
from plant_plugin.training.inputs import Encoded, Floats
from plant_plugin.training.log_odds import log_odds_of
from plant_plugin.training.open_labels import OpenScoring, widened
from plant_plugin.training.scoring import Scoring

MOST = 1000  # validation documents that are read
KEPT = 300  # labels of training that rank above all others of a document there
# Tried w, in units of log odds, and a and b on the scale on which the logits of known labels are log odds.
KNOWN, SLOPES, SHIFTS = (0.0, 0.1, 0.2, 0.3, 0.5), (0.4, 0.6, 0.8, 1.0), (-1.5, -0.75, 0.0, 0.75, 1.5)


def with_open_labels(scoring: Scoring, rows: Sequence[LabelName] | None, phrases: Phrases | None) -> Scoring:
    """Return a scoring of every label that has a name; without ``rows``, its names, the same scoring.

    The weights are those with the best MAP-gold on validation documents; without such documents those of a first
    training, where there was one, or else the log odds of names stay as they are.
    """
    if rows is None:
        return scoring
    run = scoring.run
    open_labels = _fitted(scoring.documents, rows, phrases, run)
    weights = _weights(scoring, open_labels)
    run.log("names: " + ", ".join(f"{name} {value:.3g}" for name, value in weights.items()))
    return OpenScoring.of(scoring, open_labels.with_weights(weights))


def _fitted(documents: Encoded, rows: Sequence[LabelName], phrases: Phrases | None, run: Run) -> OpenLabels:
    """Learn what names say from the training split."""
    with run.phase("names"):
        train, labels = documents.corpus.train, documents.corpus.label_names
        seed = torch.initial_seed() % 2**32  # the run's
        fitted = OpenLabels.fit(rows, labels, train.texts, train.labels, train.evidence, phrases, seed)
        run.log(f"labels: {len(labels):,} of training, and {len(fitted.added):,} that only their names make known")
        return fitted


def _weights(scoring: Scoring, open_labels: OpenLabels) -> dict[str, float]:
    """Return the best weights by name, none where nothing says which they are."""
    if not scoring.validation:
        first = scoring.run.folder / FIRST_PASS
        return read_weights(first) if (first / ARRAYS).is_file() else {}
    with scoring.run.phase("names"):
        entries = _Entries(scoring, open_labels)
        scale, constant = log_odds_of(entries.scores[entries.trained], entries.true[entries.trained])
        tried = [
            {"known": known / scale, "slope": slope / scale, "shift": (shift - constant) / scale}
            for known, slope, shift in itertools.product(KNOWN, SLOPES, SHIFTS)
        ]
        return max(tried, key=entries.map_gold)


class _Entries:
    """The scores of validation documents for the best labels of training and all candidates, each array (E,)."""

    def __init__(self, scoring: Scoring, open_labels: OpenLabels) -> None:
        documents = widened(scoring.documents, open_labels)
        parts: list[tuple[npt.NDArray[np.int64], Floats, Floats]] = []
        numbers: list[int] = []
        for scores, _, batch in scoring.summed("val", scoring.validation):
            top = top_labels(sp.csr_matrix(scores) if sp.issparse(scores) else scores, min(KEPT, scores.shape[1]))
            texts = documents.texts("val", batch)
            for row, text in enumerate(texts[: MOST - len(numbers)]):
                best = top[row][top[row] < scores.shape[1]]
                best = best[~open_labels.by_name[best]]
                proposed = open_labels.propose(text)
                dense = scores[[row]].toarray()[0] if sp.issparse(scores) else scores[row]
                known = ~open_labels.by_name[proposed.columns]
                columns = np.union1d(best, proposed.columns[known])
                odds = np.full(len(columns), FLOOR, np.float32)
                odds[np.searchsorted(columns, proposed.columns[known])] = proposed.log_odds[known]
                unseen, nothing = proposed.columns[~known], np.full((~known).sum(), np.nan, np.float32)
                parts.append((np.concatenate([columns, unseen]), np.concatenate([dense[columns], nothing]),
                              np.concatenate([odds, proposed.log_odds[~known]])))  # fmt: skip
            numbers += batch.tolist()[: MOST - len(numbers)]
        self.columns, self.scores, self.odds = (np.concatenate(values) for values in zip(*parts, strict=True))
        self.offsets = np.cumsum([0, *(len(columns) for columns, _, _ in parts)])
        self.trained = ~np.isnan(self.scores)
        self.truth = sp.csr_matrix(documents.labels["val"][numbers])
        self.wanted = np.diff(self.truth.indptr) + documents.outside("val")[numbers]
        rows = np.repeat(np.arange(len(numbers)), np.diff(self.offsets))
        self.true = np.asarray(self.truth[rows, self.columns]).ravel() > 0

    def map_gold(self, weights: dict[str, float]) -> float:
        """Compute MAP-gold with some weights."""
        of_names = weights["slope"] * self.odds + weights["shift"]
        of_trained = self.scores + weights["known"] * np.maximum(0, self.odds - FLOOR)
        scores = np.where(self.trained, of_trained, of_names).astype(np.float32)
        matrix = sp.csr_matrix((scores, self.columns, self.offsets), shape=self.truth.shape)
        precisions = average_precisions(matrix, self.truth)
        return float(np.nanmean(with_unranked(precisions, np.diff(self.truth.indptr), self.wanted)))
