"""What a model knows of a label.

Shapes: L labels, V token types, C candidate tokens, N test documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from plant_plugin.data.tokens import WordTokens
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.model.explanation import column_of
from plant_plugin.model.trained import ReadyModel
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.report.label_statistics import LabelStatistics, read_label_statistics
from plant_plugin.report.result import PER_DOCUMENT

TOKENS_AT_ONCE = 1024  # candidates scored together, each a document of one token


@dataclass(frozen=True)
class LabelProfile:
    """What a model folder tells of a label.

    Attributes:
        label: As in the training files.
        name: What it stands for, where that is known.
        relevant: Tokens of the highest relevance (MIG as normalised in training), with it; None without a table.
        attended: Tokens that the learned attention scores highest when each stands alone, with the score (queries ·
            keys, without the planted prior). Over a language model only tokens with relevance are tried. Empty without
            a network.
        terms: Terms whose weights in the planted scores are highest, with the logits that the term as a whole document
            would add; None without planted scores.
        nearest: Labels whose attention queries, less the mean query, point the same way: label, name, cosine.
        statistics: Training and validation documents that have the label, and its F1 on the latter; None where the
            run had no validation split.
        num_train: Training documents; None where the run did not test.
        test_count: Test documents that have the label; None likewise.
        test_f1: Threshold's name -> F1 of the label on the test documents; None likewise.
    """

    label: str
    name: str | None
    relevant: list[tuple[str, float]] | None
    attended: list[tuple[str, float]]
    terms: list[tuple[str, float]] | None
    nearest: list[tuple[str, str | None, float]]
    statistics: LabelStatistics | None = None
    num_train: int | None = None
    test_count: int | None = None
    test_f1: dict[str, float] | None = None


def label_profile(predictor: ReadyModel, label: str, top: int = 15) -> LabelProfile:
    """Look a label up in a model.

    Args:
        predictor: The model.
        label: As in the training files.
        top: Tokens and labels of each list.

    Raises:
        ConfigError: The model does not know the label.
        CheckpointError: The relevance or the statistics beside it are torn, or made for another model.
        DataError: ``per_document.npz`` beside it is torn.
    """
    column = column_of(predictor, label)
    num_train, test_count, test_f1 = _tested(predictor, column)
    return LabelProfile(
        label,
        predictor.names(label),
        _relevant(predictor, column, top),
        _attended(predictor, column, top),
        _terms(predictor, column, top),
        _nearest(predictor, column, top),
        read_label_statistics(predictor.folder, column, label),
        num_train,
        test_count,
        test_f1,
    )


def _relevant(predictor: ReadyModel, column: int, top: int) -> list[tuple[str, float]] | None:
    if predictor.relevance is None:
        return None
    table = predictor.relevance
    row = slice(table.indptr[column], table.indptr[column + 1])
    return _named(predictor, table.indices[row], table.data[row], top)


def _terms(predictor: ReadyModel, column: int, top: int) -> list[tuple[str, float]] | None:
    planted = predictor.model.planted_scores
    if planted is None or not planted.weight:
        return None
    return [(term, planted.weight * value) for term, value in planted.strongest(column, top)]


def _attended(predictor: ReadyModel, column: int, top: int) -> list[tuple[str, float]]:
    if not predictor.network.planted_parameters():
        return []
    tokens = predictor.model.tokens
    candidates = np.setdiff1d(np.arange(tokens.size), tokens.special_ids)
    if not isinstance(tokens, WordTokens) and predictor.relevance is not None:
        table = predictor.relevance
        candidates = np.sort(table.indices[table.indptr[column] : table.indptr[column + 1]])
    if not len(candidates):
        return []
    return _named(predictor, candidates, np.concatenate(list(_alone(predictor, candidates, column))), top)


def _alone(predictor: ReadyModel, candidates: npt.NDArray[np.int64], column: int) -> Iterator[npt.NDArray[np.float32]]:
    """Attention scores (C,) of tokens, each as a document by itself."""
    for start in range(0, len(candidates), TOKENS_AT_ONCE):
        text = torch.from_numpy(candidates[start : start + TOKENS_AT_ONCE].astype(np.int64))[:, None]
        length = torch.ones(len(text), dtype=torch.int64)
        batch = {"text": text.to(predictor.device), "length": length, "mask": torch.ones_like(text, dtype=torch.bool)}
        batch["mask"] = batch["mask"].to(predictor.device)
        with torch.inference_mode():
            hidden = predictor.network.encode(batch)
            scores = predictor.network.scores(hidden, torch.full_like(batch["text"], column))  # (C, 1, 1)
        yield scores[:, 0, 0].float().cpu().numpy()


def _named(
    predictor: ReadyModel, tokens: npt.NDArray[np.integer], values: npt.NDArray[np.float32], top: int
) -> list[tuple[str, float]]:
    best = np.argsort(-values, kind="stable")[:top]
    return [(predictor.model.tokens.token(int(tokens[place])), float(values[place])) for place in best]


def _nearest(predictor: ReadyModel, column: int, top: int) -> list[tuple[str, str | None, float]]:
    """By the cosine of the queries, which are what the attention sees of a label, without what all labels share."""
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
    """Training documents, test documents with the label, and its F1 on them."""
    path = predictor.folder / PER_DOCUMENT
    if not path.is_file():
        return None, None, None
    stored = load_per_document(path)
    place = stored.labels.index(predictor.labels[column])
    truth = stored.truth[:, [place]].toarray()[:, 0] > 0
    f1 = {}
    for name, pairs in stored.predicted.items():
        predicted = pairs[:, [place]].toarray()[:, 0] > 0
        either = int(truth.sum() + predicted.sum())
        f1[name] = 2 * int((truth & predicted).sum()) / either if either else 0.0
    return stored.num_train, int(truth.sum()), f1
