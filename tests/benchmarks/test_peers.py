"""Trees of other packages as linear techniques: what they are handed, and how their answers come back."""

from __future__ import annotations

import pickle
from io import BytesIO
from pathlib import Path

import numpy as np
import peers
import pytest
import run as runner
import scipy.sparse as sp
from definitions import load_definitions, plan
from kept_results import load_systems
from made_up_runs import LABELS
from sklearn.datasets import load_svmlight_file

from plant_plugin.config import registry
from plant_plugin.data.documents import load_corpus
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.evaluation.resampling import DocumentSums


def task() -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Labels (300, 40) and features (300, 60): each label has a word of its own, and words of none stand beside."""
    chance = np.random.default_rng(1)
    y = sp.random(300, 40, 0.05, format="csr", rng=chance)
    y.data[:] = 1
    x = sp.hstack([y, sp.random(300, 20, 0.2, format="csr", rng=chance)], format="csr")
    return sp.csr_matrix(y), sp.csr_matrix(x)


def test_settings_are_words() -> None:
    assert peers.options_of("cluster_balanced=false linear_c=0.5 beam_size=50 mode=full-model") == {
        "cluster_balanced": False, "linear_c": 0.5, "beam_size": 50, "mode": "full-model",
    }  # fmt: skip
    assert peers.options_of("") == peers.options_of(None) == {}


def test_omikuji_reads_what_is_written(tmp_path: Path) -> None:
    y, x = task()
    x = sp.csr_matrix(sp.diags(1.0 * (np.arange(300) % 7 > 0)) @ x)
    x.eliminate_zeros()
    kept = [row for row in range(300) if y[row].nnz and x[row].nnz]  # it can read no others
    assert 0 < len(kept) < y.getnnz(axis=1).astype(bool).sum() < 300
    peers._write(tmp_path / "training.txt", y, x)
    header, rest = (tmp_path / "training.txt").read_bytes().split(b"\n", 1)
    assert header.decode() == f"{len(kept)} 60 40"
    words, labels = load_svmlight_file(BytesIO(rest), n_features=60, multilabel=True, zero_based=True)
    assert [sorted(map(int, own)) for own in labels] == [sorted(y[row].indices) for row in kept]
    assert abs(words - x[kept]).max() < 1e-5


def test_labels_that_were_not_found_are_never_predicted() -> None:
    answers = sp.csr_matrix(np.array([[0.5, 0, 0.9]]))
    tree = peers.Tree(lambda _: answers, {"beam_size": 1})
    assert tree.predict_values(answers).tolist() == [[0.0, -np.inf, pytest.approx(np.log(9), rel=1e-5)]]
    assert b"beam_size" in pickle.dumps(tree)  # its settings, and no function


@pytest.mark.parametrize("name", ["omikuji", "pecos"])
def test_a_tree_finds_the_words_of_labels(name: str) -> None:
    pytest.importorskip(name)
    y, x = task()
    values = getattr(peers, name)(y, x, "beam_size=20").predict_values(x)
    first = values.argmax(axis=1)
    labelled = np.diff(y.indptr) > 0
    hits = np.asarray(y[np.arange(300), first]).ravel()[labelled]
    assert values.shape == (300, 40)
    assert hits.mean() > 0.8


def test_linear_models_may_train_without_the_validation_documents(tiny: Path) -> None:
    (tree,) = plan("many_labels", "tiny", [1], variants=["linear_tree"])[0]
    assert tree.on_a_part
    assert not {"validation_apart", "names_as_documents"} & set(tree.flags)
    flags, documents = runner.part_of_training(tree, tiny / "part")
    named = dict(zip(flags[::2], flags[1::2], strict=True))
    assert documents == len(Path(named["--training_file"]).read_text().splitlines()) == 150


def test_names_of_labels_are_documents_that_no_propensity_counts(tiny: Path, in_this_process: list[list[str]]) -> None:
    Path("label_names.tsv").write_text("".join(f"{label}\tsign{label}x\n" for label in LABELS))
    definitions = load_definitions()
    definitions["many_labels"]["variants"]["with_names"] = {
        "config": "linear", "validation_apart": True, "names_as_documents": True,
    }  # fmt: skip
    (planned,) = plan("many_labels", "tiny", [1], variants=["with_names"], definitions=definitions)[0]
    assert runner.run_experiment([planned], tiny / "results", tiny / "work") == []
    (system,) = load_systems(tiny / "results")
    (documents,) = system.documents
    corpus = load_corpus(planned.config)
    assert documents.num_train == len(corpus.train) == 150
    counts = corpus.label_matrix(corpus.train).sum(axis=0)
    np.testing.assert_array_equal(documents.train_counts, counts)
    told = system.results[0]["metrics"]
    metrics = [parse_metric(name) for name in ("PSP@5", "Macro-F1@0.5:11-50")]
    found = DocumentSums(documents, metrics).resampled(np.ones((1, len(documents))))[0]
    assert found.tolist() == [told[metric.name] for metric in metrics]
    assert told["P@1"] > 0.5


def test_peers_stand_in_a_registry_beside_them(tiny: Path) -> None:
    (bonsai,) = plan("many_labels", "tiny", [1], variants=["bonsai"])[0]
    assert bonsai.config.linear_technique == "omikuji"
    entry = registry.get("linear", "omikuji")
    assert entry.is_users
    assert entry.load() is peers.omikuji
