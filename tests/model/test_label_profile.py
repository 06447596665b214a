"""What a model knows of a label."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from sklearn.metrics import f1_score

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.model import label_profile as module
from plant_plugin.model.label_profile import label_profile
from plant_plugin.model.manifest import write_manifest
from plant_plugin.report.label_statistics import LABEL_STATISTICS
from plant_plugin.report.result import PER_DOCUMENT


@pytest.fixture(scope="module")
def predictor(trained: Path) -> Predictor:
    return Predictor.load(trained, device="cpu", names={"L3": "the third"}.get)


def test_tokens_counts_and_f1(predictor: Predictor, task: Path) -> None:
    found = label_profile(predictor, "L3", top=5)
    assert found.name == "the third"
    assert found.relevant is not None
    assert found.relevant[0] == ("sign3x", 1.0)
    assert len(found.attended) == 5
    documents = {name: (task / f"{name}.txt").read_text().splitlines() for name in ("train", "valid", "test")}
    has = {name: [int("L3" in line.split("\t")[0].split()) for line in lines] for name, lines in documents.items()}
    assert found.statistics is not None
    assert (found.statistics.train_count, found.num_train) == (sum(has["train"]), 120)
    assert (found.statistics.validation_count, found.test_count) == (sum(has["valid"]), sum(has["test"]))
    column = predictor.column_of["L3"]
    tuned = {"micro", "macro"}
    for split, by_threshold, names in (
        ("valid", found.statistics.validation_f1, tuned), ("test", found.test_f1, {"0.5", *tuned}),
    ):  # fmt: skip
        texts = [line.split("\t")[1].strip() for line in documents[split]]
        assert by_threshold is not None
        assert set(by_threshold) == names
        for name, value in by_threshold.items():
            predicted = predictor.logits(texts)[:, column] > np.float32(predictor.thresholds[name])
            assert value == pytest.approx(f1_score(has[split], predicted, zero_division=0), abs=5e-5)


@pytest.mark.parametrize("damage", [lambda text: text[:30], lambda text: text.replace("L3\t", "L9\t"), lambda _: ""])
def test_statistics_that_are_torn_or_of_another_model(
    damage: Callable[[str], str], trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(trained, folder)
    path = folder / LABEL_STATISTICS
    path.write_text(damage(path.read_text()))
    write_manifest(folder)
    with pytest.raises(CheckpointError, match="does not belong to this model"):
        label_profile(Predictor.load(folder, device="cpu"), "L3")


def test_scores_of_the_test_documents_of_another_model(trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(trained, folder)
    path = folder / PER_DOCUMENT
    stored = load_per_document(path)
    replace(stored, labels=["L9" if label == "L3" else label for label in stored.labels]).save(path)
    with pytest.raises(CheckpointError, match="does not belong to this model"):
        label_profile(Predictor.load(folder, device="cpu"), "L3")


def test_learned_attention_is_that_of_a_token_alone(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    found = label_profile(predictor, "L3", top=1000).attended
    assert len(found) == predictor.tokens.size - 2
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    for token, score in (found[0], found[-1]):
        number = predictor.tokens.id_of[token]  # type: ignore[union-attr]
        hidden = predictor.network.encode({"text": torch.tensor([[number]]), "length": torch.tensor([1])})
        expected = predictor.network.scores(hidden, torch.tensor([[predictor.column_of["L3"]]]))
        assert score == pytest.approx(expected.item(), abs=1e-5)
    monkeypatch.setattr(module, "TOKENS_AT_ONCE", 7)
    assert [token for token, _ in label_profile(predictor, "L3", top=1000).attended] == [token for token, _ in found]


def test_terms_are_what_the_planted_scores_add_for_a_document_of_one(predictor: Predictor) -> None:
    planted, column = predictor.planted_scores, predictor.column_of["L3"]
    assert planted is not None
    found = label_profile(predictor, "L3", top=4).terms
    assert found is not None
    assert found[0][0] == "sign3x"
    assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)
    word, value = found[0]
    gained = planted.scores([word]) - planted.scores([""])
    assert value == pytest.approx(planted.weight * gained[0, column], abs=1e-5)


def test_nearest_labels(predictor: Predictor) -> None:
    found = label_profile(predictor, "L3", top=4).nearest
    queries = predictor.network.head.queries().detach().flatten(1).numpy()  # type: ignore[union-attr, operator]
    queries = queries - queries.mean(axis=0)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    cosines = queries @ queries[predictor.column_of["L3"]]
    assert [label for label, _, _ in found] == [predictor.labels[column] for column in np.argsort(-cosines)[1:5]]
    assert found[0][2] == pytest.approx(np.sort(cosines)[-2], abs=1e-5)


def test_over_a_language_model_only_relevant_tokens_are_tried(untrained: Callable[..., Path], task: Path) -> None:
    network = {"lm_weight": str(task / "bert"), "lm_window": 16, "num_heads": 2, "pool_size": 8}
    predictor = Predictor.load(untrained(network_config=network), device="cpu")
    found = label_profile(predictor, "L3", top=1000)
    assert found.relevant is not None
    assert {token for token, _ in found.attended} == {token for token, _ in found.relevant}
    assert (found.statistics, found.test_f1) == (None, None)  # this one was never tested


def test_without_relevance_and_with_a_network_of_your_own(
    untrained: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "training"))
    folder = untrained(model_name="own_network:OwnNetwork", network_config={})
    (folder / "relevance.npz").unlink()
    write_manifest(folder)
    found = label_profile(Predictor.load(folder, device="cpu", trust_code=True), "L3")
    assert (found.relevant, found.terms) == (None, None)
    assert found.nearest == []
    assert len(found.attended) == 15


def test_an_unknown_label(predictor: Predictor) -> None:
    with pytest.raises(ConfigError, match="does not know the label 'I10'"):
        label_profile(predictor, "I10")


def test_the_command(trained: Path) -> None:
    shown = CliRunner().invoke(plant, ["label", str(trained), "L3", "--top", "3", "--device", "cpu"])
    assert shown.exit_code == 0, shown.output
    assert "of 120 training documents" in shown.output
    assert "by MIG                            by learned attention              by planted scores\n" in shown.output
    assert shown.output.count("sign3x") >= 2
    assert "at threshold micro" in shown.output
    written = CliRunner().invoke(plant, ["label", str(trained), "L3", "--json", "--device", "cpu"])
    assert json.loads(written.stdout)["relevant"][0] == ["sign3x", 1.0]
    unknown = CliRunner().invoke(plant, ["label", str(trained), "L33"])
    assert unknown.exit_code == 2
    assert "did you mean L3" in unknown.output
