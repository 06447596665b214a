from __future__ import annotations

import subprocess
import sys

import pytest

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.names import BINS, check_ranks, examples, parse_metric


@pytest.mark.parametrize("name", examples())
def test_every_example_parses_and_keeps_its_name(name: str) -> None:
    assert parse_metric(name).name == name


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("P@5", "P@5"),
        ("NDCG@10", "nDCG@10"),
        ("Micro-F1", "Micro-F1@0.5"),
        ("Micro-F1@.50", "Micro-F1@0.5"),
        ("Micro-Precision", "Micro-P@0.5"),
        ("Macro-Recall", "Macro-R@0.5"),
        ("Another-Macro-F1", "Macro-F1-caml@0.5"),
        ("Macro-F1-present@micro:>500", "Macro-F1-present@micro:>500"),
        ("AUC-macro:1-5", "AUC-macro:1-5"),
        ("MAP", "MAP"),
        ("MAP-gold", "MAP-gold"),
        ("Loss", "Loss"),
    ],
)
def test_libmultilabels_names_mean_ours(name: str, canonical: str) -> None:
    assert parse_metric(name).canonical == canonical
    assert parse_metric(canonical).canonical == canonical


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("P@1junk", "P@1"),  # LibMultiLabel, without an end anchor, takes this one
        ("ndcg@5", "nDCG@5"),
        ("micro-f1", "Micro-F1"),
        ("Macro-F1@micr", "Macro-F1@micro"),
        ("MAPP", "MAP"),
        ("macro-auc", "AUC-macro"),
    ],
)
def test_near_misses_get_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_metric(name)
    assert repr(name) in caught.value.what
    assert caught.value.fix is not None
    assert caught.value.fix.startswith(f"did you mean {suggestion}? ") or name == "macro-auc"


@pytest.mark.parametrize(
    "name",
    "|P|P@0|P@-1|P@1.5|P@5:1-5|P@5\n|MAP@5|Macro-F1@5|Macro-F1@1.5|Micro-F1@0.5:1-5|Macro-F1@0.5:2-5|MAP:0|Loss@1"
    "|AUC-micro:0| P@1|P@١|@5".split("|"),
)
def test_nonsense_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="there is no metric"):
        parse_metric(name)


def test_bins_cover_every_count_once() -> None:
    for count in (0, 1, 5, 6, 10, 11, 50, 51, 100, 101, 500, 501, 10**6):
        assert sum(low <= count and (high is None or count <= high) for low, high in BINS.values()) == 1


def test_what_a_metric_needs() -> None:
    assert parse_metric("PSP@5").needs_training_counts
    assert parse_metric("Macro-F1:0").needs_training_counts
    assert not parse_metric("P@5").needs_training_counts
    assert parse_metric("AUC-micro").needs_all_scores
    assert not parse_metric("MAP").needs_all_scores


def test_names_load_nothing_heavy() -> None:
    code = (
        "import sys, plant_plugin.evaluation.names; print([m for m in ('numpy', 'scipy', 'torch') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_ranks_that_the_labels_can_fill() -> None:
    check_ranks({"P@4": "monitor_metrics", "Micro-F1@0.5": "val_metric"}, 5, 5, most=4)
    check_ranks({"P@5": "monitor_metrics"}, 5, 5, most=5)


@pytest.mark.parametrize(
    ("metrics", "save_k", "most", "problems"),
    [
        (("P@5", "nDCG@8"), 0, 4, ["monitor_metrics: P@5", "monitor_metrics: nDCG@8"]),
        (("P@6", "P@5"), 0, 5, ["monitor_metrics: P@6"]),
        ((), 6, 4, ["save_k_predictions"]),
    ],
)
def test_ranks_that_they_cannot(metrics: tuple[str, ...], save_k: int, most: int, problems: list[str]) -> None:
    with pytest.raises(ConfigError, match="of 5 labels") as caught:
        check_ranks(dict.fromkeys(metrics, "monitor_metrics"), save_k, 5, most=most)
    assert [problem.where for problem in caught.value.problems] == problems
