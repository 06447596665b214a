from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from made_up import LABELS, Outcome

from plant_plugin.errors import CheckpointError, ConfigError, DataError
from plant_plugin.files import sha256
from plant_plugin.host import baseline as baseline_module
from plant_plugin.host import linear
from plant_plugin.host.linear import CountableTruth

Baseline = Callable[..., Outcome]
LINEAR = {"linear": True, "liblinear_options": "-s 1 -B 1 -e 0.0001 -q -m 1"}
TREE = {**LINEAR, "linear_technique": "tree", "tree_degree": 3, "tree_max_depth": 2}


SLOW = [
    pytest.param(name, marks=pytest.mark.integration)
    for name in ("thresholding", "cost_sensitive", "cost_sensitive_micro")
]


@pytest.mark.parametrize("technique", ["1vsrest", *SLOW])
def test_flat_techniques(technique: str, baseline: Baseline) -> None:
    outcome = baseline(**LINEAR, linear_technique=technique, save_k_predictions=3)
    result, logged = outcome.result, outcome.logs["test"][0]
    assert result["model"] == f"linear-{technique}"
    assert result["metrics"]["P@1"] == pytest.approx(logged["P@1"])
    assert result["metrics"]["Micro-F1@0.5"] == pytest.approx(logged["Micro-F1"])
    assert result["thresholds"].keys() == {"0.5", "micro", "macro"}
    assert (outcome.folder / "linear_pipeline.pickle").is_file()
    assert {len(line.split()) for line in outcome.predictions.read_text().splitlines()} == {3}


@pytest.mark.parametrize("models", [1, pytest.param(2, marks=pytest.mark.integration)])
def test_trees_answer_in_logits(models: int, baseline: Baseline) -> None:
    outcome = baseline(**TREE, tree_ensemble_models=models, beam_width=2, save_positive_predictions=True)
    result, logged = outcome.result, outcome.logs["test"][0]
    assert result["model"] == "linear-tree"
    assert result["metrics"]["P@1"] == pytest.approx(logged["P@1"])
    # LibMultiLabel counts each label inside the beam as predicted, this package those above probability one half.
    assert result["metrics"]["Micro-P@0.5"] > logged["Micro-F1"]
    assert outcome.predictions.read_text().count("\n") == 24


def test_of_very_many_labels_a_tree_scores_its_beam_alone(baseline: Baseline, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {**TREE, "beam_width": 2}
    whole = baseline(**options).result
    monkeypatch.setattr(linear, "PRUNED_ABOVE", 1)
    found = baseline(**options, data_name="beam").result
    left_out = set(whole["metrics"]) - set(found["metrics"])
    assert {name.partition(":")[0] for name in left_out} == {"MAP", "AUC-macro", "AUC-micro"}
    assert found["metrics"] == pytest.approx({name: whole["metrics"][name] for name in found["metrics"]})
    assert found["thresholds"] == pytest.approx(whole["thresholds"], abs=1e-3)  # trees differ a little each time


def test_validation_only_tunes_thresholds(baseline: Baseline) -> None:
    with_validation = baseline(**LINEAR)
    without = baseline(**LINEAR, data_name="without", val_file=None, val_size=0)
    assert without.result["thresholds"] == {"0.5": 0.0}
    assert with_validation.logs["test"] == without.logs["test"]
    assert with_validation.result["hashes"]["train"] == without.result["hashes"]["train"]
    assert with_validation.result["metrics"]["P@1"] == without.result["metrics"]["P@1"]


def test_without_a_validation_file_thresholds_are_tuned_on_a_part_of_training(baseline: Baseline) -> None:
    plain = baseline(**LINEAR, val_file=None, val_size=0)
    found = baseline(**LINEAR, data_name="part", val_file=None)
    few = baseline(**LINEAR, data_name="few", val_file=None, val_size=9)
    assert found.result["thresholds"].keys() == {"0.5", "micro", "macro"}
    assert few.result["thresholds"] == {"0.5": 0.0}
    assert found.logs["test"] == plain.logs["test"]  # the model has all training documents, as LibMultiLabel's
    common = found.result["metrics"].keys() & plain.result["metrics"].keys()
    assert len(common) > 20
    assert {name: found.result["metrics"][name] for name in common} == {
        name: plain.result["metrics"][name] for name in common
    }
    assert not list(found.folder.glob("**/*.txt"))  # texts stay in no run's folder


def test_a_part_that_does_for_no_thresholds_costs_no_run(baseline: Baseline, monkeypatch: pytest.MonkeyPatch) -> None:
    trained, asked = baseline_module._trained, list[int]()

    def second_fails(settings: Any, run: Any) -> Any:
        asked.append(settings["save_k_predictions"])
        if len(asked) == 2:
            raise DataError("every training document has exactly one label")
        return trained(settings, run)

    monkeypatch.setattr(baseline_module, "_trained", second_fails)
    found = baseline(**LINEAR, val_file=None, save_k_predictions=2)
    assert asked == [2, 0]
    assert found.result["thresholds"] == {"0.5": 0.0}


def test_a_saved_model_is_evaluated_alone(baseline: Baseline) -> None:
    trained = baseline(**LINEAR)
    pipeline = str(trained.folder / "linear_pipeline.pickle")
    tested = baseline(
        **LINEAR, data_name="again", eval=True, checkpoint_path=pipeline, training_file=None, val_file=None
    )
    assert tested.logs["test"] == trained.logs["test"]
    assert tested.result["metrics"]["nDCG@5"] == trained.result["metrics"]["nDCG@5"]


@pytest.mark.parametrize("data_format", ["txt", "svm"])
def test_test_labels_outside_the_set_count_in_map_gold(
    data_format: str, baseline: Baseline, data: Path, tmp_path: Path
) -> None:
    files = {"training_file": str(data / f"train.{data_format}"), "val_file": None, "data_format": data_format}
    known = baseline(**LINEAR, **files, test_file=str(data / f"test.{data_format}")).result["metrics"]
    lines = (data / f"test.{data_format}").read_text().splitlines()
    more = {"txt": "unknown ", "svm": "99,"}[data_format]
    (tmp_path / "more").write_text("".join(f"{more}{line}\n" for line in lines))
    found = baseline(**LINEAR, **files, data_name="more", test_file=str(tmp_path / "more")).result["metrics"]
    assert known["MAP-gold"] == known["MAP"] == found["MAP"] > found["MAP-gold"] > 0


def test_libsvm_files(baseline: Baseline, data: Path) -> None:
    files = {
        key: str(data / f"{name}.svm")
        for key, name in (("training_file", "train"), ("val_file", "valid"), ("test_file", "test"))
    }
    outcome = baseline(**LINEAR, **files, data_format="svm")
    assert outcome.result["counts"]["labels"] == LABELS
    assert outcome.result["thresholds"].keys() == {"0.5", "micro", "macro"}
    with pytest.raises(CheckpointError, match="trained on data_format svm"):
        baseline(**LINEAR, data_name="t", eval=True, checkpoint_path=str(outcome.folder / "linear_pipeline.pickle"))


def test_files_of_the_extreme_classification_repository(baseline: Baseline, data: Path, tmp_path: Path) -> None:
    """Other files, the same model: only the counting of features differs."""
    svm, xmc = {}, {}
    for key, name in (("training_file", "train"), ("val_file", "valid"), ("test_file", "test")):
        svm[key], xmc[key] = str(data / f"{name}.svm"), str(tmp_path / f"{name}.txt")
        lines = (data / f"{name}.svm").read_text().splitlines()
        shifted = [re.sub(r"(\d+):", lambda found: f"{int(found[1]) - 1}:", line) for line in lines]
        Path(xmc[key]).write_text("\n".join([f"{len(lines)} 30 {LABELS}", *shifted]) + "\n")
    one = baseline(**LINEAR, **svm, data_name="svm", data_format="svm")
    two = baseline(**LINEAR, **xmc, data_name="xmc", data_format="xmc", cache_dir=str(tmp_path / "cache"))
    # The solver draws documents by the C library's random numbers, which other code of the process may draw from too.
    assert two.result["metrics"] == pytest.approx(one.result["metrics"], abs=0.002)
    assert two.result["counts"] == one.result["counts"]


def test_one_label_each(baseline: Baseline, data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="do not have exactly one label"):
        baseline(**LINEAR, linear_technique="binary_and_multiclass")
    single = {}
    for key, name in (("training_file", "train"), ("test_file", "test")):
        lines = (data / f"{name}.txt").read_text().splitlines()
        single[key] = str(tmp_path / f"{name}.txt")
        Path(single[key]).write_text("".join(f"{line.split()[0]}\t{line.split(chr(9))[1]}\n" for line in lines))
    outcome = baseline(**LINEAR, **single, val_file=None, data_name="s", linear_technique="binary_and_multiclass")
    assert outcome.result["model"] == "linear-binary_and_multiclass"
    assert outcome.result["metrics"]["P@1"] == pytest.approx(outcome.logs["test"][0]["P@1"])
    with pytest.raises(ConfigError, match="a tree is only for several"):
        baseline(**TREE, **single, val_file=None, data_name="tree")


def test_bad_files(baseline: Baseline, tmp_path: Path) -> None:
    (tmp_path / "torn.pickle").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="not a linear model"):
        baseline(**LINEAR, eval=True, checkpoint_path=str(tmp_path / "torn.pickle"))
    (tmp_path / "bad.txt").write_text("label1\ttext\nlabel1\ttext\tmore\n")
    with pytest.raises(DataError, match="line 2"):
        baseline(**LINEAR, training_file=str(tmp_path / "bad.txt"), data_name="bad")


def test_silent_prints_nothing(baseline: Baseline, capfd: pytest.CaptureFixture[str]) -> None:
    baseline(**LINEAR)
    assert capfd.readouterr() == ("", "")


def test_column_counts_where_libmultilabel_asks_for_axis_2() -> None:
    truth = CountableTruth(sp.csr_matrix(np.array([[1, 0, 1], [1, 0, 0]])))
    assert np.sum(truth.tocsc(), 2).tolist() == [[2, 0, 1]]
    assert truth.tocsc().sum(axis=1).tolist() == [[2], [1]]


def test_filtered_labels_are_left_out_of_the_result(baseline: Baseline, data: Path, tmp_path: Path) -> None:
    labels = [line.split("\t")[0].split() for line in (data / "test.txt").read_text().splitlines()]
    path = tmp_path / "filter.txt"
    path.write_text("".join(f"{document} {names[0]}\n" for document, names in enumerate(labels) if names))
    plain, filtered = baseline(**LINEAR), baseline(**LINEAR, data_name="filtered", test_filter_file=str(path))
    left = sum(len(set(names)) - 1 for names in labels if names)
    assert filtered.result["metrics"]["P@3"] <= left / 3 / len(labels) < plain.result["metrics"]["P@3"]
    assert filtered.logs["test"] == plain.logs["test"]  # LibMultiLabel's own numbers
    assert filtered.result["hashes"]["test_filter"] == sha256(path)
    assert "test_filter" not in plain.result["hashes"]
    path.write_text(f"0 {labels[0][0]}\n{len(labels)} {labels[0][0]}\n")
    with pytest.raises(DataError, match=r"filter\.txt, line 2: document 24, but the test file has 24"):
        baseline(**LINEAR, data_name="wrong", test_filter_file=str(path))
