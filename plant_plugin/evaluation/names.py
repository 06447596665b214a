"""Metrics as small named values: the printed form is what a user types, who computes it is another matter.

A name is ``family[@k or @threshold][:bin]``, e.g. ``P@5``, ``Macro-F1@micro``, ``Macro-F1-present@0.5:1-5``. This
module is on the way of ``plant validate`` and imports nothing heavy.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.said import counted

RANKS = (1, 3, 5, 8, 10, 15)  # the k reported when no metric is asked for by name
DEFAULT_THRESHOLD = "0.5"  # what a name without a threshold means, as in LibMultiLabel

RANKED = {
    "P": "hits in the top k divided by k",
    "R": "hits in the top k divided by the number of true labels",
    "RP": "hits in the top k divided by the smaller of k and the number of true labels",
    "nDCG": "discounted hits in the top k divided by the best possible",
    "PSP": "propensity-scored precision, ratio of sums over documents",
    "PSnDCG": "propensity-scored nDCG, ratio of sums over documents",
    "PSR": "propensity-scored recall, ratio of sums over documents",
}
CLASSIFIED = {
    "Micro-P": "precision over all pairs of document and label",
    "Micro-R": "recall over all pairs of document and label",
    "Micro-F1": "F1 over all pairs of document and label",
    "Macro-P": "precision, mean over all labels, 0/0 = 0",
    "Macro-R": "recall, mean over all labels, 0/0 = 0",
    "Macro-F1": "F1, mean over all labels, 0/0 = 0",
    "Macro-F1-present": "F1, mean over the labels that occur in the split",
    "Macro-F1-caml": "harmonic mean of macro-precision and macro-recall",
}
WHOLE = {
    "MAP": "mean average precision of the documents with labels",
    "MAP-gold": "the same with every true label in the denominator, also those outside the label set",
    "AUC-macro": "ROC area, mean over labels with both classes in the split",
    "AUC-micro": "ROC area over all pairs of document and label",
    "Loss": "mean training loss; measured by the trainer, not from scores",
}
FAMILIES = {**RANKED, **CLASSIFIED, **WHOLE}

# LibMultiLabel's own words for the same things (its neural and its linear half differ).
ALIASES = {
    "NDCG": "nDCG",
    "Micro-Precision": "Micro-P",
    "Micro-Recall": "Micro-R",
    "Macro-Precision": "Macro-P",
    "Macro-Recall": "Macro-R",
    "Another-Macro-F1": "Macro-F1-caml",
}

# Frequency bins of training counts, both ends included.
BINS: dict[str, tuple[int, int | None]] = {
    "0": (0, 0),
    "1-5": (1, 5),
    "6-10": (6, 10),
    "11-50": (11, 50),
    "51-100": (51, 100),
    "101-500": (101, 500),
    ">500": (501, None),
}
PER_LABEL = ("Macro-P", "Macro-R", "Macro-F1", "Macro-F1-present", "Macro-F1-caml", "AUC-macro")

NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")  # of a family
_NAME = re.compile(r"(?P<family>[A-Za-z][A-Za-z0-9-]*?)(?:@(?P<at>[^:@]+))?(?::(?P<bin>.+))?")
_RANK = re.compile(r"[1-9][0-9]*")
_AT_RANK = re.compile(r"@(\d+)$")
_THRESHOLD = re.compile(r"micro|macro|0?\.[0-9]+")


# By family, the registry's entries of metrics that users add, see `added.py`; set by plant_plugin.config.registry.
added: Callable[[], Mapping[str, Any]] = dict


@dataclass(frozen=True)
class Metric:
    """One metric."""

    name: str  # as the user typed it; results carry it unchanged
    family: str  # a key of FAMILIES, or an added one
    k: int | None = None  # rank cut-off, for RANKED and added ones that take it
    threshold: str | None = None  # `0.5`, `micro` or `macro` (or another probability), for CLASSIFIED
    bin: str | None = None  # a key of BINS, or None for all labels

    @property
    def canonical(self) -> str:
        """Return the name under which results are written, e.g. ``Macro-F1-caml@0.5`` for ``Another-Macro-F1``."""
        at = f"@{self.k or self.threshold}" if self.k or self.threshold else ""
        return f"{self.family}{at}" + (f":{self.bin}" if self.bin else "")

    @property
    def summary(self) -> str:
        """Say in a few words what it measures."""
        return added()[self.family].summary.rstrip(".") if self.is_added else FAMILIES[self.family]

    @property
    def is_added(self) -> bool:
        """Tell whether a user's registry has it."""
        return self.family not in FAMILIES

    @property
    def propensity_scored(self) -> bool:
        """Tell whether label propensities weigh the hits."""
        return self.family in ("PSP", "PSnDCG", "PSR")

    @property
    def needs_training_counts(self) -> bool:
        """Tell whether it depends on how often each label occurs in the training split."""
        return self.propensity_scored or self.bin is not None

    @property
    def needs_all_scores(self) -> bool:
        """Tell whether every score has to be kept until the end (on disk)."""
        return self.family in ("AUC-macro", "AUC-micro")

    @property
    def needs_whole_ranking(self) -> bool:
        """Tell whether the best labels are not enough for it."""
        return self.needs_all_scores or self.family == "MAP"


def parse_metric(name: str) -> Metric:
    """Read a metric's name, LibMultiLabel's spellings included; a threshold that is not named is 0.5.

    Raises:
        ConfigError: No such metric; the message suggests the nearest that exists.
    """
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    family, at, label_bin = match.group("family", "at", "bin") if match else ("", None, None)
    family = ALIASES.get(family, family)
    if label_bin is None or (label_bin in BINS and family in PER_LABEL):
        if family in RANKED and at and _RANK.fullmatch(at):
            return Metric(name, family, k=int(at))
        if family in CLASSIFIED and _THRESHOLD.fullmatch(at or DEFAULT_THRESHOLD):
            threshold = at if at in ("micro", "macro") else str(float(at or DEFAULT_THRESHOLD))  # .50 is 0.5
            return Metric(name, family, threshold=threshold, bin=label_bin)
        if family in WHOLE and at is None:
            return Metric(name, family, bin=label_bin)
    if label_bin is None and (metric := added().get(family)) is not None:
        ranked = "k" in metric.signature()
        if ranked and at and _RANK.fullmatch(at):
            return Metric(name, family, k=int(at))
        if not ranked and at is None:
            return Metric(name, family)
    raise _unknown(name)


def by_default(thresholds: Collection[str]) -> list[str]:
    """Return every metric that can be computed from scores, in the order of reports."""
    variants = [family for family in CLASSIFIED if family.startswith("Macro-F1")]
    return [
        *(f"{family}@{k}" for family in RANKED for k in RANKS),
        "MAP", "MAP-gold",
        *(f"{family}@{threshold}" for threshold in thresholds for family in CLASSIFIED),
        *(f"{family}@{threshold}:{b}" for threshold in thresholds for family in variants for b in BINS),
        "AUC-macro", "AUC-micro",
        *_of_added(),
    ]  # fmt: skip


def _of_added() -> list[str]:
    """Return names of the metrics that users' registries add, with the usual ranks where they take any."""
    return [
        name
        for family, metric in added().items()
        for name in ([f"{family}@{k}" for k in RANKS] if "k" in metric.signature() else [family])
    ]


def check_ranks(metrics: Mapping[str, str], save_k: int, num_labels: int, *, most: int) -> None:
    """Refuse ``@k`` metrics and predictions that need more labels than there are.

    Args:
        metrics: Names of metrics, and the key of the configuration that asks for each.
        save_k: ``save_k_predictions``.
        num_labels: L.
        most: Largest k of a metric; of networks L - 1: LibMultiLabel's networks cannot compute the L best of L labels.

    Raises:
        ConfigError: Naming every such metric.
    """
    ranks = ((f"{key}: {name}", _AT_RANK.search(name)) for name, key in metrics.items())
    needs = [(where, int(rank[1]), most) for where, rank in ranks if rank]
    problems = [
        ConfigError(
            f"asks for the {rank} best of {counted(num_labels, 'label')}",
            where=where,
            fix=f"use at most {allowed} with this data",
        )
        for where, rank, allowed in [*needs, ("save_k_predictions", save_k, num_labels)]
        if rank > allowed
    ]
    if problems:
        raise ConfigError("; ".join(problem.message for problem in problems), problems=problems)


def examples() -> list[str]:
    """Return names to choose from, for suggestions and listings.

    Each family comes with its usual cut-offs and thresholds.
    """
    bare = [*CLASSIFIED, *(alias for alias in ALIASES if alias != "NDCG")]
    areas = [f"AUC-macro:{label_bin}" for label_bin in BINS]
    return [*bare, *by_default(("0.5", "micro", "macro")), *(f"NDCG@{k}" for k in RANKS), "Loss", *areas]


def _unknown(name: object) -> ConfigError:
    by_lower = {candidate.lower(): candidate for candidate in reversed(examples())}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.6)
    suggestion = f"did you mean {by_lower[near[0]]}? " if near else ""
    return ConfigError(
        f"there is no metric {name!r}",
        fix=f"{suggestion}Ranked: {', '.join(RANKED)} with @k, e.g. P@5; thresholded: {', '.join(CLASSIFIED)} "
        f"with @0.5, @micro or @macro; whole ranking: {', '.join([*WHOLE, *added()])}",
    )
