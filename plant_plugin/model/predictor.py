"""A trained model at work on new texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plant_plugin.evaluation.ranking import top_labels
from plant_plugin.model.explanation import Explanation, explain
from plant_plugin.model.hints import with_hints
from plant_plugin.model.known_words import tokens_read
from plant_plugin.model.trained import Floats, ReadyModel, ScoredLabel, Small, one_text


@dataclass(frozen=True)
class Prediction:
    """The labels that a model gives a document.

    Attributes:
        labels: The chosen labels, the most probable first; ties by the order of the label set.
        tokens: How many tokens were read. 0: the model knows no word of the text, so that the labels say nothing about
            it.
        cut: The document fills all tokens that the network reads; what follows them it did not read. Planted
            scores, where the model has them, are of the whole text.
    """

    labels: list[ScoredLabel]
    tokens: int
    cut: bool


class Predictor(ReadyModel):
    """A model folder, ready for texts. Its methods are not to be called from two threads at once.

    Examples:
        >>> from plant_plugin import Predictor
        >>> predictor = Predictor.load(folder)
        >>> [prediction] = predictor.predict(["filler1 sign3x filler2"], top=1)
        >>> prediction.labels[0].label
        'L3'

    Its attributes are those of :class:`ReadyModel`.
    """

    def predict(
        self, texts: Iterable[str], *, threshold: float | str | None = None, top: int | None = None
    ) -> list[Prediction]:
        """Return the labels of each text, in the order of the texts.

        Args:
            texts: N documents.
            threshold: A probability in (0, 1), or the name of one of the model's (``micro`` and ``macro``, tuned on
                validation documents; ``0.5``): labels above it are chosen. None: ``micro`` where the model has it, else
                0.5; but no threshold where ``top`` is given.
            top: At most so many labels.

        Raises:
            ConfigError: One text without a list, a threshold that the model does not have or that is no probability,
                or ``top`` below 1.
        """
        return list(self.stream(texts, threshold=threshold, top=top))

    def stream(
        self, texts: Iterable[str], *, threshold: float | str | None = None, top: int | None = None
    ) -> Iterator[Prediction]:
        """Predict any number of texts in bounded memory, as :meth:`predict`: reads ahead 16 batches, no more."""
        return self._predictions(texts, self.limit(threshold, top), min(top or len(self.labels), len(self.labels)))

    def explain(
        self,
        text: str,
        labels: Sequence[str] | None = None,
        *,
        threshold: float | str | None = None,
        top: int | None = None,
    ) -> Explanation:
        """Explain labels of a text by what each of its words adds to their logits; codes of ICD-10-CM with hints.

        Examples:
            >>> predictor = Predictor.load(folder)
            >>> explanation = predictor.explain("filler1 sign3x filler2", ["L3"])
            >>> [evidence] = explanation.labels
            >>> strongest = explanation.words[evidence.contribution.argmax()]
            >>> explanation.text[slice(*strongest)]
            'sign3x'

        Args:
            text: One document; places are those of its composed form (NFC).
            labels: Which to explain; None: those above the threshold, or the five best where none is.
            threshold: As in :meth:`predict`, without ``top``.
            top: Explain the best so many instead.

        Raises:
            ConfigError: Something else than a text, a label or threshold that the model does not have, a network that
                does not show its attention, or a tokenizer that does not know places.
        """
        return with_hints(self, explain(self, one_text(text), labels, threshold=threshold, top=top))

    def _predictions(self, texts: Iterable[str], limit: float, most: int) -> Iterator[Prediction]:
        size, planted = None if self.open_labels else self.content["shortlist"], self.planted_scores
        for chunk in self.chunks(texts):
            prediction_of: dict[int, Prediction] = {}
            if size is not None and planted is not None and (size >= most or not math.isinf(limit)):
                scored = self.listed(planted, chunk, size)
            else:
                scored = self.scored(chunk)
            for labels, logits, documents, lengths in scored:
                for row, document, length in zip(range(len(logits)), documents.tolist(), lengths.tolist(), strict=True):
                    listed, scores = None if labels is None else labels[row], logits[row]
                    if listed is not None and len(listed) < most and scores.min() > limit:
                        listed, scores = None, self.logits([chunk[document]])[0]  # others may be above it too
                    chosen = self._chosen(listed, scores, limit, most)
                    read = tokens_read(self, chunk[document], length)
                    prediction_of[document] = Prediction(chosen, read, length >= self.max_tokens)
            yield from (prediction_of[document] for document in range(len(chunk)))

    def _chosen(self, labels: Small | None, logits: Floats, limit: float, most: int) -> list[ScoredLabel]:
        if math.isinf(limit):
            columns = top_labels(logits[None], most)[0]
        else:
            above = np.flatnonzero(logits > np.float32(limit))
            columns = above[np.argsort(-logits[above], kind="stable")][:most]
        names = columns if labels is None else labels[columns]
        return [
            self.scored_label(name, float(logits[column]))
            for name, column in zip(names.tolist(), columns.tolist(), strict=True)
        ]
