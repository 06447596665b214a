"""Labels beyond those that training showed: all that have a name, by one scorer for known and unseen ones.

The log odds z of a candidate come from a :class:`.Trees`, which is trained where a label occurs in no other training
document: what was learned of names then knows nothing of that document's words for it. With a model's logit s::

    known label    s + w · max(0, z + 5)
    unseen label   a · z + b              one w, a and b for all, chosen on validation documents

Shapes: B texts, K labels of the model, U unseen ones after them, N candidates of a text.

Source: ours; docs/open_labels.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from typing_extensions import TypedDict

from plant_plugin.data.label_names import LabelName
from plant_plugin.data.last_texts import of_last_texts
from plant_plugin.data.text import DocumentEvidence, Spans
from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.arrays import NUMBERS, ArrayFile
from plant_plugin.files import read_json, write_json
from plant_plugin.relevance.mutual_information import Floats, write_arrays
from plant_plugin.relevance.names.candidates import COUNTS, Proposer, Truths
from plant_plugin.relevance.names.learning import learn, spoken_words
from plant_plugin.relevance.names.letter_towers import ROWS, SIZE, Towers
from plant_plugin.relevance.names.name_index import LETTERS, NameIndex, stems_of
from plant_plugin.relevance.names.nearest import Block
from plant_plugin.relevance.names.span_detector import FEATURES, SpanDetector
from plant_plugin.relevance.names.translation import Lexicon
from plant_plugin.relevance.names.trees import Trees
from plant_plugin.relevance.phrases import Phrases, words_of
from plant_plugin.relevance.planted_scores import PlantedScores

OPEN_LABELS = NAMES_FILE, ARRAYS = "open_labels.json", "open_labels.npz"
FLOOR = -5.0  # log odds below which a name says nothing for a known label
NO_PROBABILITY = -30.0  # a logit
WEIGHTS = ("known", "slope", "shift")


class Content(TypedDict):
    """``open_labels.json``."""

    names: list[tuple[str, str, str]]  # label, name, language
    seen: list[str]  # labels that a training document has
    lexicon: Lexicon
    said: dict[str, float]  # see NameIndex


@dataclass(frozen=True, eq=False, repr=False)
class Proposed:
    """What names say of a text: labels are columns of the widened label set, (N,)."""

    columns: npt.NDArray[np.int64]
    log_odds: Floats
    names: list[str]
    spans: Spans


@dataclass(frozen=True, eq=False, repr=False)
class OpenLabels:
    """What was learned of names, and the weights with which it joins a model's logits.

    Attributes:
        rows: The names, as they were read.
        labels: The K labels of the model, in column order.
        seen: Which of them a training document has, (K,).
        known, slope, shift: w, a and b.
    """

    rows: list[LabelName]
    labels: list[str]
    seen: Truths
    proposer: Proposer
    trees: Trees
    phrases: Phrases | None
    known: float = 0.0
    slope: float = 1.0
    shift: float = 0.0

    @classmethod
    def fit(
        cls,
        rows: Sequence[LabelName],
        labels: list[str],
        texts: Sequence[str],
        document_labels: Sequence[Sequence[str]],
        evidence: Sequence[DocumentEvidence] | None,
        phrases: Phrases | None,
        seed: int = 0,
    ) -> OpenLabels:
        """Learn from names and training documents; ``phrases`` are those of the same documents.

        Without evidence, names that stand in a document that has their label count as marked.
        """
        proposer, trees = learn(rows, labels, texts, document_labels, evidence, phrases, seed)
        known = set().union(*document_labels)
        seen = np.array([label in known for label in labels], dtype=bool)
        return cls(list(rows), list(labels), seen, proposer, trees, phrases)

    @cached_property
    def added(self) -> list[str]:
        """Return the U labels that have a name and are none of the model's."""
        known = set(self.labels)
        return [label for label in self.proposer.index.labels if label not in known]

    @cached_property
    def widened(self) -> list[str]:
        """Return the K + U labels, in column order."""
        return self.labels + self.added

    @cached_property
    def _columns(self) -> npt.NDArray[np.int64]:
        """Return the widened column of each label of the index."""
        column_of = {label: column for column, label in enumerate(self.widened)}
        return np.array([column_of[label] for label in self.proposer.index.labels], dtype=np.int64)

    @cached_property
    def by_name(self) -> Truths:
        """Return which columns only a name makes known, (K + U,)."""
        named = np.zeros(len(self.widened), bool)
        named[self._columns] = True
        named[: len(self.labels)] &= ~self.seen
        return named

    @cached_property
    def _blocks(self) -> list[Block]:
        unseen = self.by_name[self._columns]
        return [self.proposer.block(mask) for mask in (unseen, ~unseen)]

    @of_last_texts
    def propose(self, text: str) -> Proposed:
        """Return what names say of a text."""
        words, places = words_of(text)
        read = self.proposer.read(words, places, spoken_words(self.phrases, text, places))
        unseen, known = self._blocks
        sets = [self.proposer.candidates(read, unseen, known), self.proposer.candidates(read, known, unseen)]
        labels, counts, names, spans = map(np.concatenate, zip(*sets, strict=True))
        odds = self.trees.log_odds(counts)
        places = [(read.places[start][0], read.places[end - 1][1]) for start, end in spans.tolist()]
        return Proposed(self._columns[labels], odds, [self.proposer.index.names[name] for name in names], places)

    def wide(self, logits: Floats | sparse.csr_array, proposed: Sequence[Proposed]) -> Floats:
        """Return logits (B, K) with what names say, (B, K + U); -inf: not scored.

        Of sparse logits only those that are stored are scored.
        """
        wide = np.full((len(proposed), len(self.by_name)), -np.inf, np.float32)
        if isinstance(logits, sparse.csr_array):
            rows = np.repeat(np.arange(len(proposed)), np.diff(logits.indptr))
            wide[rows, logits.indices] = logits.data
        else:
            wide[:, : len(self.labels)] = logits
        wide[:, self.by_name] = -np.inf
        for row, of_text in enumerate(proposed):
            columns, odds = of_text.columns, of_text.log_odds
            unseen = self.by_name[columns]
            wide[row, columns[unseen]] = self.slope * odds[unseen] + self.shift
            wide[row, columns[~unseen]] += self.known * np.maximum(0, odds[~unseen] - FLOOR)
        return wide

    def logit(self, log_odds: float) -> float:
        """Return the logit of an unseen label."""
        return self.slope * log_odds + self.shift

    def joined(self, logits: Floats | sparse.csr_array, texts: Sequence[str]) -> sparse.csr_array:
        """Return the logits (B, K) of texts with what names say, (B, K + U): those that there are."""
        wide = self.wide(logits, list(map(self.propose, texts)))
        rows, columns = np.nonzero(~np.isneginf(wide))
        offsets = np.searchsorted(rows, np.arange(len(wide) + 1))
        return sparse.csr_array((wide[rows, columns], columns, offsets), shape=wide.shape)

    def added_to_known(self, log_odds: float) -> float:
        """Return what a name adds to the logit of a label that training showed."""
        return self.known * max(0.0, log_odds - FLOOR)

    @property
    def lowest(self) -> float:
        """Return the logit of an unseen label that nothing speaks for."""
        return self.logit(self.trees.prior)

    def first_name(self, label: str) -> str | None:
        """Return the first name of a label."""
        return self._first_names.get(label)

    @cached_property
    def _first_names(self) -> dict[str, str]:
        return {row.label: row.name for row in reversed(self.rows)}

    def answering(self, text: str, span: tuple[int, int], name: str) -> Spans:
        """Return the words in a span of a text that a name has, by letters or by the lexicon; else the whole span."""
        words, places = words_of(text[slice(*span)], LETTERS)
        translated, stems = self.proposer.translated, self.proposer.index.stems
        wanted = [stems[stem] for stem in stems_of(name) if stem in stems]
        there = [np.isin(translated[word][0], wanted).any() for word in words]
        inside = [(span[0] + start, span[0] + end) for (start, end), has in zip(places, there, strict=True) if has]
        return inside or [span]

    def with_weights(self, weights: Mapping[str, float]) -> OpenLabels:
        """Return the same with other weights, as of :func:`read_weights`; those that are not given stay."""
        known, slope, shift = (weights.get(name, getattr(self, name)) for name in WEIGHTS)
        return replace(self, known=known, slope=slope, shift=shift)

    def with_names(self, rows: Sequence[LabelName]) -> OpenLabels:
        """Return the same with other names: nothing is learned anew."""
        index = NameIndex.of([(row.label, row.name) for row in rows], self.proposer.index.said)
        return replace(self, rows=list(rows), proposer=replace(self.proposer, index=index))

    def save(self, folder: Path) -> None:
        """Write names, lexicon, tables and weights beside a model."""
        seen = [label for label, there in zip(self.labels, self.seen.tolist(), strict=True) if there]
        proposer = self.proposer
        assert proposer.detector is not None  # fitted
        content: Content = {
            "names": [(row.label, row.name, row.language) for row in self.rows],
            "seen": seen,
            "lexicon": proposer.lexicon,
            "said": dict(proposer.index.said),
        }
        write_json(folder / NAMES_FILE, content)
        arrays = {
            "towers": proposer.towers.table.numpy().astype(np.float16),
            "detector": proposer.detector.weights.astype(np.float16),
            "constant": np.float32(proposer.detector.constant),
            **self.trees.arrays("trees_"),
            **{name: np.float32(getattr(self, name)) for name in WEIGHTS},
        }
        write_arrays(folder / ARRAYS, arrays)

    @classmethod
    def load(cls, folder: Path, labels: list[str], phrases: Phrases | None) -> OpenLabels:
        """Read what :meth:`save` wrote.

        Raises:
            CheckpointError: A file is missing or torn, or does not fit the labels.
        """
        content = read_json(folder / NAMES_FILE, Content, what="names of labels", fix="train anew")
        arrays = ArrayFile.read(folder / ARRAYS, "open labels", fix="train anew")
        table = arrays.array("towers", NUMBERS, (ROWS, SIZE)).astype(np.float32)
        weights = arrays.array("detector", NUMBERS, (FEATURES,)).astype(np.float32)
        seen = set(content["seen"])
        if not seen <= set(labels):
            what = "labels were seen that are none of the model's"
            raise CheckpointError(what, where=str(folder / NAMES_FILE), fix="train anew")
        rows = [LabelName(*row) for row in content["names"]]
        index = NameIndex.of([(row.label, row.name) for row in rows], content["said"])
        detector = SpanDetector(weights, arrays.number("constant"))
        proposer = Proposer(index, content["lexicon"], Towers(torch.from_numpy(table)), detector)
        trees = Trees.from_arrays(arrays.under("trees_"), COUNTS)
        mask = np.array([label in seen for label in labels], dtype=bool)
        return cls(rows, labels, mask, proposer, trees, phrases, *(arrays.number(name) for name in WEIGHTS))


def read_open(folder: Path, labels: list[str], planted: PlantedScores | None) -> OpenLabels | None:
    """Read the open labels of a model's folder, None where it knows only those of training; errors as of ``load``."""
    if not (folder / NAMES_FILE).is_file():
        return None
    return OpenLabels.load(folder, labels, None if planted is None else planted.phrases)


def read_weights(folder: Path) -> dict[str, float]:
    """Read the weights of the open labels of a model's folder, by name."""
    arrays = ArrayFile.read(folder / ARRAYS, "open labels", fix="train anew")
    return {name: arrays.number(name) for name in WEIGHTS}


def all_scored(wide: Floats) -> Floats:
    """Return the scores with one below all others, and no probability, where there was none."""
    none = np.isneginf(wide)
    lowest = np.min(wide, axis=1, keepdims=True, where=~none, initial=NO_PROBABILITY)
    return np.where(none, lowest - np.float32(1), wide)
