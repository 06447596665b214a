"""Rules of ``choose: true`` on made-up counts; the first tests hold them to what won on real data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plant_plugin.config import load_config
from plant_plugin.evaluation.verdict import Comparison
from plant_plugin.training.choose.decisions import LONGEST, SHORTEST, Decision, Facts, decide
from plant_plugin.training.choose.settle import _filled, _left_open


def gains(gain: float, to: float = 0.002) -> Comparison:
    return Comparison(gain, gain - to, gain + to, 0.0, None, 0.0, seeds=1)


CODIESP = Facts(
    500, 1767, 11.3, 322, 900, "es", evidence="train_evidence.tsv", val_evidence="valid_evidence.tsv",
    has_validation=True,
)  # fmt: skip
EURLEX_6K = Facts(6000, 2512, 5.0, 390, 400, "en", names="label_names.tsv", has_validation=True, lead=gains(0.014))
EURLEX_57K = replace(EURLEX_6K, documents=45_000, labels=4108, words=512, long=3000, free_memory=16 * 1024**3)
SMALL = Facts(40, 6, 1.0, 12, 20)


def decisions(facts: Facts) -> list[Decision]:
    return decide(facts)


def keys(facts: Facts) -> dict[str, Any]:
    return {key: value for decision in decisions(facts) for key, value in decision.keys.items()}


def test_clinical_cases_with_evidence_get_what_won_there() -> None:
    found = keys(CODIESP)
    assert found["max_seq_length"] == 900
    assert found["evidence.training_file"] == "train_evidence.tsv"
    assert found["evidence.val_file"] == "valid_evidence.tsv"
    assert (found["stage1.k"], found["stage1.epochs"], found["stage2.epochs"]) == (20, 2, 3)
    assert (found["refit"], found["val_metric"], found["planted_scores.lead"]) == ("train+val", "MAP", 0)
    assert "val_size" not in found


def test_laws_get_what_won_there() -> None:
    found = keys(EURLEX_6K)
    assert (found["max_seq_length"], found["batch_size"], found["min_vocab_freq"]) == (400, 16, 2)
    assert (found["strategy"], found["stage2.epochs"], found["stage2.hard_negatives"]) == ("auto", 4, 200)
    assert (found["planted_scores.lead"], found["evidence.mine"], found["refit"]) == (40, False, "none")
    assert found["val_metric"] == "nDCG@5"
    assert "planted_scores.model" not in found


def test_many_laws_are_solved_at_once_and_read_less_far_where_memory_holds_them() -> None:
    found = keys(EURLEX_57K)
    assert (found["batch_size"], found["min_vocab_freq"], found["max_seq_length"]) == (32, 3, 250)
    assert (found["planted_scores.model"], found["planted_scores.top"]) == ("ridge", 10_000)
    assert (found["strategy"], found["shortlist.size"]) == ("auto", 100)  # as plant_yso.yml
    assert (found["stage1.epochs"], found["stage2.epochs"], found["stage2.hard_negatives"]) == (1, 2, None)
    without = keys(replace(EURLEX_57K, scores=False))  # nothing could propose
    assert (without["strategy"], without["stage1.epochs"], "shortlist.size" in without) == ("plant", 0, False)
    assert keys(replace(EURLEX_57K, free_memory=1024**3))["planted_scores.model"] == "label_ridge"
    assert keys(replace(EURLEX_57K, documents=50_000, free_memory=2**40))["planted_scores.model"] == "label_ridge"
    on_gpu = keys(replace(EURLEX_57K, gpu=True))
    assert (on_gpu["strategy"], on_gpu["max_seq_length"]) == ("auto", LONGEST)


def test_many_short_documents_with_few_labels_are_trained_in_one_stage() -> None:
    found = keys(replace(EURLEX_57K, labels=300))
    assert (found["strategy"], found["stage1.epochs"], found["stage2.epochs"]) == ("auto", 0, 3)


def test_documents_drawn_for_validation_are_trained_on_too() -> None:
    found = keys(replace(EURLEX_6K, has_validation=False))
    assert (found["val_size"], found["refit"]) == (0.1, "none")
    assert keys(replace(EURLEX_57K, has_validation=False))["val_size"] == 0.05
    found = keys(replace(SMALL, documents=999))
    assert (found["val_size"], found["refit"]) == (0.2, "train+val")


def test_documents_held_out_are_trained_on_where_as_many_more_would_tell() -> None:
    thousands = replace(EURLEX_6K, has_validation=False)
    for more, again in ((None, "none"), (gains(0.001), "none"), (gains(0.02), "train+val")):
        found = decisions(replace(thousands, more=more))[-1]
        assert found.keys["refit"] == again
        assert ("points of nDCG@5" in found.reason) == (more is not None)


def test_names_are_tried_where_they_say_more_labels() -> None:
    assert keys(replace(SMALL, named=70_000))["label_set"] == "auto"
    assert "label_set" not in keys(SMALL)


def test_small_data() -> None:
    found = keys(SMALL)
    assert found["max_seq_length"] == SHORTEST
    assert found["stage1.k"] == 5
    assert found["stage2.epochs"] == 12
    assert found["stage2.hard_negatives"] is None
    assert found["planted_scores.lead"] == 0


@pytest.mark.parametrize(
    ("labels", "watched", "monitored"),
    [
        (3, "nDCG@2", ["MAP", "nDCG@2", "P@1", "P@2", "Micro-F1", "Macro-F1"]),
        (2, "nDCG@1", ["MAP", "nDCG@1", "P@1", "Micro-F1", "Macro-F1"]),
        (1, "Micro-F1", ["Micro-F1", "Macro-F1"]),
    ],
)
def test_no_rank_asks_for_all_labels(labels: int, watched: str, monitored: list[str]) -> None:
    found = keys(replace(SMALL, labels=labels))
    assert (found["val_metric"], found["monitor_metrics"]) == (watched, monitored)


@pytest.mark.parametrize(("gain", "mines"), [(None, False), (-0.05, False), (0.001, False), (0.2, True)])
def test_phrases_are_mined_where_validation_gains(gain: float | None, mines: bool) -> None:
    found = keys(replace(SMALL, mined=None if gain is None else gains(gain)))
    assert found["evidence.mine"] is mines
    assert found["stage2.epochs"] == (4 if mines else 12)


@pytest.mark.parametrize(("gain", "letters"), [(None, "not tried"), (0.001, None), (0.02, 6)])
def test_words_are_read_by_their_first_letters_where_validation_gains(
    gain: float | None, letters: int | str | None
) -> None:
    assert (
        keys(replace(SMALL, letters=None if gain is None else gains(gain))).get(
            "planted_scores.word_letters", "not tried"
        )
        == letters
    )


def test_hundreds_of_documents_without_evidence_get_the_network_that_won_there() -> None:
    few = replace(CODIESP, evidence=None, val_evidence=None, network=True)
    found = keys(few)
    assert (found["model_name"], found["network_config"]["projection_size"]) == ("LAAT", 128)
    assert (found["stage1.epochs"], found["stage1.learning_rate"]) == (6, 0.01)  # as planted_laat_bc5cdr.yml
    assert (found["stage2.epochs"], found["stage2.learning_rate"]) == (4, 0.006)
    assert found["network_config.initial_logit"] == -1.5
    assert _filled({}, decisions(few))["network_config"]["initial_logit"] == -1.5
    assert "initial_logit" not in _filled({}, decisions(replace(few, labels=40)))["network_config"]
    others = (CODIESP, EURLEX_6K, EURLEX_57K, SMALL, replace(few, documents=399), replace(few, documents=2001))
    for facts in (replace(few, network=False), *(replace(facts, network=True) for facts in others)):
        assert not {"model_name", "network_config", "stage1.learning_rate", "stage2.learning_rate"} & keys(facts).keys()
        assert keys(facts)["learning_rate"] == 0.003


def test_a_learning_rate_of_ones_own_is_that_of_both_stages() -> None:
    few = replace(CODIESP, evidence=None, val_evidence=None, network=True)
    left = {key for decision in decisions(few) for key in _left_open(decision, {"learning_rate"}).keys}
    assert {"stage1.epochs", "stage2.epochs"} <= left
    assert not {"learning_rate", "stage1.learning_rate", "stage2.learning_rate"} & left


def test_labels_start_low_where_few_steps_are_made_without_evidence() -> None:
    few = replace(CODIESP, evidence=None, val_evidence=None, mined=gains(0.05))
    assert keys(few)["network_config.initial_logit"] == -1.5
    for facts in (CODIESP, EURLEX_6K, replace(few, labels=40)):
        assert "network_config.initial_logit" not in keys(facts)


@pytest.mark.parametrize(("names", "said"), [("icd10", "icd10"), ("label_names.tsv", None), (None, None)])
def test_names_of_codes_are_named_and_files_are_found_anyway(names: str | None, said: str | None) -> None:
    assert keys(replace(SMALL, names=names)).get("planted_scores.names") == said


@pytest.mark.parametrize("facts", [CODIESP, EURLEX_6K, EURLEX_57K, SMALL])
def test_every_rule_gives_a_reason_in_one_line(facts: Facts) -> None:
    assert len(decisions(facts)) == 10
    assert all(decision.reason and "\n" not in decision.reason for decision in decisions(facts))


@pytest.mark.parametrize("facts", [EURLEX_6K, EURLEX_57K, SMALL, replace(SMALL, mined=gains(0.1))])
def test_what_is_chosen_is_a_configuration(facts: Facts) -> None:
    unchecked = load_config("plant.yml", {"training_file": "demo:train"}).unchecked
    values = _filled({**unchecked, "choose": False}, decisions(replace(facts, names=None)))
    config = load_config(None, values)
    assert not config.choose
    assert config.network_config["encoder"] == "cnn"
    assert config.stage1.pairs == "top_vs_all"  # of plant.yml, beside what was chosen in the same block
