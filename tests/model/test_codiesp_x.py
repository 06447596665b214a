"""Codes with their places, of several models together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_plausibility import evidence_of, write_spans

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.model.codiesp_x import PredictedCode, best_rule, codiesp_x, joined, union_of_cases
from plant_plugin.model.codiesp_x import predicted_codes as predicted
from plant_plugin.model.passages import EvidenceRule
from plant_plugin.report.logs import write_log_config

TEXT = "aa bb cc dd"
WORDS = np.array([[0, 2], [3, 5], [6, 8], [9, 11]])
CASES = 4  # of a split that the command reads: every order, share and gap is tried on them


def code(name: str, case: int = 0, **strengths: list[float]) -> PredictedCode:
    return PredictedCode(case, name, TEXT, WORDS, {order: np.array(values) for order, values in strengths.items()})


def test_cases_of_two_files_are_joined_by_their_text() -> None:
    texts, marked = union_of_cases([(["a", "b"], [{"D": [(0, 1)]}, {}]), (["b", "c"], [{"P": [(0, 1)]}, {}])])
    assert texts == ["a", "b", "c"]
    assert marked == [{"D": [(0, 1)]}, {"P": [(0, 1)]}, {}]


def test_spans_close_to_each_other_are_one_place() -> None:
    marked = [{"D": [(20, 25), (0, 3), (5, 9)]}, {}]
    assert joined(marked, 2) == [{"D": [(0, 9), (20, 25)]}, {}]
    assert joined(marked, 1) == [{"D": [(0, 3), (5, 9), (20, 25)]}, {}]
    assert joined(marked, None) == marked


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
    found = codiesp_x([(diagnoses, rule), ([code("P1", any=[0, 0, 0, 1.0])], rule)], marked, 1)
    assert [found[name][0] for name in ("precision", "recall", "F1")] == [2 / 3, 2 / 4, 4 / 7]
    assert all(low <= mean <= high for mean, low, high in found.values())


def test_without_evidence_it_says_what_can_be_given(trained: Path) -> None:
    shown = CliRunner().invoke(plant, ["codiesp-x", str(trained)])
    assert "there is no evidence file" in shown.output
    assert "put X_evidence.tsv beside each X.txt" in shown.output  # it has no option for one


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
    shown = CliRunner().invoke(plant, ["codiesp-x", str(run), "--device", "cpu", "--out", str(out)])
    assert shown.exit_code == 0, shown.output
    found = json.loads(out.read_text())
    assert found["cases"] == CASES
    predictor = Predictor.load(run, device="cpu")
    texts, marked = evidence_of(task / "test.txt")
    codes = {(one.case, one.code) for one in predicted(predictor, texts[:CASES])}
    truth = {(row, label) for row, labels in enumerate(marked[:CASES]) for label in labels}
    assert found["precision"][0] == pytest.approx(len(codes & truth) / len(codes))  # each code is found in its place
    assert found["recall"][0] == pytest.approx(len(codes & truth) / len(truth))
    again = CliRunner().invoke(plant, ["codiesp-x", str(run), str(run), "--device", "cpu", "--out", str(out)])
    assert json.loads(out.read_text())["F1"] == found["F1"], again.output
    assert CliRunner().invoke(plant, ["plausibility", str(run), "--device", "cpu"]).exit_code == 0
    # A sign with the text's first and last characters: as marks of their own the sign suffices, as parts it does not.
    for between, recall in ((";", found["recall"][0]), ("+", 0)):
        with open(tmp_path / "test_evidence.tsv", "w") as stream:
            for row, label in sorted(truth):
                signs = [f"{start}-{end}" for start, end in marked[row][label]]
                places = between.join(["0-1", *signs, f"{len(texts[row]) - 1}-{len(texts[row])}"])
                stream.write(f"{row}\t{label}\t{places}\n")
        CliRunner().invoke(plant, ["codiesp-x", str(run), "--device", "cpu", "--out", str(out)])
        assert json.loads(out.read_text())["recall"][0] == recall
