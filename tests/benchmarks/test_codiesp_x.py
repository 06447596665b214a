"""CodiEsp-X by its rule, as the task's own script counts it, and of several models together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from codiesp_x import (
    PredictedCode,
    best_rule,
    codiesp_x_counts,
    extents,
    main,
    place_found,
    precision_recall_f1,
    predicted_codes,
    score,
    union_of_cases,
)
from made_up_task import evidence_of, made_config, write_spans, write_splits

from plant_plugin import Predictor
from plant_plugin.data.text import DocumentMarks
from plant_plugin.model.passages import EvidenceRule
from plant_plugin.report.logs import write_log_config
from plant_plugin.training.run import run as train

TEXT = "aa bb cc dd"
WORDS = np.array([[0, 2], [3, 5], [6, 8], [9, 11]])
CASES = 4  # of a split that the command reads: every order, share and gap is tried on them


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the made-up files."""
    folder = tmp_path_factory.mktemp("task")
    write_splits(folder)
    return folder


@pytest.fixture(scope="module")
def trained(task: Path) -> Path:
    """A model that knows the words of each label."""
    config = made_config(task, stage2__epochs=15, batch_size=16)
    train(config)
    return Path(config.checkpoint_dir)


def code(name: str, case: int = 0, **strengths: list[float]) -> PredictedCode:
    return PredictedCode(case, name, TEXT, WORDS, {order: np.array(values) for order, values in strengths.items()})


def test_cases_of_two_files_are_joined_by_their_text() -> None:
    texts, marked = union_of_cases([(["a", "b"], [{"D": [(0, 1)]}, {}]), (["b", "c"], [{"P": [(0, 1)]}, {}])])
    assert texts == ["a", "b", "c"]
    assert marked == [{"D": [(0, 1)]}, {"P": [(0, 1)]}, {}]


def test_the_rule_is_the_one_that_places_most_codes() -> None:
    long = "far away words here"
    words = np.array([[0, 3], [4, 8], [9, 14], [15, 19]])
    strengths = {"worse": np.array([1.0, 0, 0, 0]), "better": np.array([0, 0, 0.3, 1.0])}
    one = PredictedCode(0, "D", long, words, strengths)
    rule = best_rule([one, code("unmarked", better=[1.0, 0, 0, 0], worse=[1.0, 0, 0, 0])], [{"D": [(9, 19)]}], 1)
    assert rule.order == "better"
    assert rule.share <= 0.3
    assert one.places(rule, 1) == [(9, 19)]


def test_models_are_scored_together() -> None:
    rule = EvidenceRule("any", 0.5, 1, None)
    diagnoses = [code("D1", any=[1.0, 0, 0, 0]), code("D2", any=[0, 1.0, 0, 0]), code("D3", 1, any=[0, 0, 0, 0])]
    marked = [{"D1": [(0, 2)], "P1": [(9, 11)], "P2": [(0, 11)]}, {"D9": [(0, 2)]}]
    found = score([(diagnoses, rule), ([code("P1", any=[0, 0, 0, 1.0])], rule)], marked, 1)
    assert [found[name][0] for name in ("precision", "recall", "F1")] == [2 / 3, 2 / 4, 4 / 7]
    assert all(low <= mean <= high for mean, low, high in found.values())


@pytest.mark.integration
def test_without_evidence_it_says_what_can_be_given(trained: Path) -> None:
    shown = CliRunner().invoke(main, [str(trained)])
    assert "there is no evidence file" in shown.output


@pytest.mark.integration
def test_the_command(trained: Path, task: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    files = {}
    for split, key in (("valid", "val_file"), ("test", "test_file")):
        few = (task / f"{split}.txt").read_text().splitlines(keepends=True)[:CASES]
        (tmp_path / f"{split}.txt").write_text("".join(few))
        write_spans(tmp_path / f"{split}_evidence.tsv", evidence_of(task / f"{split}.txt")[1][:CASES])
        files[key] = str(tmp_path / f"{split}.txt")
    write_log_config(run / "logs.json", files)
    out = tmp_path / "x.json"
    shown = CliRunner().invoke(main, [str(run), "--device", "cpu", "--out", str(out)])
    assert shown.exit_code == 0, shown.output
    found = json.loads(out.read_text())
    assert found["cases"] == CASES
    predictor = Predictor.load(run, device="cpu")
    texts, marked = evidence_of(task / "test.txt")
    codes = {(one.case, one.code) for one in predicted_codes(predictor, texts[:CASES])}
    truth = {(row, label) for row, labels in enumerate(marked[:CASES]) for label in labels}
    assert found["precision"][0] == pytest.approx(len(codes & truth) / len(codes))  # each code is found in its place
    assert found["recall"][0] == pytest.approx(len(codes & truth) / len(truth))
    again = CliRunner().invoke(main, [str(run), str(run), "--device", "cpu", "--out", str(out)])
    assert json.loads(out.read_text())["F1"] == found["F1"], again.output
    # A sign with the text's first and last characters: as marks of their own the sign suffices, as parts it does not.
    for between, recall in ((";", found["recall"][0]), ("+", 0)):
        with open(tmp_path / "test_evidence.tsv", "w") as stream:
            for row, label in sorted(truth):
                signs = [f"{start}-{end}" for start, end in marked[row][label]]
                places = between.join(["0-1", *signs, f"{len(texts[row]) - 1}-{len(texts[row])}"])
                stream.write(f"{row}\t{label}\t{places}\n")
        CliRunner().invoke(main, [str(run), "--device", "cpu", "--out", str(out)])
        assert json.loads(out.read_text())["recall"][0] == recall


@pytest.mark.parametrize(
    ("predicted", "found"),
    [
        ((100, 110), True),
        ((90, 120), True),  # ten characters too many on either side
        ((89, 110), False),
        ((100, 121), False),
        ((101, 110), False),  # the place has to be held whole
        ((100, 109), False),
    ],
)
def test_a_predicted_place_holds_the_marked_one(predicted: tuple[int, int], found: bool) -> None:
    assert place_found([predicted], [(100, 110)]) == found
    assert place_found([(0, 5), predicted], [(300, 310), (100, 110)]) == found


def test_precision_counts_pairs_with_a_place() -> None:
    counts = codiesp_x_counts([{"a": [(1, 2)]}, {}], [{"a": [(1, 2), (5, 9)], "b": []}, {"c": [(3, 4)]}])
    assert counts.tolist() == [[1, 1, 1], [0, 1, 0]]
    assert precision_recall_f1(counts) == (0.5, 1.0, 2 / 3)
    assert precision_recall_f1(codiesp_x_counts([], [])) == (0, 0, 0)


def test_as_the_script_of_the_task_counts() -> None:
    """Micro-averages of codiespX_evaluation.py (TeMU-BSC/codiesp-evaluation-script, 976fc11, pandas 1.5.3).

    The script read these made-up tables as TSV, with all codes valid, and printed 0.444444444444, 0.5, 0.470588235294.
    The place of bw24 stood there as ``60 64;70 80``, a mark in two parts.
    """
    marks: list[DocumentMarks] = [
        {"r50.9": [[(10, 20)], [(100, 110)]], "i10": [[(40, 52)]], "bw24": [[(60, 64), (70, 80)]],
         "j18.9": [[(200, 215)]]},
        {"i10": [[(5, 17)]], "e11.9": [[(30, 44)]], "0dtj": [[(50, 61)]]},
        {"n20.0": [[(8, 23)]]},
        {},
    ]  # fmt: skip
    marked = [extents(own) for own in marks]
    predicted = [
        {
            "r50.9": [(90, 110), (300, 310)],
            "i10": [(29, 52)],
            "bw24": [(55, 90)],
            "j18.9": [(201, 215)],
            "n20.0": [(1, 5)],
        },
        {"i10": [(5, 27)], "e11.9": [(30, 55)], "0dtj": [(50, 61)]},
        {},
        {"i10": [(3, 9)]},
    ]
    found = precision_recall_f1(codiesp_x_counts(marked, predicted))
    assert found == pytest.approx((0.444444444444, 0.5, 0.470588235294), abs=1e-12)
