"""A trained model at work on new texts.

Shape key: **N** documents · **B** documents of a batch · **L** labels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.ranking import top_labels
from plant_plugin.model.explanation import Explanation, explain
from plant_plugin.model.passages import EvidenceRule, read_rule
from plant_plugin.model.trained import TrainedModel, document_scores, load_trained
from plant_plugin.relevance import Relevance
from plant_plugin.report.record import FIRST_PASS
from plant_plugin.training.stage import move

Floats = npt.NDArray[np.float32]
Names = Callable[[str], str | None]

CHUNK_BATCHES = 16  # batches read ahead and sorted by length: less padding, and still a bounded number of texts
RELEVANCE = "relevance.npz"
TUNED, HALF = "micro", "0.5"  # thresholds taken where none is asked for, the first that the model has


@dataclass(frozen=True)
class ScoredLabel:
    """A label that was predicted.

    Attributes:
        label: As in the training files.
        probability: In [0, 1].
        logit: The score behind it.
        name: What the label stands for, where that is known.
    """

    label: str
    probability: float
    logit: float
    name: str | None = None


@dataclass(frozen=True)
class Prediction:
    """What a model says of a document.

    Attributes:
        labels: The chosen labels, the most probable first; ties by the order of the label set.
        tokens: How many tokens were read. 0: the text is empty or holds nothing that the model could read, so that the
            labels say nothing about it.
        cut: The document fills all tokens that the model reads; what stands behind them was not read.
    """

    labels: list[ScoredLabel]
    tokens: int
    cut: bool


class Predictor:
    """A model folder, ready for texts. Its methods are not to be called from two threads at once.

    >>> from plant_plugin import Predictor
    >>> predictor = Predictor.load(folder)
    >>> [prediction] = predictor.predict(["filler1 sign3x filler2"], top=1)
    >>> prediction.labels[0].label
    'L3'

    Args:
        model: The trained model.
        folder: Where it was read from.
        device: Where the network runs.
        names: What labels stand for; see :func:`plant_plugin.data.label_names.label_names`.
        batch_size: B.

    Attributes:
        name: What explanations call the model: the folder's name, until another is set.
        labels: The label set, in column order.
        thresholds: Name -> threshold, in logits.
        max_tokens: How many tokens of a document are read.
    """

    def __init__(
        self,
        model: TrainedModel,
        folder: Path,
        device: torch.device,
        names: Names | None = None,
        batch_size: int = 32,
    ) -> None:
        self.model, self.folder, self.device = model, folder, device
        self.names: Names = names or no_name
        self.name, self.batch_size = folder.resolve().name, batch_size
        self.labels, self.thresholds = model.labels, model.thresholds
        self.max_tokens = model.max_tokens
        self.network = model.network.to(device).eval()
        self.network.fold()

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        device: str | None = None,
        names: Names | None = None,
        batch_size: int = 32,
    ) -> Predictor:
        """Read the folder of a finished run of our strategies: any network, word-level or over a language model.

        Args:
            folder: The run's folder.
            device: E.g. ``cpu`` or ``cuda:1``; None: the first GPU where there is one.
            names: What labels stand for.
            batch_size: Documents scored at once.

        Raises:
            CheckpointError: The folder is no model, or torn, or of another version.
            ConfigError: There is no such device.
        """
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            torch.empty(0, device=chosen)
        except (RuntimeError, AssertionError) as error:
            what = f"{chosen!r} cannot be used here ({type(error).__name__})"
            raise ConfigError(what, where="device", fix="`plant doctor` tells which devices there are") from error
        return cls(load_trained(Path(folder)), Path(folder), torch.device(chosen), names, batch_size)

    def predict(
        self, texts: Iterable[str], *, threshold: float | str | None = None, top: int | None = None
    ) -> list[Prediction]:
        """The labels of each text, in the order of the texts.

        Args:
            texts: N documents.
            threshold: A probability in (0, 1), or the name of one of the model's (``micro`` and ``macro``, tuned on
                validation documents; ``0.5``): labels above it are chosen. None: ``micro`` where the model has it, else
                0.5; but no threshold where ``top`` is given.
            top: At most so many labels.

        Raises:
            ConfigError: A threshold that the model does not have or that is no probability, or ``top`` below 1.
        """
        return list(self.stream(texts, threshold=threshold, top=top))

    def stream(
        self, texts: Iterable[str], *, threshold: float | str | None = None, top: int | None = None
    ) -> Iterator[Prediction]:
        """As :meth:`predict`, for any number of texts in bounded memory: reads ahead 16 batches, no more."""
        limit, most = self.limit(threshold, top), self._most(top)
        return self._predictions(iter(texts), limit, most)

    def explain(
        self,
        text: str,
        labels: Sequence[str] | None = None,
        *,
        threshold: float | str | None = None,
        top: int | None = None,
    ) -> Explanation:
        """What each word of a text adds to the logits of labels.

        >>> predictor = Predictor.load(folder)
        >>> explanation = predictor.explain("filler1 sign3x filler2", ["L3"])
        >>> [evidence] = explanation.labels
        >>> strongest = explanation.words[evidence.contribution.argmax()]
        >>> explanation.text[slice(*strongest)]
        'sign3x'

        Args:
            text: One document.
            labels: Which to explain; None: those above the threshold, or the five best where none is.
            threshold: As in :meth:`predict`, without ``top``.
            top: Explain the best so many instead.

        Raises:
            ConfigError: A label or threshold that the model does not have, a network that does not show its attention,
                or a tokenizer that does not tell places.
        """
        return explain(self, text, labels, threshold=threshold, top=top)

    @cached_property
    def column_of(self) -> dict[str, int]:
        """Label -> column."""
        return {label: column for column, label in enumerate(self.labels)}

    @cached_property
    def relevance(self) -> sparse.csr_array | None:
        """Relevance (L, V) of token types for labels, where the run computed one.

        Raises:
            CheckpointError: The file is torn, or made for other labels or another vocabulary.
        """
        path = self.folder / RELEVANCE
        if not path.is_file():
            return None
        hashes = {"labels": self.model.content["hashes"]["labels"], "vocabulary": self.model.tokens.hash()}
        return Relevance.load(path, hashes).matrix

    @cached_property
    def evidence_rule(self) -> EvidenceRule:
        """Which words are predicted evidence: as `plant plausibility --write-threshold` chose it, where it did."""
        return read_rule(self.folder)

    def logits(self, texts: Iterable[str]) -> Floats:
        """Logits (N, L) of all labels, planted scores included."""
        found = [np.empty((0, len(self.labels)), dtype=np.float32)]
        texts = iter(texts)
        while chunk := list(itertools.islice(texts, CHUNK_BATCHES * self.batch_size)):
            part = np.empty((len(chunk), len(self.labels)), dtype=np.float32)
            for logits, documents, _ in self._scored(chunk):
                part[documents] = logits
            found.append(part)
        return np.concatenate(found)

    def limit(self, threshold: float | str | None = None, top: int | None = None) -> float:
        """The threshold, in logits, that :meth:`predict` works with.

        Raises:
            ConfigError: A threshold that the model does not have, or that is no probability.
        """
        if threshold is None:
            return -math.inf if top is not None else self.thresholds.get(TUNED, self.thresholds[HALF])
        if isinstance(threshold, str):
            if threshold in self.thresholds:
                return self.thresholds[threshold]
            have = ", ".join(self.thresholds)
            fix = f"take one of {have}, or a probability; training with validation documents tunes `micro` and `macro`"
            raise ConfigError(f"the model has no threshold {threshold!r}", where="threshold", fix=fix)
        if not 0 < threshold < 1:
            raise ConfigError(f"{threshold} is not between 0 and 1", where="threshold", fix="give a probability")
        return math.log(threshold) - math.log1p(-threshold)

    def _most(self, top: int | None) -> int:
        if top is not None and top < 1:
            raise ConfigError(f"{top} is below 1", where="top", fix="give the number of labels wanted")
        return len(self.labels) if top is None else min(top, len(self.labels))

    def _predictions(self, texts: Iterator[str], limit: float, most: int) -> Iterator[Prediction]:
        while chunk := list(itertools.islice(texts, CHUNK_BATCHES * self.batch_size)):
            found: list[Prediction | None] = [None] * len(chunk)
            for logits, documents, lengths in self._scored(chunk):
                for row, document, length in zip(logits, documents.tolist(), lengths.tolist(), strict=True):
                    found[document] = Prediction(self._chosen(row, limit, most), length, length >= self.max_tokens)
            yield from (prediction for prediction in found if prediction is not None)

    def _scored(self, texts: list[str]) -> Iterator[tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Logits (B, L), places in ``texts`` (B,) and tokens read (B,), batch by batch, longest documents first."""
        batches = self.model.batches(texts, self.batch_size)
        for batch in batches:
            documents = batch["document"].numpy()
            own = [texts[document] for document in documents]
            with torch.inference_mode():
                logits = document_scores(self.network, move(batch, self.device), self.model.planted_scores, own)
            yield logits, documents, batches.arrays.lengths[documents]

    def _chosen(self, logits: Floats, limit: float, most: int) -> list[ScoredLabel]:
        if math.isinf(limit):
            columns = top_labels(logits[None], most)[0]
        else:
            above = np.flatnonzero(logits > np.float32(limit))
            columns = above[np.argsort(-logits[above], kind="stable")][:most]
        return [self.scored_label(column, float(logits[column])) for column in columns.tolist()]

    def scored_label(self, column: int, logit: float) -> ScoredLabel:
        """A label with its logit, probability and name."""
        label = self.labels[column]
        return ScoredLabel(label, probability(logit), logit, self.names(label))


def unrefitted(folder: Path) -> Path:
    """A run's model that validation documents did not train: with ``refit`` that of its first pass."""
    first = folder / FIRST_PASS
    return first if first.is_dir() else folder


def no_name(label: str) -> None:
    """What labels stand for where nobody knows it."""


def probability(logit: float) -> float:
    """Of a logit, without overflow."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))
