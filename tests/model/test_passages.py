from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_up_task import evidence_of

from plant_plugin import Predictor
from plant_plugin.errors import CheckpointError
from plant_plugin.model.passages import EVIDENCE_THRESHOLD, EvidenceRule, passages, read_rule, strong_runs, write_rule
from plant_plugin.model.plausibility import chosen_rule, marked_pairs


def test_passages_join_neighbours_and_leave_out_what_is_faint_or_speaks_against() -> None:
    text = " ".join(f"w{place:02}" for place in range(40))
    spans = np.array([(4 * place, 4 * place + 3) for place in range(40)])
    strength = np.zeros(40, dtype=np.float32)
    strength[[3, 6, 20, 30, 33, 34, 38]] = [1.0, 0.5, 2.0, -3.0, 0.5, 0.75, 0.39]
    found = passages(text, spans, strength, EvidenceRule())
    assert [(text[one.start : one.end], one.score) for one in found] == [
        ("w20", 2.0),
        ("w03 w04 w05 w06", 1.5),
        ("w33 w34", 1.25),
    ]
    assert found[1].before == "w00 w01 w02 "
    assert found[0].after == " w21 w22 w23 w24 w25 w26"


def test_passages_follow_the_rule_of_validation(trained: Path, task: Path, tmp_path: Path) -> None:
    predictor = Predictor.load(trained, device="cpu")
    assert predictor.evidence_rule == EvidenceRule()
    rule = chosen_rule(marked_pairs(predictor, *evidence_of(task / "valid.txt")))
    assert rule.words is None
    assert 0 < rule.share <= 1
    predictor.evidence_rule = rule
    [evidence] = predictor.explain("filler1 sign3x filler2 filler4 filler5 sign3x filler7", ["L3"]).labels
    assert {(passage.start, passage.end) for passage in evidence.passages} == {(8, 14), (39, 45)}
    assert write_rule(tmp_path, rule) == tmp_path / EVIDENCE_THRESHOLD
    assert read_rule(tmp_path) == rule
    (tmp_path / EVIDENCE_THRESHOLD).write_text("{")
    with pytest.raises(CheckpointError, match="torn"):
        read_rule(tmp_path)


def test_runs_of_strong_words() -> None:
    strength = np.array([0.5, 0.0, 1.0, -3.0, 0.2, 0.5])
    for rule, runs in (
        (EvidenceRule(share=0.5, gap=1, words=None), [[0], [2], [5]]),
        (EvidenceRule(share=0.5, gap=2, words=None), [[0, 2], [5]]),
        (EvidenceRule(share=0.1, gap=2, words=None), [[0, 2, 4, 5]]),
        (EvidenceRule(share=0.1, gap=1, words=2), [[0], [2]]),
    ):
        assert [run.tolist() for run in strong_runs(strength, rule)] == runs
    assert strong_runs(np.zeros(3), EvidenceRule(share=0.01)) == []
