"""Documents whose network scores a shortlist of labels alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from plant_plugin.config import Config
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.model.predictor import Predictor
from plant_plugin.networks.losses import focal_loss
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.relevance import label_ridge, linear
from plant_plugin.relevance.ridge import RidgeOptions, solve_ridge
from plant_plugin.report.run import Run
from plant_plugin.training import run as training_run
from plant_plugin.training import stage2
from plant_plugin.training.build import build_network
from plant_plugin.training.inputs import Inputs, Logits, Shortlists, prepare
from plant_plugin.training.run import run
from plant_plugin.training.shortlist import recall_by_size
from plant_plugin.training.stage import Candidates
from plant_plugin.training.stage1 import choose_labels
from plant_plugin.training.weights import weigh

Made = Callable[..., Config]
SCORES = {"planted_scores__model": "ridge"}
SIZE = 5


def texts_of(name: str | None) -> list[str]:
    return [line.split("\t")[1] for line in Path(str(name)).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, dict[str, object]]:
    from made_up_task import made_config, write_splits

    folder = tmp_path_factory.mktemp("short")
    write_splits(folder)
    config = made_config(folder, **SCORES, shortlist__size=SIZE)
    return config, dict(run(config))


@pytest.mark.integration
@pytest.mark.parametrize("hard_negatives", [None, 5])
def test_a_shortlist_of_all_labels_changes_nothing(
    made: Made, capsys: pytest.CaptureFixture[str], hard_negatives: int | None
) -> None:
    own = {
        **SCORES,
        "stage2__hard_negatives": hard_negatives,
        "silent": False,
        "stage1__epochs": 1,
        "stage2__epochs": 1,
    }
    without, whole = made(**own), made(**own, shortlist__size=40, result_dir=f"{made().result_dir}_2")
    results = [run(config)["metrics"] for config in (without, whole)]
    assert "shortlist: 12 labels a document" in capsys.readouterr().err  # there are no more
    texts = texts_of(without.test_file)
    logits = [Predictor.load(config.checkpoint_dir, device="cpu").logits(texts) for config in (without, whole)]
    np.testing.assert_allclose(logits[1], logits[0], atol=1e-3)
    assert results[1] == pytest.approx(results[0], abs=0.005)


@pytest.mark.integration
def test_outside_the_shortlist_a_label_has_nothing_of_the_network_but_its_lowest_logit(
    short: tuple[Config, dict[str, object]],
) -> None:
    config, _ = short
    predictor, texts = Predictor.load(config.checkpoint_dir, device="cpu"), texts_of(config.test_file)
    planted = predictor.planted_scores
    assert planted is not None
    assert predictor.content["shortlist"] == SIZE
    listed, scores = planted.proposed(texts, SIZE), planted.scores(texts)
    best = np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :SIZE], axis=1)
    np.testing.assert_array_equal(listed, best)

    batch = next(iter(predictor.batches(texts, len(texts))))
    with torch.inference_mode():
        every = predictor.network.logits(predictor.network.encode(batch)).numpy()[np.argsort(batch["document"])]
    expected = np.empty_like(every)
    for document, labels in enumerate(listed):
        expected[document] = every[document, labels].min()
        expected[document, labels] = every[document, labels]
    planted.add_scores(expected, scores)
    np.testing.assert_allclose(predictor.logits(texts), predictor.log_odds.of(expected), atol=1e-4)


def test_a_test_of_the_folder_repeats_the_run(short: tuple[Config, dict[str, object]], tmp_path: Path) -> None:
    config, result = short
    again = replace(config, eval=True, checkpoint_path=str(config.checkpoint_dir), checkpoint_dir=tmp_path / "again")
    assert run(again)["metrics"] == pytest.approx(result["metrics"], abs=1e-6)


@pytest.mark.integration
def test_a_resumed_run_and_the_second_pass_of_a_refit_have_the_same_size(made: Made) -> None:
    config = made(**SCORES, shortlist__size="auto", refit="train+val", stage2__epochs=1, stage1__epochs=1)
    run(config)
    sizes = {
        Predictor.load(folder, device="cpu").content["shortlist"]
        for folder in (config.checkpoint_dir, config.checkpoint_dir / "first_pass")
    }
    assert sizes == {12}  # of the sizes tried, all above the number of labels, the one that is left


def test_of_candidates_own_labels_stand_behind_the_shortlist() -> None:
    batch = {
        "text": torch.zeros(2, 3, dtype=torch.long),
        "label_row": torch.tensor([0, 0, 1]),
        "label_column": torch.tensor([1, 6, 4]),
        "shortlist": torch.tensor([[0, 1, 3], [2, 4, 5]]),
    }
    found = Candidates.of(batch, 8)
    assert found.labels is not None
    assert found.labels[0].tolist() == [0, 1, 3, 6]
    assert found.labels[1, :3].tolist() == [2, 4, 5]
    assert found.positives.tolist() == [[False, True, False, True], [False, True, False, False]]
    assert found.real.tolist() == [[True] * 4, [True] * 3 + [False]]

    torch.manual_seed(0)
    labels, chosen = choose_labels(found, 8)
    real = [set(row[own].tolist()) for row, own in zip(labels, chosen, strict=True)]
    assert real == [{0, 1, 3, 6}, {2, 4, 5}]
    labels, chosen = choose_labels(found, "all")
    assert [set(row[own].tolist()) for row, own in zip(labels, chosen, strict=True)] == real


@pytest.mark.parametrize("count", [None, 1, 2])
@pytest.mark.parametrize("worth_selecting", [0.0, 1.0])
def test_the_loss_is_over_own_labels_and_the_hardest_of_the_shortlist(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int | None, worth_selecting: float
) -> None:
    monkeypatch.setattr(stage2, "WORTH_SELECTING", worth_selecting)
    config = made(stage2__hard_negatives=count)
    record = Run(tmp_path / "run", silent=True)
    documents = prepare(config, record)
    network = build_network(documents, config, record).eval()
    random = np.random.default_rng(1)
    listed = np.sort([random.choice(12, 4, replace=False) for _ in range(120)], axis=1).astype(np.int32)
    batches = Inputs(documents, shortlists=Shortlists({"train": listed})).batches("train", 8)
    batch = next(iter(batches))
    loss = stage2.Stage2(network, config.stage2, config, batches, None).training_loss(batch)

    logits, truth = network.logits(network.encode(batch)), documents.labels["train"].toarray()
    expected = []
    for row, document in enumerate(batch["document"].tolist()):
        own = np.flatnonzero(truth[document]).tolist()
        others = sorted(set(listed[document].tolist()) - set(own), key=lambda label: -float(logits[row, label]))
        chosen = own + others[:count]
        target = torch.tensor(truth[document, chosen], dtype=torch.float32)
        expected.append(focal_loss(logits[row, chosen], target).mean())
    torch.testing.assert_close(loss, torch.stack(expected).mean(), rtol=1e-4, atol=1e-5)


def test_wrong_labels_of_a_training_document_are_in_the_order_they_would_have_had_it_been_left_out() -> None:
    random = np.random.default_rng(3)
    features = sp.csr_array(random.random((12, 30), dtype=np.float32) * (random.random((12, 30)) < 0.4))
    labels = sp.csr_array((random.random((12, 6)) < 0.3).astype(np.float32))
    options = RidgeOptions(top=30)
    fitted = (features @ solve_ridge(features, labels, options).T).toarray()
    for document in range(12):
        others = np.delete(np.arange(12), document)
        left_out = features[[document]] @ solve_ridge(features[others], labels[others], options).T
        wrong = np.flatnonzero(labels[[document]].toarray()[0] == 0)
        order = np.argsort(-left_out.toarray()[0, wrong])
        np.testing.assert_array_equal(np.argsort(-fitted[document, wrong]), order)


def test_the_weight_beside_the_network_is_chosen_on_its_own_logits(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []

    def scored(planted: Any, inputs: Inputs, validation: Sequence[Logits], *others: Any) -> Any:
        shown.append({int(one): row for rows, own in validation for one, row in zip(own, rows, strict=True)})
        return weigh(planted, inputs, validation, *others)

    monkeypatch.setattr(training_run, "weigh", scored)
    epochs = {"stage1__epochs": 1, "stage2__epochs": 1}
    weights = []
    for size in (None, 12):
        result = run(made(**SCORES, **epochs, shortlist__size=size, result_dir=str(tmp_path / f"runs{size}")))
        weights.append(result["planted_scores"]["weight"])
    for document, logits in shown[0].items():
        np.testing.assert_allclose(shown[1][document], logits, atol=1e-3)
    assert weights[0] > 0
    assert weights[1] == pytest.approx(weights[0], rel=1e-3)


def test_recall_by_size_counts_true_labels_among_the_highest() -> None:
    top = sp.csr_array(np.array([[0.1, 0.9, 0, 0.5], [0.2, 0, 0.3, 0.1]], dtype=np.float32))
    truth = sp.csr_array(np.array([[1, 1, 1, 0], [0, 0, 0, 1]], dtype=np.float32))
    assert recall_by_size(top, truth, [1, 2, 3]) == {1: 1 / 4, 2: 1 / 4, 3: 3 / 4}


@pytest.mark.integration
@pytest.mark.parametrize("refit", ["none", "train+val"])
def test_of_so_many_labels_that_they_are_looked_up_nothing_else_is_scored(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refit: str
) -> None:
    for module in (linear, label_ridge):
        monkeypatch.setattr(module, "PRUNED_ABOVE", 1)
    monkeypatch.setattr(
        PlantableNetwork, "forward", lambda *_: pytest.fail("a row of all labels was made")
    )  # by the run: what predicts all logits is asked for them
    config = made(
        planted_scores__model="label_ridge", shortlist__size=SIZE, refit=refit, save_k_predictions=SIZE + 2,
        stage1__epochs=1, stage2__epochs=2, monitor_metrics=["P@1", "nDCG@5", "Micro-F1"],
    )  # fmt: skip
    result = run(config)
    again = replace(config, eval=True, checkpoint_path=str(config.checkpoint_dir), checkpoint_dir=tmp_path / "again")
    assert run(again)["metrics"] == pytest.approx(result["metrics"], abs=1e-6)
    assert not {"MAP", "AUC-micro", "AUC-macro"} & set(result["metrics"])
    assert "MAP-gold" in result["metrics"]  # what is not found counts as that

    predictor, texts = Predictor.load(config.checkpoint_dir, device="cpu"), texts_of(config.test_file)
    planted = predictor.planted_scores
    assert planted is not None
    assert planted.weight > 0
    found = {
        document: (labels[row], logits[row])
        for labels, logits, documents, _ in predictor.listed(planted, texts, SIZE)
        for row, document in enumerate(documents.tolist())
    }
    lines = Path(config.predictions_path).read_text().splitlines()
    assert len(lines) == len(texts)
    for document, line in enumerate(lines):
        labels, logits = found[document]
        order = np.argsort(-logits, kind="stable")
        assert [pair.rpartition(":")[0] for pair in line.split()] == [predictor.labels[one] for one in labels[order]]
        written = [float(pair.rpartition(":")[2]) for pair in line.split()]
        assert written == pytest.approx(logits[order].tolist(), rel=1e-3, abs=1e-3)
    truth = [set(line.split("\t")[0].split()) for line in Path(str(config.test_file)).read_text().splitlines()]
    best = [predictor.labels[found[row][0][found[row][1].argmax()]] for row in range(len(texts))]
    hits = np.mean([label in own for label, own in zip(best, truth, strict=True)])
    assert result["metrics"]["P@1"] == pytest.approx(hits)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({}, "planted scores propose"),
        ({**SCORES, "val_file": None, "val_size": 0, "shortlist__size": "auto"}, "no validation documents"),
        ({**SCORES, "shortlist__size": 0}, "at least 1"),
    ],
)
def test_a_shortlist_that_cannot_be_is_refused(made: Made, changes: dict[str, object], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        made(**{"shortlist__size": 3, **changes})


def test_a_folder_with_a_shortlist_needs_planted_scores(
    short: tuple[Config, dict[str, object]], tmp_path: Path
) -> None:
    import json
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(short[0].checkpoint_dir, folder)
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**content, "planted_scores": False}))
    with pytest.raises(CheckpointError, match="shortlist without planted scores"):
        Predictor.load(folder, device="cpu")


def test_an_explanation_says_nothing_of_the_network_where_it_did_not_score(
    short: tuple[Config, dict[str, object]],
) -> None:
    config, _ = short
    predictor, text = Predictor.load(config.checkpoint_dir, device="cpu"), texts_of(config.test_file)[0]
    listed = set(predictor.shortlist([text])[0].tolist())  # type: ignore[index]
    explained = predictor.explain(text, predictor.labels)
    for label in explained.labels:
        assert label.contribution is not None
        inside = predictor.column_of[label.scored.label] in listed
        assert (label.attention.sum() > 0) == inside  # outside, words add what the planted scores say
        total = float(label.contribution.sum()) + label.bias + label.elsewhere + label.planted
        assert total == pytest.approx(label.scored.logit, abs=1e-3)


def test_planted_scores_alone_need_no_shortlist(made: Made) -> None:
    config = made(**SCORES, strategy="planted_scores", shortlist__size=3)
    run(config)
    assert Predictor.load(config.checkpoint_dir, device="cpu").content["shortlist"] is None
