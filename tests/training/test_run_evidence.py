"""Whole runs with evidence: the same numbers in training, testing and predicting, and nothing learned of test files."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from configurations import KIM_CNN, problems_of
from killed_runs import same_bytes, same_weights
from made_up_task import LABELS
from marked_task import marked_config, write_marked_splits
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.data.documents import load_corpus
from plant_plugin.errors import CheckpointError, Stopped
from plant_plugin.model.predictor import Predictor
from plant_plugin.relevance.log_odds import LogOdds
from plant_plugin.relevance.planted_scores import MARKED
from plant_plugin.report.machine import usable_cores
from plant_plugin.report.record import FIRST_PASS
from plant_plugin.report.run import Run
from plant_plugin.training.inputs import planted_relevance, prepare
from plant_plugin.training.run import run
from plant_plugin.training.stage1 import Stage1
from plant_plugin.training.weights import fit_phrases

Made = Callable[..., Config]


@pytest.fixture
def made_marked(tmp_path: Path) -> Made:
    """Builds a configuration on made-up files with evidence; keyword arguments override keys (dots as ``__``)."""
    write_marked_splits(tmp_path)
    return lambda **changes: marked_config(tmp_path, **changes)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, dict[str, Any]]:
    """PLANT planted from evidence, and its result."""
    folder = tmp_path_factory.mktemp("marked")
    write_marked_splits(folder)
    config = marked_config(folder, save_k_predictions=LABELS, planted_scores__weight=2.0)
    return config, run(config)


def lines_of(path: str | Path) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()


def texts_of(config: Config) -> list[str]:
    return [line.split("\t")[1] for line in lines_of(config.test_file)]


def content_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return content


def test_a_run_learns_and_keeps_its_phrases(trained: tuple[Config, dict[str, Any]]) -> None:
    config, result = trained
    folder = Path(config.checkpoint_dir)
    assert result["metrics"]["nDCG@5"] > 0.95
    assert content_of(folder)["phrase_prior"] == 1
    phrases = json.loads((folder / MARKED).read_text(encoding="utf-8"))["phrases"][0]["phrases"]
    assert sorted(map(sorted, phrases)) == sorted([f"mark{label}y", f"sign{label}x"] for label in range(LABELS))
    assert {"linear_weight", "sentence_weight"} <= result["planted_scores"].keys()


def test_a_predictor_scores_as_the_run_did(trained: tuple[Config, dict[str, Any]]) -> None:
    config, _ = trained
    predictor, texts = Predictor.load(Path(config.checkpoint_dir), device="cpu"), texts_of(config)
    logits = predictor.logits(texts)
    for row, line in zip(logits, lines_of(config.predict_out_path), strict=True):
        scores = {label: float(score) for label, score in (pair.rsplit(":", 1) for pair in line.split())}
        expected = row[[predictor.column_of[label] for label in scores]]
        np.testing.assert_allclose(list(scores.values()), expected, rtol=1e-3)  # of four digits
    (batch,) = predictor.batches(texts[:1], 1)
    assert len(batch["mark_place"])
    predictor.content["phrase_prior"] = 0
    assert np.abs(predictor.logits(texts) - logits).max() > 1e-3


@pytest.mark.parametrize("with_evidence", [False, True])
def test_a_model_is_tested_again_to_the_same_numbers(
    trained: tuple[Config, dict[str, Any]], tmp_path: Path, with_evidence: bool
) -> None:
    """Whatever the configuration says of evidence: the model brings its phrases and the strength that they had."""
    config, result = trained
    changes: dict[str, Any] = {"evidence__prior": 0.25}
    if not with_evidence:
        changes = {f"evidence__{key}_file": None for key in ("training", "val")}
        changes |= {"training_file": None, "val_file": None}
    folder = Path(config.test_file).parent
    again = marked_config(
        folder, **changes, eval=True, checkpoint_path=str(config.checkpoint_dir), result_dir=str(tmp_path)
    )
    tested = run(again)["metrics"]
    assert {"P@1", "nDCG@5", "Micro-F1@micro"} <= tested.keys()
    same = {name: value for name, value in tested.items() if with_evidence or "PSP" not in name}
    assert same == pytest.approx({name: result["metrics"][name] for name in same}, abs=1e-6)


def test_explanations_sum_to_the_logit(trained: tuple[Config, dict[str, Any]]) -> None:
    config, _ = trained
    predictor = Predictor.load(Path(config.checkpoint_dir), device="cpu")
    planted, text = predictor.planted_scores, texts_of(config)[0]
    assert planted is not None
    assert planted.weight > 0
    planted = replace(planted, sentence_weight=1.5)  # whatever was chosen
    predictor.planted_scores, predictor.log_odds = planted, LogOdds(offset=0.5)
    logits = predictor.logits([text])[0]
    for evidence in predictor.explain(text, predictor.labels).labels:
        column = predictor.column_of[evidence.scored.label]
        expected = planted.weight * planted.scores([text])[0, column]
        assert evidence.planted == pytest.approx(expected, abs=1e-4)
        assert evidence.contribution is not None
        total = evidence.contribution.sum() + evidence.elsewhere + evidence.bias + evidence.planted
        assert total == pytest.approx(logits[column], abs=1e-4)
    label = next(iter(lines_of(config.test_file)[0].split("\t")[0].split()))
    (own,) = predictor.explain(text, [label]).labels
    assert any(term.endswith(f"mark{label[1:]}y") and "…" in term for term, _ in own.terms)


def test_gradients_go_through_the_same_prior(trained: tuple[Config, dict[str, Any]]) -> None:
    """Of copies of a document, one a label, each with the marks of the document."""
    from plant_plugin.model.word_strength import EncodedDocument

    config, _ = trained
    predictor = Predictor.load(Path(config.checkpoint_dir), device="cpu")
    text = texts_of(config)[0]
    together = EncodedDocument(predictor, text).gradient_times_input([0, 1, 2])
    alone = [EncodedDocument(predictor, text).gradient_times_input([label]) for label in range(3)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)
    predictor.content["phrase_prior"] = 0
    unmarked = EncodedDocument(predictor, text).gradient_times_input([0, 1, 2])
    assert np.abs(together - unmarked).max() > 1e-4


def test_documents_are_counted_without_their_sentences(made_marked: Made) -> None:
    config = made_marked(max_seq_length=12)
    prepared = prepare(config, Run(config.checkpoint_dir, silent=True))
    plain = made_marked(max_seq_length=12, evidence__sentences=False)
    documents = prepare(plain, Run(plain.checkpoint_dir, silent=True))
    train = len(prepared.corpus.train)
    assert len(prepared.arrays["train"]) == len(prepared.training) > train + 50
    assert len(documents.arrays["train"]) == train == prepared.num_train == documents.num_train
    np.testing.assert_array_equal(prepared.train_counts, documents.train_counts)
    assert (prepared.document_labels != documents.labels["train"]).nnz == 0
    assert prepared.tokens.words == documents.tokens.words
    assert prepared.truncated == documents.truncated
    assert prepared.hashes == documents.hashes
    encoded = prepared.tokens.encode(prepared.training.texts, 12)
    np.testing.assert_array_equal(prepared.arrays["train"].ids, encoded.ids)
    np.testing.assert_array_equal(prepared.arrays["train"].offsets, encoded.offsets)
    assert prepared.labels["train"].shape[0] == len(prepared.training)
    assert (prepared.document_labels != documents.labels["train"]).nnz == 0


def test_relevance_is_counted_over_sentences_too(made_marked: Made, tmp_path: Path) -> None:
    found = []
    for sentences in (True, False):
        config = made_marked(evidence__sentences=sentences, result_dir=str(tmp_path / str(sentences)))
        of_run = Run(config.checkpoint_dir, silent=True)
        prepared = prepare(config, of_run)
        found.append(planted_relevance(prepared, config.relevance, of_run).matrix.toarray())
    column = load_corpus(made_marked()).label_names.index("L3")
    token = prepared.tokens.id_of["sign3x"]
    assert found[0][column, token] == pytest.approx(1)
    assert (found[0] > 0).sum() != (found[1] > 0).sum()


def test_files_of_validation_and_test_change_nothing_that_is_trained(made_marked: Made, tmp_path: Path) -> None:
    """Bit by bit; without `refit` validation's evidence is for measuring alone."""
    folders = []
    for name in ("as it is", "changed"):
        config = made_marked(stage2__epochs=1, batch_size=60, result_dir=str(tmp_path / name))
        run(config)
        folders.append(Path(config.checkpoint_dir))
        for split in ("valid", "test"):
            path = tmp_path / f"{split}_evidence.tsv"
            path.write_text("".join(f"{line.rsplit(chr(9), 1)[0]}\t0-7\n" for line in lines_of(path)[::2]))
    written = [{path.name for path in folder.iterdir() if path.is_file()} for folder in folders]
    assert written[0] == written[1]
    trained_files = {"relevance.npz", "planted_scores.npz", "planted_scores_terms.json", MARKED}
    trained_files |= {"vocabulary.json", "labels.txt", "thresholds.json", "metrics.csv"}
    assert trained_files <= written[0]
    assert [
        name for name in trained_files if (folders[0] / name).read_bytes() != (folders[1] / name).read_bytes()
    ] == []
    same_weights(*folders)


def test_evidence_of_training_documents_does_change_it(made_marked: Made, tmp_path: Path) -> None:
    """So that the test above can fail: each use of it leaves its trace."""
    whole = {"evidence__prior": 1.0, "evidence__sentences": True}
    found = []
    for change in ({}, {"evidence__prior": 0.0}, {"evidence__sentences": False}):
        given = {**whole, **change, "stage2__epochs": 1, "batch_size": 90}
        config = made_marked(**given, result_dir=str(tmp_path / str(len(found))))
        run(config, tests=False)
        found.append(load_file(Path(config.checkpoint_dir) / "model.safetensors"))
    weights = [b"".join(one[name].numpy().tobytes() for name in sorted(one)) for one in found]
    assert len(set(weights)) == 3


@pytest.mark.integration
def test_stopped_it_goes_on_to_the_same_bytes(
    made_marked: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    often = {"checkpoint_every": "2", "batch_size": 40, "stage2__epochs": 1}
    whole = made_marked(**often, result_dir=str(tmp_path / "whole"))
    run(whole)
    config = made_marked(**often, result_dir=str(tmp_path / "cut"))
    step = Stage1.training_step

    def stop(self: Any, batch: Any, batch_idx: int) -> Any:
        if batch_idx == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(self, batch, batch_idx)

    with monkeypatch.context() as patch:
        patch.setattr(Stage1, "training_step", stop)
        with pytest.raises(Stopped):
            run(config)
    resumed = {**often, "resume": str(config.checkpoint_dir)}
    path = tmp_path / "train_evidence.tsv"
    content = path.read_text()
    path.write_text("".join(content.splitlines(keepends=True)[1:]))
    with pytest.raises(CheckpointError, match="changed since the run was started: evidence"):
        run(made_marked(**resumed))
    path.write_text(content)
    run(made_marked(**resumed))
    same_bytes(whole.checkpoint_dir, config.checkpoint_dir)


def test_refit_trains_on_the_evidence_of_validation_documents(made_marked: Made, tmp_path: Path) -> None:
    path = tmp_path / "valid_evidence.tsv"
    first, *rest = lines_of(path)
    document, label, _ = first.split("\t")
    texts = lines_of(tmp_path / "valid.txt")
    end = len(texts[int(document)].split("\t")[1])
    texts[int(document)] += " onlyhere"  # in no training document
    (tmp_path / "valid.txt").write_text("\n".join(texts) + "\n")
    path.write_text("\n".join([f"{document}\t{label}\t{end + 1}-{end + 9}", *rest]) + "\n")
    config = made_marked(strategy="planted_scores", refit="train+val")
    result = run(config)
    folder = Path(config.checkpoint_dir)
    marked = [
        json.loads((one / MARKED).read_text(encoding="utf-8"))["phrases"][0]["phrases"]
        for one in (folder / FIRST_PASS, folder)
    ]
    assert [["onlyhere"] in phrases for phrases in marked] == [False, True]
    first_pass = json.loads((folder / FIRST_PASS / "run.json").read_text(encoding="utf-8"))
    assert first_pass["hashes"]["evidence"] != result["hashes"]["evidence"]
    assert result["metrics"]["P@1"] > 0.9


def test_planted_scores_alone_are_the_sum_of_their_parts(made_marked: Made) -> None:
    config = made_marked(strategy="planted_scores")
    run(config)
    folder = Path(config.checkpoint_dir)
    assert content_of(folder)["phrase_prior"] == 0
    predictor, texts = Predictor.load(folder, device="cpu"), texts_of(config)
    planted = predictor.planted_scores
    assert planted is not None
    assert planted.phrases is not None
    expected = np.zeros((len(texts), len(predictor.labels)), np.float32)
    planted.add_scores(expected, planted.scores(texts))
    np.testing.assert_allclose(predictor.logits(texts), predictor.log_odds.of(expected), atol=1e-4)


CNN = {"encoder": "cnn", "hidden_size": 16, "filter_sizes": [3], "embed_dim": 16, "num_heads": 2, "pool_size": 8}
OTHERS: dict[str, dict[str, Any]] = {
    "LAAT": {"model_name": "LAAT", "network_config": {"hidden_size": 8, "projection_size": 8, "embed_dim": 16}},
    "PlantedCAML": {
        "model_name": "PlantedCAML",
        "network_config": {
            "num_filter_per_size": 16, "filter_sizes": [3], "embed_dim": 16, "planted_prior": "additive"
        },
    },
    "PLANT without a prior": {"network_config": {**CNN, "planted_prior": "none"}},
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_networks_take_evidence(made_marked: Made, name: str) -> None:
    with_prior = OTHERS[name]["network_config"].get("planted_prior") == "additive"
    model = {} if with_prior else {"planted_scores__model": "none"}
    config = made_marked(**{**OTHERS[name], **model}, stage2__epochs=1)
    result = run(config)
    folder = Path(config.checkpoint_dir)
    assert content_of(folder)["phrase_prior"] == with_prior
    tested = run(
        made_marked(**{**OTHERS[name], **model}, eval=True, checkpoint_path=str(folder), result_dir=str(folder / "t"))
    )
    assert tested["metrics"] == pytest.approx(result["metrics"], abs=1e-6)


def test_mined_phrases_are_kept_and_explained(made_marked: Made) -> None:
    nothing = {f"evidence__{key}_file": None for key in ("training", "val")}
    config = made_marked(**nothing, evidence__mine=True, stage2__epochs=1, planted_scores__weight=2.0)
    result = run(config)
    folder = Path(config.checkpoint_dir)
    assert content_of(folder)["phrase_prior"] == 1
    tested = run(made_marked(**nothing, eval=True, checkpoint_path=str(folder), result_dir=str(folder / "t")))
    assert tested["metrics"] == pytest.approx(result["metrics"], abs=1e-6)
    predictor, text = Predictor.load(folder, device="cpu"), texts_of(config)[0]
    logits = predictor.logits([text])[0]
    for evidence in predictor.explain(text, predictor.labels).labels:
        assert evidence.contribution is not None
        total = evidence.contribution.sum() + evidence.elsewhere + evidence.bias + evidence.planted
        assert total == pytest.approx(logits[predictor.column_of[evidence.scored.label]], abs=1e-4)


def test_a_prior_of_phrases_needs_the_model_that_keeps_them(made_marked: Made, tmp_path: Path) -> None:
    alone = {"planted_scores": {"model": "none"}, "training_file": str(tmp_path / "train.txt"), "model_name": "PLANT"}
    evidence = {"training_file": str(tmp_path / "train_evidence.tsv")}
    network = {**CNN, "planted_prior": "additive"}
    found = problems_of(**alone, network_config=network, evidence=evidence)
    assert set(found) == {"evidence.prior"}
    assert "only planted scores keep them with the model" in found["evidence.prior"]
    assert set(problems_of(**alone, network_config=network, evidence={**evidence, "prior": -1})) == {"evidence.prior"}
    bags = {"data_format": "xmc", "vocab_file": str(tmp_path / "train.txt"), "evidence": {**evidence, "prior": 0}}
    assert set(problems_of(**alone, network_config=network, **bags)) == {"evidence"}
    config = made_marked(planted_scores__model="none", evidence__prior=0.0)
    of_run = Run(config.checkpoint_dir, silent=True)
    assert fit_phrases(prepare(config, of_run), config, of_run) is None


def test_baselines_of_libmultilabel_refuse_evidence(made_marked: Made, tmp_path: Path) -> None:
    evidence = {"training_file": str(tmp_path / "train_evidence.tsv")}
    files = {"training_file": str(tmp_path / "train.txt")}
    assert "KimCNN does not read it" in problems_of(**{**KIM_CNN, **files}, evidence=evidence)["evidence"]
    linear = problems_of(**files, linear=True, evidence=evidence)
    assert "a linear model does not read it" in linear["evidence"]


@pytest.mark.integration
@pytest.mark.skipif(usable_cores() < 2, reason="needs two processor cores")
def test_two_processes_do_what_one_does_with_twice_the_accumulation(made_marked: Made, tmp_path: Path) -> None:
    from test_devices import assert_same_run

    short = {"batch_size": 18, "eval_batch_size": 16, "save_k_predictions": 2}
    one = made_marked(**short, accumulate=2, result_dir=str(tmp_path / "one"))
    run(one)
    two = made_marked(**short, devices=2, result_dir=str(tmp_path / "two"))
    run(two)
    assert_same_run(one, two)
    files = [(Path(config.checkpoint_dir) / MARKED).read_bytes() for config in (one, two)]
    assert files[0] == files[1]
