"""Whether the words that an explanation names are those that the prediction rests on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import expit

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.model import faithfulness as module
from plant_plugin.model.faithfulness import SHARES, faithfulness, measure, probabilities, with_faithfulness

NOTE = "filler1, filler2 SIGN3x!\nfiller3 12 sign5x filler7 filler8"


def texts_of(task: Path) -> list[str]:
    return [line.split("\t")[1].strip() for line in (task / "test.txt").read_text().splitlines()]


def test_both_numbers_written_out(predictor: Predictor) -> None:
    explanation = predictor.explain(NOTE, ["L3", "L5"])
    words = explanation.words.tolist()
    for evidence, found in zip(explanation.labels, measure(predictor, explanation, seed=1), strict=True):
        assert set(found) == {"contribution", "attention", "MIG", "random"}
        assert evidence.contribution is not None
        column = predictor.column_of[evidence.scored.label]
        for name, values in (("contribution", evidence.contribution), ("attention", evidence.attention)):
            order = np.argsort(-values)
            without, alone = [], []
            for share in SHARES:
                chosen = set(order[: math.ceil(share * len(order))].tolist())
                gone, left = list(NOTE), list(NOTE)
                for place, (start, end) in enumerate(words):
                    (gone if place in chosen else left)[start:end] = " " * (end - start)
                scores = expit(predictor.logits([NOTE, "".join(gone), "".join(left)])[:, column])
                without.append(scores[0] - scores[1])
                alone.append(scores[0] - scores[2])
            assert found[name] == pytest.approx((np.mean(without), np.mean(alone)), abs=1e-4)


def test_the_words_that_matter_beat_random(predictor: Predictor, task: Path) -> None:
    found = {one.order: one for one in faithfulness(predictor, texts_of(task)[:6])}
    for order in ("contribution", "attention"):
        assert found[order].comprehensiveness > found["random"].comprehensiveness
        assert found[order].sufficiency < found["random"].sufficiency
        assert found[order].comprehensiveness_error > 0
    assert found["random"].documents == 6


def test_the_same_seed_gives_the_same_numbers(predictor: Predictor, task: Path) -> None:
    texts = texts_of(task)[:2]
    assert faithfulness(predictor, texts, seed=2) == faithfulness(predictor, texts, seed=2)
    assert faithfulness(predictor, texts, seed=2)[-1] != faithfulness(predictor, texts, seed=3)[-1]


def test_one_label_of_each_text(predictor: Predictor, task: Path) -> None:
    texts = texts_of(task)[:7]
    expected = expit(predictor.logits(texts))
    for column in (3, 1, 9):
        np.testing.assert_allclose(probabilities(predictor, texts, column), expected[:, column], atol=1e-5)


def test_a_label_that_leaves_the_shortlist_has_what_the_model_gives_it(trained: Path, task: Path) -> None:
    predictor, texts = Predictor.load(trained, device="cpu"), texts_of(task)[:7]
    predictor.content["shortlist"] = 3
    expected = expit(predictor.logits(texts))
    for column in (3, 1, 9):
        np.testing.assert_allclose(probabilities(predictor, texts, column), expected[:, column], atol=1e-5)


def test_what_was_not_read_stays_out(untrained: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = Predictor.load(untrained(max_seq_length=4), device="cpu")
    asked: list[str] = []
    known = module.probabilities
    monkeypatch.setattr(module, "probabilities", lambda one, texts, own: asked.extend(texts) or known(one, texts, own))
    measure(predictor, predictor.explain("aa bb cc dd behind", ["L1"]), seed=0)
    assert asked[0] == "aa bb cc dd"
    assert not any("behind" in text for text in asked)


def test_documents_that_cannot_be_measured(predictor: Predictor) -> None:
    with pytest.raises(DataError, match="no document has a label above the threshold"):
        faithfulness(predictor, [""])
    empty = predictor.explain("")
    assert with_faithfulness(predictor, empty) is empty


def test_the_commands(trained: Path, task: Path, tmp_path: Path) -> None:
    arguments = [str(trained), str(task / "test.txt"), "--documents", "3", "--device", "cpu"]
    shown = CliRunner().invoke(plant, ["faithfulness", *arguments])
    assert shown.exit_code == 0, shown.output
    orders = [line.split()[0] for line in shown.stdout.splitlines()[1:]]
    assert orders == ["contribution", "attention", "MIG", "random"]
    written = json.loads(CliRunner().invoke(plant, ["faithfulness", *arguments, "--json"]).stdout)
    assert [row["order"] for row in written] == orders
    page = tmp_path / "page.html"
    options = ["--json", "--html", str(page), "--faithfulness", "--label", "L3", "--device", "cpu"]
    found = json.loads(
        CliRunner().invoke(plant, ["explain", str(trained), *options, "--input", "text"], input=NOTE).stdout
    )
    assert set(found["labels"][0]["faithfulness"]) == set(orders)
    assert '"faithfulness":{"contribution":' in page.read_text()
