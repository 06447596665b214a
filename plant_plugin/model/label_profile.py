"""Profiles of labels: all that a model knows of one.

Shapes: L labels, C candidate tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.model.explanation import column_of
from plant_plugin.model.trained import Floats, Places, ReadyModel
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.report.label_statistics import LabelStatistics, read_label_statistics
from plant_plugin.report.result import PER_DOCUMENT

TOKENS_AT_ONCE = 1024  # candidates scored together, each a document of one token


@dataclass(frozen=True)
class LabelProfile:
    """All that a model folder knows of a label."""

    label: str
    name: str | None
    # Tokens of the highest relevance (MIG as normalised in training), with it; None without a table.
    relevant: list[tuple[str, float]] | None
    # Tokens that the learned attention scores highest when each is a whole document, with the score (queries · keys,
    # without the planted prior). Over a language model only tokens with relevance are tried. Empty without a network.
    attended: list[tuple[str, float]]
    # Terms whose weights in the planted scores are highest, with what the term as a whole document would add to the
    # sum that becomes the logit; None without planted scores.
    terms: list[tuple[str, float]] | None
    # Labels whose attention queries, less the mean query, point the same way: label, name, cosine.
    nearest: list[tuple[str, str | None, float]]
    statistics: LabelStatistics | None = None  # None where the run had no validation split
    # Training documents, test documents with the label, threshold's name -> its F1 on these; where the run did test.
    num_train: int | None = None
    test_count: int | None = None
    test_f1: dict[str, float] | None = None


def label_profile(predictor: ReadyModel, label: str, top: int = 15) -> LabelProfile:
    """Look a label up in a model: of each list so many tokens or labels.

    Raises:
        ConfigError: The model does not know the label.
        CheckpointError: The relevance, statistics or scores beside it are torn, or made for another model.
        DataError: ``per_document.npz`` beside it is torn.
    """
    column, planted, relevant = column_of(predictor, label), predictor.planted_scores, None
    name = predictor.scored_label(column, 0.0).shown
    if column >= predictor.num_trained:
        return LabelProfile(label, name, None, [], None, [])
    if (table := predictor.relevance) is not None:
        row = slice(table.indptr[column], table.indptr[column + 1])
        relevant = _named(predictor, table.indices[row], table.data[row], top)
    terms = None
    if planted and planted.weight:
        terms = [(term, planted.weight * value) for term, value in planted.strongest(column, top)]
    num_train, test_count, test_f1 = _tested(predictor, column)
    attended, nearest = _attended(predictor, column, top), _nearest(predictor, column, top)
    statistics = read_label_statistics(predictor.folder, predictor.labels[: predictor.num_trained]).get(label)
    return LabelProfile(label, name, relevant, attended, terms, nearest, statistics, num_train, test_count, test_f1)


def _attended(predictor: ReadyModel, column: int, top: int) -> list[tuple[str, float]]:
    network, tokens = predictor.network, predictor.tokens
    if not network.planted_parameters():
        return []
    candidates = np.setdiff1d(np.arange(tokens.size), tokens.special_ids)
    if not isinstance(tokens, WordTokens) and (table := predictor.relevance) is not None:
        candidates = np.sort(table.indices[table.indptr[column] : table.indptr[column + 1]])

    def attention(batch: dict[str, torch.Tensor], documents: Places) -> torch.Tensor:
        return network.scores(network.encode(batch), torch.full_like(batch["text"], column))[:, 0, 0]

    alone = TokenArrays(candidates.astype(np.int32), np.arange(len(candidates) + 1))
    attended = np.empty(len(candidates), np.float32)
    for scores, documents, _ in predictor.by_batch(predictor.unlabelled(alone, TOKENS_AT_ONCE), attention):
        attended[documents] = scores
    return _named(predictor, candidates, attended, top)


def _named(predictor: ReadyModel, tokens: npt.NDArray[np.integer], values: Floats, top: int) -> list[tuple[str, float]]:
    best = np.argsort(-values, kind="stable")[:top]
    return [(predictor.tokens.token(int(tokens[place])), float(values[place])) for place in best]


def _nearest(predictor: ReadyModel, column: int, top: int) -> list[tuple[str, str | None, float]]:
    """Compare labels by the cosine of their queries, by which attention knows them, less the mean query."""
    if not isinstance(predictor.network, HeadNetwork):
        return []
    with torch.inference_mode():
        queries = predictor.network.head.queries().flatten(1).float()  # (L, A·D)
        queries = queries - queries.mean(dim=0)
        cosines = torch.nn.functional.cosine_similarity(queries, queries[column][None]).cpu().numpy()
    order = [other for other in np.argsort(-cosines, kind="stable").tolist() if other != column][:top]
    labels = predictor.labels
    return [(labels[other], predictor.names(labels[other]), float(cosines[other])) for other in order]


def _tested(predictor: ReadyModel, column: int) -> tuple[int | None, int | None, dict[str, float] | None]:
    """Read the training documents, the test documents with the label, and its F1 on them."""
    path = predictor.folder / PER_DOCUMENT
    if not path.is_file():
        return None, None, None
    stored = load_per_document(path)
    if predictor.labels[column] not in stored.labels:
        fix = "copy that of the model's own run again, or delete it"
        raise CheckpointError("does not belong to this model", where=str(path), fix=fix)
    place = stored.labels.index(predictor.labels[column])
    truth = stored.truth[:, [place]].toarray()[:, 0] > 0
    f1 = {}
    for name, pairs in stored.predicted.items():
        predicted = pairs[:, [place]].toarray()[:, 0] > 0
        either = int(truth.sum() + predicted.sum())
        f1[name] = 2 * int((truth & predicted).sum()) / either if either else 0.0
    return stored.num_train, int(truth.sum()), f1
