"""Inputs of a network for each split beside its documents: marks of phrases, kept states, and the labels to score.

Shapes: N documents, B of a batch, L labels, S of a shortlist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse

from plant_plugin.config.sections import Settings
from plant_plugin.data.batches import Batches, FrozenStates, TokenMarks
from plant_plugin.relevance.marks import phrase_marks
from plant_plugin.relevance.mutual_information import Relevance
from plant_plugin.relevance.phrases import Phrases
from plant_plugin.report.record import Further
from plant_plugin.report.run import Run
from plant_plugin.training.devices import count, rank
from plant_plugin.training.prepare import Encoded

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
Logits = tuple[Floats, Places]  # a network's own of a batch, (B, L) or (B, S) of its shortlist, and document numbers
ScoreBatch = tuple[Floats | sparse.csr_array, sparse.csr_array, Places]  # logits and truth (B, L), document numbers


@dataclass(frozen=True)
class Shortlists:
    """The labels of each document that a network scores, by split; without any it scores all."""

    labels: Mapping[str, npt.NDArray[np.int32]] = field(default_factory=dict)  # (N, S), ascending
    # Planted scores (N, S) of these at γ = 1, of validation and test, where labels are too many to score others.
    scores: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def length(self) -> int | None:
        """S; None: all labels are scored."""
        return next((labels.shape[1] for labels in self.labels.values()), None)


@dataclass(frozen=True)
class Inputs:
    """The documents, and what is known of them before a network trains; dictionaries are by split."""

    documents: Encoded
    relevance: Relevance | None = None  # of words for labels; None: nothing is planted
    marks: Mapping[str, TokenMarks] = field(default_factory=dict)  # by phrases, for the planted prior
    states: Mapping[str, FrozenStates] = field(default_factory=dict)  # of a frozen language model, where they are kept
    shortlists: Shortlists = field(default_factory=Shortlists)
    rows: Places | None = None  # of the training documents that the network reads; None: all

    def batches(
        self,
        split: str,
        size: int,
        shuffle: bool = False,
        seed: int = 0,
        rows: Places | None = None,
    ) -> Batches:
        """Return batches of a split, of ``size`` documents, of all its ``rows`` or some."""
        documents = self.documents
        optional = self.states.get(split), self.marks.get(split), self.shortlists.labels.get(split)
        arrays, labels, pad = documents.arrays[split], documents.labels[split], documents.tokens.pad_id
        return Batches(arrays, labels, size, pad, shuffle, seed, *optional, rows)

    def stage_batches(self, size: int, settings: Settings) -> tuple[Batches, Batches | None]:
        """Return this process's part of a stage's training batches and, where there are any, validation batches."""
        train = self.batches("train", size, settings.shuffle, settings.seed or 0, self.rows)
        if "val" not in self.documents.arrays:
            return train.take_part(rank(), count()), None
        val = self.batches("val", settings.eval_batch_size)
        return train.take_part(rank(), count()), val.take_part(rank(), count())

    def with_truth(self, split: str, batches: Iterable[Logits]) -> Iterator[ScoreBatch]:
        """Yield logits of a split with the truth; sparse ones where nothing outside the shortlist is scored."""
        for logits, documents in batches:
            yield self.placed(split, documents, logits), self.documents.labels[split][documents], documents

    def placed(self, split: str, documents: Places, logits: Floats) -> Floats | sparse.csr_array:
        """Return logits of documents (B,) of a split: (B, L) as they are, of the shortlist (B, S) sparse (B, L)."""
        if split not in self.shortlists.scores:
            return logits
        columns, ends = self.shortlists.labels[split][documents], np.arange(len(documents) + 1) * logits.shape[1]
        shape = len(documents), self.documents.num_labels
        return sparse.csr_array((logits.ravel(), columns.ravel(), ends), shape=shape)


def rows_read_again(documents: Encoded, further: Further | None, seed: int | None) -> Places | None:
    """Return rows that a network trained further reads: new documents, as many others at random, sentences of both."""
    if further is None:
        return None
    known = len(documents.corpus.train)
    new = min(further["new"] + further["waiting"], known)
    again = min(new, known - new)
    drawn = new + np.random.default_rng(seed or 0).choice(known - new, again, replace=False)
    parents = np.array(documents.training.parents or range(known))
    return np.flatnonzero(np.isin(parents, [*range(new), *drawn.tolist()]))


def mark_tokens(
    documents: Encoded, phrases: Phrases | None, strength: float, run: Run, *, trains: bool
) -> dict[str, TokenMarks]:
    """Return marks that phrases of training documents leave on tokens of every split that is read, for the prior.

    Training documents will be where a network ``trains``, test documents where the run tests. ``strength`` is
    ``evidence.prior``: what a phrase that is sure of a label adds to the prior of its words.
    """
    marks: dict[str, TokenMarks] = {}
    if phrases is None or not strength:
        return marks
    for split in documents.splits:
        name = split.name
        if name in documents.arrays and {"train": trains, "test": run.tests}.get(name, True):
            with run.phase("test" if name == "test" else "tokens"):
                parents = (split.parents or range(len(split))) if name == "train" else None
                of_split = split.texts, documents.arrays[name], documents.places
                marks[name] = phrase_marks(phrases, *of_split, strength, parents)
    return marks
