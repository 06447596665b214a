"""Promises by group: each holds in its group, and what cannot be promised is refused with the number needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.data.rows import Document
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.promises import ACCEPT, PROMISE
from plant_plugin.evaluation.thresholds import Tuned, tune
from plant_plugin.model.group_promises import Grouped, GroupThresholds, chosen, longest_of
from plant_plugin.model.predictor import Prediction
from plant_plugin.report.label_statistics import write_label_statistics

LABELS = ["A", "B", "C"]


class Made:
    """A model whose logits the texts are: "-1 2 0.5" and any number of words after these."""

    labels, column_of, batch_size = LABELS, {label: place for place, label in enumerate(LABELS)}, 2
    num_trained, open_labels, folder = 3, None, Path("nowhere")

    def logits(self, texts: list[str]) -> np.ndarray:
        return np.array([[float(word) for word in text.split()[:3]] for text in texts], np.float32)


def documents(number: int, seed: int, shift: float) -> tuple[list[str], list[list[str]]]:
    """Texts of one true label each, whose logits are around ``shift``."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(-8, 1, (number, 3))
    true = generator.integers(0, 3, number)
    logits[np.arange(number), true] = generator.normal(shift, 1, number)
    return [" ".join(f"{value:.3f}" for value in row) for row in logits], [[LABELS[place]] for place in true]


def test_each_group_gets_what_its_own_documents_need() -> None:
    """Of the ward where scores are low the threshold is lower, and it is the one of conformal risk control."""
    (high, true_high), (low, true_low) = documents(40, 1, 3.0), documents(19, 2, -3.0)
    groups = ["high"] * 40 + ["low"] * 19
    thresholds, outcomes = chosen(Made(), high + low, true_high + true_low, groups, PROMISE, 0.9)  # type: ignore[arg-type]
    assert [outcomes[group]["documents"] for group in ("high", "low")] == [40, 19]
    # (n R + 1) / (n + 1) <= 0.1: of 19 documents one may be missed, of 40 three.
    for texts, true, group, missed in ((high, true_high, "high", 3), (low, true_low, "low", 1)):
        logits = Made().logits(texts)
        of_true = np.sort([row[LABELS.index(name)] for row, [name] in zip(logits, true, strict=True)])
        limit = float(np.log(thresholds.probabilities[group] / (1 - thresholds.probabilities[group])))
        assert of_true[missed - 1] < limit < of_true[missed]
        assert limit == pytest.approx(of_true[missed], abs=1e-5)
        assert outcomes[group]["listed"] == pytest.approx(1 - missed / len(texts))


def test_lengths_make_three_groups_of_about_equal_size() -> None:
    texts, true = documents(60, 3, 2.0)
    texts = [text + " word" * place for place, text in enumerate(texts)]
    thresholds, outcomes = chosen(Made(), texts, true, None, PROMISE, 0.8)  # type: ignore[arg-type]
    assert list(thresholds.probabilities) == ["short", "middle", "long"]
    assert [outcome["documents"] for outcome in outcomes.values()] == [20, 20, 20]
    assert thresholds.longest == longest_of(texts)
    assert [sum(len(text) <= longest for text in texts) for longest in thresholds.longest] == [20, 40]


def test_what_is_listed_is_right_by_group_too() -> None:
    texts, true = documents(120, 4, 4.0)
    _, outcomes = chosen(Made(), texts, true, ["x", "y"] * 60, ACCEPT, 0.9)  # type: ignore[arg-type]
    assert [outcome["true"] for outcome in outcomes.values()] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (
            0.95,
            "2 of 3 groups cannot be promised 0.95: documents with a label in the smallest: 5, and 19 doc",
        ),
        (0.9, "1 of 3 groups cannot be promised 0.9: documents with a label in the smallest: 5, and 9 doc"),
    ],
)
def test_a_small_group_is_refused_with_the_number_needed_and_without_its_name(share: float, message: str) -> None:
    texts, true = documents(45, 5, 3.0)
    groups = ["large"] * 30 + ["secret-1"] * 10 + ["secret-2"] * 5
    with pytest.raises(ConfigError) as refused:
        chosen(Made(), texts, true, groups, PROMISE, share)  # type: ignore[arg-type]
    assert message in str(refused.value)
    assert "secret" not in str(refused.value)


def test_labels_that_the_model_does_not_know_are_not_promised() -> None:
    texts, true = documents(20, 6, 3.0)
    with_unknown = [[*names, "Z"] for names in true]
    both = [chosen(Made(), texts, names, ["x"] * 20, PROMISE, 0.9)[0] for names in (true, with_unknown)]  # type: ignore[arg-type]
    assert both[0] == both[1]


def test_nor_are_those_that_no_training_document_has(tmp_path: Path) -> None:
    """All of C are ranked last: where C is known 0.9 is far down, where it is not, it is as if nobody had it."""
    texts, true = documents(40, 7, 3.0)
    for place, names in enumerate(true):
        if names == ["C"]:
            texts[place] = "1 -8 -9"
    model, without = Made(), Made()
    without.folder = tmp_path
    write_label_statistics(tmp_path, LABELS, np.array([9, 9, 0]), tuned())
    shares = [chosen(made, texts, true, ["x"] * 40, PROMISE, 0.9)[0].probabilities["x"] for made in (model, without)]  # type: ignore[arg-type]
    assert shares[0] < 0.001 < 0.5 < shares[1]


def tuned() -> Tuned:
    return tune([(np.eye(3, dtype=np.float32), sp.csr_matrix(np.eye(3)))], fixed={"0.5": 0.0})


def predict(texts: list[str], *, threshold: float, top: int | None) -> list[Prediction]:
    return [Prediction([], int(1000 * threshold), len(text) > 3) for text in texts]


def test_each_document_is_predicted_at_the_threshold_of_its_group_in_its_place() -> None:
    thresholds = GroupThresholds("promise 0.9", {"a": 0.1, "b": 0.2})
    rows = [Grouped("x", group="b"), Grouped("long text", group="a"), Grouped("y", group="b")]
    assert [one.tokens for one in thresholds.predicted(predict, rows, None)] == [200, 100, 200]
    by_length = GroupThresholds("promise 0.9", {"short": 0.1, "middle": 0.2, "long": 0.3}, (2, 4))
    rows = [Document(text) for text in ("12345", "12", "123", "")]
    assert [one.tokens for one in by_length.predicted(predict, rows, None)] == [300, 100, 200, 100]


def test_a_document_of_another_group_is_refused_by_its_number() -> None:
    with pytest.raises(DataError, match=r"document 7: no held-out document is of its group") as refused:
        GroupThresholds("promise 0.9", {"a": 0.1}).predicted(predict, [Grouped("x", number=7, group="secret")], None)
    with pytest.raises(DataError, match=r"document 8: no held-out document is of its group"):
        GroupThresholds("promise 0.9", {"short": 0.1}, (4, 4)).predicted(predict, [Document("12345", number=8)], None)
    assert "secret" not in str(refused.value)
