"""How alike a label's attention is across its documents and across seeds; what the experiment `attention` measures.

For each test document and each of its labels, the attention over the document's words is summed by word and kept for
the label's 20 most relevant words: a vector with a hole for each word that the document lacks. Two vectors are compared
by the cosine over the words that both have, at least two. Even attention that is spread flat over all words is alike
everywhere, so the share of the attention that falls on these words is reported beside it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from definitions import Planned
from kept_results import Runs, change_runs

from plant_plugin.data.batches import move
from plant_plugin.model.trained import load_model
from plant_plugin.report.run import Run
from plant_plugin.training.devices import device_of
from plant_plugin.training.inputs import Inputs, planted_relevance, prepare
from plant_plugin.training.stage import Candidates
from plant_plugin.training.stage1 import choose_labels

TOP_WORDS = 20
COMMON = 0.01  # share of the training documents from which a label is common
MOST_DOCUMENTS = 50  # of a label, of which all pairs are compared

Vectors = dict[tuple[int, int], npt.NDArray[np.float64]]  # (label, document) -> (TOP_WORDS,), NaN: no such word


def vectors_of(planned: Planned, folder: Path) -> tuple[Vectors, npt.NDArray[np.bool_]]:
    """Attention vectors of a trained network on its test split, and which labels are common, (L,)."""
    model = load_model(folder)
    network, tokens, labels = model.network, model.tokens, model.labels
    record = Run(folder, silent=True)
    documents = prepare(planned.config, record, tokens, labels)
    counts, matrix = documents.train_counts, planted_relevance(documents, planned.config.relevance, record).matrix
    assert counts is not None
    if network.has_prior:
        network.plant_relevance(matrix)
    top = [_top_words(matrix, label) for label in range(documents.num_labels)]
    device = device_of(planned.config)
    network.to(device).eval()
    found: Vectors = {}
    with torch.inference_mode():
        for batch in Inputs(documents).batches("test", planned.config.eval_batch_size):
            chosen, real = choose_labels(Candidates.of(batch, documents.num_labels), "positive")
            on_device = move(batch, device)
            attention = network.attention(network.encode(on_device), chosen.to(device), with_prior=network.has_prior)
            weights = attention.float().cpu().numpy()
            for row, place in np.argwhere(real.numpy()):
                label = int(chosen[row, place])
                words, mask = batch["text"][row].numpy(), batch["mask"][row].numpy()
                vector = _by_word(words[mask], weights[row, place][mask], top[label])
                found[label, int(batch["document"][row])] = vector
    return found, counts >= COMMON * (documents.num_train or 0)


def _top_words(matrix: Any, label: int) -> npt.NDArray[np.int64]:
    row = slice(matrix.indptr[label], matrix.indptr[label + 1])
    order = np.argsort(-matrix.data[row], kind="stable")[:TOP_WORDS]
    return np.asarray(matrix.indices[row][order], dtype=np.int64)


def _by_word(
    words: npt.NDArray[np.int64], weights: npt.NDArray[np.float32], top: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """The attention on each of the top words (at most TOP_WORDS), NaN where the document lacks it."""
    here = words[:, None] == top
    vector = np.full(TOP_WORDS, np.nan)
    vector[: len(top)] = np.where(here.any(axis=0), (weights[:, None] * here).sum(axis=0), np.nan)
    return vector


def cosine(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float | None:
    """Cosine over the words that both have; None with fewer than two, or where either has no attention there."""
    both = ~np.isnan(one) & ~np.isnan(other)
    lengths = np.linalg.norm(one[both]) * np.linalg.norm(other[both])
    return None if both.sum() < 2 or not lengths else float(one[both] @ other[both] / lengths)


def across_documents(vectors: Vectors) -> dict[int, float]:
    """Label -> mean cosine over pairs of its documents."""
    by_label: dict[int, list[npt.NDArray[np.float64]]] = defaultdict(list)
    for (label, _), vector in sorted(vectors.items(), key=lambda pair: pair[0]):
        by_label[label].append(vector)
    found = {
        label: [cosine(*pair) for pair in itertools.combinations(own[:MOST_DOCUMENTS], 2)]
        for label, own in by_label.items()
    }
    return _means(found)


def across_seeds(seeds: list[Vectors]) -> dict[int, float]:
    """Label -> mean cosine of the same documents under two seeds."""
    found: dict[int, list[float | None]] = defaultdict(list)
    for one, other in itertools.combinations(seeds, 2):
        for key in one.keys() & other.keys():
            found[key[0]].append(cosine(one[key], other[key]))
    return _means(found)


def _means(found: dict[int, list[float | None]]) -> dict[int, float]:
    """Of what is there."""
    numbers = {label: [value for value in values if value is not None] for label, values in found.items()}
    return {label: float(np.mean(values)) for label, values in numbers.items() if values}


def measure(runs: list[Planned], folder: Path, work: Path) -> None:
    """Add `attention` to the results whose trained networks are still in ``work``."""
    by_name: dict[str, list[Planned]] = defaultdict(list)
    for planned in runs:
        by_name[planned.name].append(planned)
    measures: dict[tuple[str, int], dict[str, Any]] = {}
    for name, seeds in by_name.items():
        kept = [(planned, next(_place(planned, folder, work).glob("*/result.json"), None)) for planned in seeds]
        there = [(planned, path.parent) for planned, path in kept if path is not None]
        measured = [vectors_of(planned, place) for planned, place in there]
        between = across_seeds([vectors for vectors, _ in measured])
        for (planned, _), (vectors, common) in zip(there, measured, strict=True):
            share = {key[0]: [] for key in vectors}
            for (label, _), vector in vectors.items():
                share[label].append(float(np.nansum(vector)))
            values = {
                "across_documents": across_documents(vectors),
                "across_seeds": between,
                "on_top_words": {label: float(np.mean(found)) for label, found in share.items()},
            }
            measures[name, planned.seed] = _by_kind(values, common)

    def add(kept: Runs) -> None:
        for key, attention in measures.items():
            kept[key].result["attention"] = attention

    change_runs(folder, add)


def _place(planned: Planned, folder: Path, work: Path) -> Path:
    return work / folder.name / planned.name / f"seed{planned.seed}"


def _by_kind(values: dict[str, dict[int, float]], common: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Each measure's values of rare and of common labels, in order of size (no label is named), and their means."""
    found: dict[str, Any] = {"summary": {}}
    for what, by_label in values.items():
        for kind, wanted in (("rare", False), ("common", True)):
            numbers = sorted(round(value, 4) for label, value in by_label.items() if common[label] == wanted)
            found.setdefault(what, {})[kind] = numbers
            found["summary"][f"{what}:{kind}"] = float(np.mean(numbers)) if numbers else None
    return found
