from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import scipy.sparse as sp
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge

from plant_plugin.config.options import MOST_EXACT
from plant_plugin.errors import ConfigError
from plant_plugin.relevance import cholesky, ridge
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.relevance.ridge import RidgeOptions

HALF = 0.0005  # what weights of 16 bits may differ by

EVERYTHING = RidgeOptions(model="ridge", penalty=0.5, top=10**6, kept=1)


HARD = "aB9_ -éßſ²½\u0301İ、\n\u00a0𝟘"


@pytest.mark.usefixtures("all_bits")
def test_equals_scikit_learns_kernel_ridge(task) -> None:
    texts, labels, unseen = task
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    features = vectorizer.fit_transform(texts)
    expected = KernelRidge(alpha=0.5).fit(features, labels.toarray()).predict(vectorizer.transform(unseen))
    found = PlantedScores.fit(texts, labels, EVERYTHING).scores(unseen)
    np.testing.assert_allclose(found, expected, atol=HALF)
    assert found.std() > 0.01


def test_blocks_of_documents_columns_and_labels_change_nothing(task, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels, unseen = task
    whole = PlantedScores.fit(texts, labels, EVERYTHING)
    for name, size in (("ROWS", 7), ("COLUMNS", 4), ("LABELS", 2), ("FREQUENT", 0.3)):
        monkeypatch.setattr(ridge, name, size)
    monkeypatch.setattr(cholesky, "ROWS", 11)
    np.testing.assert_allclose(
        PlantedScores.fit(texts, labels, EVERYTHING).scores(unseen), whole.scores(unseen), atol=HALF
    )


def test_documents_that_cannot_be_solved_at_once_are_refused(task, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels, _ = task
    monkeypatch.setattr(ridge, "MOST_EXACT", 59)
    with pytest.raises(ConfigError, match=r"(?s)planted_scores\.model: 60 documents at once are more .*label_ridge"):
        PlantedScores.fit(texts, labels, EVERYTHING)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=4 * 40**2))
    with pytest.raises(ConfigError, match=r"(?s)planted_scores\.model: 60 documents at once need .*label_ridge"):
        PlantedScores.fit(texts, labels, EVERYTHING)
    PlantedScores.fit(texts, labels, dataclasses.replace(EVERYTHING, model="label_ridge"))


# What a process of its own does, for one that ends without a word to be seen: OpenBLAS did at 30,000 documents.
AT_THE_LIMIT = """
import sys
import numpy as np
import scipy.sparse as sp
import torch
from plant_plugin.relevance.ridge import RidgeOptions, solve_ridge

documents, terms, threads = int(sys.argv[1]), 2000, int(sys.argv[2])
torch.set_num_threads(threads)
drawn = np.random.default_rng(0)
features = sp.random_array((documents, terms), density=0.004, format="csr", dtype=np.float32, rng=drawn)
targets = sp.csr_array((drawn.random((documents, 3)) < 0.1).astype(np.float32))
weights = solve_ridge(features, targets, RidgeOptions(model="ridge", penalty=0.2, top=terms)).toarray()
primal = (features.T @ features).toarray().astype(float) + 0.2 * np.eye(terms)
expected = np.linalg.solve(primal, (features.T @ targets).toarray()).T
assert np.abs(weights - expected).max() < 1e-3 * np.abs(expected).max(), np.abs(weights - expected).max()
print("solved")
"""


@pytest.mark.limits
@pytest.mark.parametrize("threads", [2, 1, 4])
@pytest.mark.parametrize("documents", [30_000, MOST_EXACT])
def test_the_largest_number_of_documents_is_solved_by_any_number_of_threads(documents: int, threads: int) -> None:
    if psutil.virtual_memory().available < 4 * documents**2 * 1.3:
        pytest.skip(f"{documents:,} documents need {4 * documents**2 * 1.3 / 2**30:.0f} GiB of free memory")
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    arguments = [sys.executable, "-c", AT_THE_LIMIT, str(documents), str(threads)]
    ended = subprocess.run(arguments, env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "solved\n"), ended.stderr[-2000:]


def test_a_penalty_that_tells_equal_documents_apart_in_64_bits_alone_is_refused() -> None:
    labels = sp.csr_array(np.eye(4, dtype=np.float32))
    with pytest.raises(ConfigError, match="1e-12 is too little for 32 bits"):
        PlantedScores.fit(["one two"] * 4, labels, RidgeOptions(model="ridge", penalty=1e-12, min_documents=1))


def test_keeps_the_largest_weights_of_each_label(task) -> None:
    texts, labels, _ = task
    whole = PlantedScores.fit(texts, labels, EVERYTHING).linear.weights.toarray()
    pruned = PlantedScores.fit(texts, labels, RidgeOptions(penalty=0.5, top=3)).linear.weights.toarray()
    for full, kept in zip(whole, pruned, strict=True):
        chosen = np.argsort(-np.abs(full))[:3]
        assert set(np.flatnonzero(kept)) == set(chosen)
        np.testing.assert_allclose(kept[chosen], full[chosen], atol=1e-6)


@pytest.mark.parametrize(
    ("documents", "labels", "model"),
    [(6_000, 2_632, "ridge"), (16_000, 30_000, "ridge"), (16_001, 50, "label_ridge"), (15_000, 50_000, "label_ridge")],
)
def test_auto_chooses_by_size(documents: int, labels: int, model: str) -> None:
    assert RidgeOptions(model="auto").model_for(documents, labels) == model
    assert RidgeOptions(model="ridge").model_for(documents, labels) == "ridge"


def test_what_adds_little_to_a_label_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares of 64, 16, 4, 1 and 0.81: the first three are 97.9 % of 85.81, so that a fourth is kept."""
    weights = torch.tensor([[1, -8, 2, 0, -4, 0.9], [0, 0, 0, 0, 0, 0]])
    order = np.array([5, 4, 3, 2, 1, 0])
    for least, top, kept in ((1, 9, [1, 3, 4, 5]), (5, 9, [0, 1, 3, 4, 5]), (1, 2, [1, 4])):
        monkeypatch.setattr(ridge, "LEAST", least)
        found = ridge._largest(weights, order, RidgeOptions(top=top, kept=0.98))
        assert found.indices.tolist() == kept
        assert found.indptr.tolist() == [0, len(kept), len(kept)]
