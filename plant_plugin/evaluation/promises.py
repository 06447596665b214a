"""Thresholds that promise something: that nine of ten true labels are listed, or that 98 of 100 listed ones are true.

*A promise p*: of a document's true labels the share p is listed, on average over documents. Conformal risk control
takes the highest threshold with (n R + 1) / (n + 1) <= 1 - p, where R is the mean share that n validation documents
miss. It holds in expectation where new documents are drawn as these were. A label that neither a training document nor
a name makes known is not promised, so it does not count as true; documents without a true label say nothing.

*Acceptance a*: of all labels above the threshold the share a is true, with a confidence of 90 %. Thresholds are tried
from the highest that could show it downwards, and the last before the first failure is taken (fixed-sequence testing).
One fails where the binomial test of its labels does not reject a lower share, or the t-test over documents does not,
whose labels are not independent.

Sources: Angelopoulos et al. 2024, "Conformal risk control", Theorem 1; Angelopoulos et al. 2021, "Learn then test", on
fixed-sequence testing.

Shapes: B documents, L labels, E pairs of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import bdtr, stdtr  # scipy.stats takes half a second
from typing_extensions import TypedDict

from plant_plugin.evaluation.calibration import pairs_of
from plant_plugin.evaluation.ranking import rows_of
from plant_plugin.evaluation.store import Matrix, checked

PROMISE, ACCEPT = "promise", "accept"
SHARES = {PROMISE: (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98), ACCEPT: (0.8, 0.9, 0.95, 0.98, 0.99)}
DOUBT = 0.1  # of acceptance: the chance that the share is lower
START = 3  # times the labels that could show it if all were right: a wrong one or two may be among them
STEP = 1.2  # each threshold that is tried lets through so many times the labels of the one before
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)  # all scores in half precision
LIMITS = np.finfo(np.float16).min, np.finfo(np.float16).max
Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]
Batch = TypeVar("Batch", bound=Sequence)  # scores and truth (B, L) first


class Outcome(TypedDict, total=False):
    """What a threshold does to documents, or why there is none."""

    documents: int  # with a true label
    listed: float  # mean share of a document's true labels that are above it
    labels: float  # above it, mean of a document
    true: float  # share of these that are true; not there where no label is above it
    needs: int  # there is no threshold: so many documents, or labels with a probability above 0.5, could show it
    most: float  # there is none: the share that the lowest, or for acceptance the highest that was tried, reaches


def named(kind: str, share: float) -> str:
    """Return the name of a threshold, as a model has it."""
    return f"{kind} {share:g}"


def is_promise(name: str) -> bool:
    """Tell whether a threshold is one of these, by its name."""
    return name.partition(" ")[0] in SHARES


class Lists:
    """What would be listed of documents, and what is true, for any threshold.

    ``known`` (L,) says which labels a model can be asked for; None: all.
    """

    def __init__(self, known: Truth | None = None) -> None:
        self._known = known
        self.documents = 0
        self._missed = 0.0  # sum over documents of the share of true labels that have no score
        self._true: list[tuple[Floats, npt.NDArray[np.float64]]] = []  # scores, and one by the document's true labels
        self._pairs = np.zeros(len(HALVES), np.int64)  # scored, by score
        self._high: list[tuple[Places, Floats, Truth]] = []  # documents, scores and truth of logits above 0
        self._labelled = 0  # documents with a true label

    def reading(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches, and note what they hold."""
        for batch in batches:
            self.update(batch[0], batch[1])
            yield batch

    def update(self, scores: Matrix, truth: Matrix) -> None:
        """Add scores (B, L), logits, and their truth; what is not scored is -inf, or not stored."""
        scores, truth = checked(scores, truth)
        asked = truth if self._known is None else sp.csr_matrix(truth.multiply(self._known))
        asked.eliminate_zeros()
        if sp.issparse(scores):
            rows = rows_of(scores)[~np.isneginf(scores.data)]
        else:
            rows = np.nonzero(~np.isneginf(scores))[0]
        (values, right), (_, true) = pairs_of(scores, truth), pairs_of(scores, asked)
        sizes = np.diff(asked.indptr)
        found, labelled = np.bincount(rows[true], minlength=len(sizes)), sizes > 0
        self._labelled += int(labelled.sum())
        self._missed += float((1 - found[labelled] / sizes[labelled]).sum())
        self._true.append((values[true], 1 / sizes[rows[true]]))
        self._pairs += np.bincount(values.clip(*LIMITS).astype(np.float16).view(np.uint16), minlength=len(HALVES))
        high = values > 0
        self._high.append((self.documents + rows[high], values[high], right[high]))
        self.documents += len(sizes)

    def thresholds(self) -> tuple[dict[str, float], dict[str, Outcome]]:
        """Choose the thresholds that hold, by name, and say of every name what it does, or why it has none."""
        chosen: dict[str, float] = {}
        outcomes: dict[str, Outcome] = {}
        for kind, choose in ((PROMISE, self._promise), (ACCEPT, self._accept)):
            for share in SHARES[kind]:
                name, choice = named(kind, share), choose(share)
                if isinstance(choice, float):
                    chosen[name] = choice
                else:
                    outcomes[name] = choice
        return chosen, outcomes | self.outcomes(chosen)

    def outcomes(self, thresholds: Mapping[str, float]) -> dict[str, Outcome]:
        """Say what thresholds do to these documents."""
        scores, weights = map(np.concatenate, zip(*self._true, strict=True))
        _, high, true = map(np.concatenate, zip(*self._high, strict=True))
        outcomes: dict[str, Outcome] = {}
        for name, threshold in thresholds.items():
            with np.errstate(invalid="ignore"):  # some halves are no numbers
                labels = self._pairs[np.float16(threshold) <= HALVES].sum() / max(1, self.documents)
            listed = weights[scores > threshold].sum() / max(1, self._labelled)
            outcomes[name] = Outcome(documents=self._labelled, listed=float(listed), labels=float(labels))
            if name.startswith(ACCEPT) and (high > threshold).any():
                outcomes[name]["true"] = float(true[high > threshold].mean())
        return outcomes

    def _promise(self, share: float) -> float | Outcome:
        """Return the highest threshold with so small a risk, or why there is none."""
        documents, allowed = self._labelled, (self._labelled + 1) * (1 - share) - 1  # sum of shares that may be missed
        if allowed < -1e-9:
            return Outcome(documents=documents, needs=math.ceil(1 / (1 - share) - 1e-9) - 1)
        scores, weights = map(np.concatenate, zip(*self._true, strict=True))
        order = np.argsort(-scores, kind="stable")
        reached = np.cumsum(weights[order])
        place = int(np.searchsorted(reached, documents - allowed - 1e-9))
        if place >= len(order):
            return Outcome(documents=documents, most=1 - self._missed / documents)
        return _below(scores[order[place]])

    def _accept(self, share: float) -> float | Outcome:
        """Return the lowest threshold above which so many are true, down to the first that does not show it."""
        documents, scores, true = map(np.concatenate, zip(*self._high, strict=True))
        order = np.argsort(-scores, kind="stable")
        documents, scores, false = documents[order], scores[order], ~true[order]
        fewest = math.ceil(math.log(DOUBT) / math.log(share))
        if len(scores) < fewest:
            return Outcome(documents=self._labelled, needs=fewest)
        first = min(len(scores), START * fewest)
        chosen, wanted = None, float(first)
        while wanted <= len(scores):
            number = int(np.searchsorted(-scores, -scores[int(wanted) - 1], side="right"))  # all with this score
            taken, wrong = (
                np.bincount(documents[:number], weights=weights, minlength=self.documents)
                for weights in (None, false[:number])
            )
            if not _is_above(share, taken, wrong):
                break
            chosen, wanted = _below(scores[number - 1]), max(number + 1, number * STEP)
        return chosen if chosen is not None else Outcome(documents=self._labelled, most=float(1 - false[:first].mean()))


def _below(score: np.float32) -> float:
    """Return the highest number that the score is above."""
    return float(np.nextafter(np.float32(score), np.float32(-np.inf)))


def _is_above(share: float, taken: Floats | Places, wrong: Floats | Places) -> bool:
    """Tell whether both tests show that of labels (of each document) more than a share are right."""
    if bdtr(wrong.sum(), taken.sum(), 1 - share) > DOUBT:
        return False
    excess = wrong - (1 - share) * taken
    spread = excess.std(ddof=1) / math.sqrt(len(excess)) if len(excess) > 1 else 0.0
    return spread == 0.0 or float(stdtr(len(excess) - 1, excess.mean() / spread)) <= DOUBT
