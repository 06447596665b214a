"""What each word adds to a label's logit."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from test_predictor import NETWORKS

from plant_plugin import Predictor
from plant_plugin.data.subword_tokens import SubwordTokens
from plant_plugin.errors import ConfigError
from plant_plugin.model import explanation as module
from plant_plugin.model import word_strength
from plant_plugin.model.formats import as_dictionary
from plant_plugin.model.manifest import write_manifest
from plant_plugin.model.printed import print_explanation
from plant_plugin.relevance.terms import Terms

NOTE = "filler1, filler2 SIGN3x!\nfiller3 12 sign5x neverseen\tsign3x filler4"


@pytest.mark.parametrize("name", [*NETWORKS, "with planted scores"])
def test_words_bias_and_planted_scores_sum_to_the_logit(
    untrained: Callable[..., Path], trained: Path, task: Path, name: str
) -> None:
    folder = trained
    if name in NETWORKS:
        options = dict(NETWORKS[name])
        if "lm_weight" in options:
            options["lm_weight"] = str(task / "bert")
        folder = untrained(model_name=name, network_config=options)
    predictor = Predictor.load(folder, device="cpu")
    logits = dict(zip(predictor.labels, predictor.logits([NOTE])[0], strict=True))
    explanation = predictor.explain(NOTE, predictor.labels)
    assert {evidence.scored.label for evidence in explanation.labels} == set(predictor.labels)
    for evidence in explanation.labels:
        assert evidence.contribution is not None
        total = evidence.contribution.sum() + evidence.elsewhere + evidence.bias + evidence.planted
        assert total == pytest.approx(logits[evidence.scored.label], abs=1e-4)
        assert evidence.scored.logit == pytest.approx(logits[evidence.scored.label], abs=1e-5)
        assert 0 < evidence.attention.sum() < 1 + 1e-5
        assert (evidence.planted != 0) == (name == "with planted scores")


def test_the_words_of_a_label_are_its_evidence(predictor: Predictor) -> None:
    explanation = predictor.explain(NOTE, ["L5", "L3"])
    words = [NOTE[start:end] for start, end in explanation.words]
    assert words == ["filler1", "filler2", "SIGN3x", "filler3", "sign5x", "neverseen", "sign3x", "filler4"]
    for evidence, own in zip(
        sorted(explanation.labels, key=lambda one: one.scored.label), ("sign3x", "sign5x"), strict=True
    ):
        assert evidence.contribution is not None
        assert evidence.relevance is not None
        assert words[int(evidence.contribution.argmax())].lower() == own
        assert words[int(evidence.attention.argmax())].lower() == own
        assert words[int(evidence.relevance.argmax())].lower() == own
        assert evidence.terms[0][0] == own
        best = evidence.passages[0]
        assert own in NOTE[best.start : best.end].lower()
        assert NOTE.startswith(
            NOTE[best.start - len(best.before) : best.end + len(best.after)], best.start - len(best.before)
        )


def test_which_labels_are_explained(predictor: Predictor) -> None:
    predicted = [found.label for found in predictor.predict([NOTE])[0].labels]
    assert predicted
    explanation = predictor.explain(NOTE)
    assert [evidence.scored.label for evidence in explanation.labels] == predicted
    assert all(evidence.predicted for evidence in explanation.labels)
    none_above = predictor.explain(NOTE, threshold=1 - 1e-12).labels
    assert len(none_above) == module.BEST
    assert not any(evidence.predicted for evidence in none_above)
    assert len(predictor.explain(NOTE, top=2).labels) == 2
    with pytest.raises(ConfigError, match=r"does not know the label 'L99'\n.*did you mean L9"):
        predictor.explain(NOTE, ["L99"])


def test_labels_go_block_by_block_to_the_same_numbers(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = predictor.explain(NOTE, predictor.labels)
    monkeypatch.setattr(word_strength, "BLOCK", 5)
    for one, other in zip(predictor.explain(NOTE, predictor.labels).labels, whole.labels, strict=True):
        assert one.scored == other.scored
        np.testing.assert_allclose(one.strength, other.strength, atol=1e-6)


@pytest.mark.parametrize("text", ["", " \n", "123 ...", "neverseen"])
def test_a_document_without_anything_to_read(predictor: Predictor, text: str) -> None:
    explanation = predictor.explain(text, ["L1"])
    [evidence] = explanation.labels
    assert len(explanation.words) == (text == "neverseen")
    assert explanation.tokens == 0  # the model knows none of them
    assert evidence.contribution is not None
    total = evidence.contribution.sum() + evidence.elsewhere + evidence.bias + evidence.planted
    assert total == pytest.approx(evidence.scored.logit, abs=1e-4)


def test_what_is_behind_the_length_is_not_shown(untrained: Callable[..., Path]) -> None:
    explanation = Predictor.load(untrained(max_seq_length=3), device="cpu").explain("a1 b1 c1 d1")
    assert explanation.cut
    assert explanation.words.tolist() == [[0, 2], [3, 5], [6, 8]]


def test_a_model_without_relevance(untrained: Callable[..., Path]) -> None:
    folder = untrained(network_config__planted_prior="none")
    (folder / "relevance.npz").unlink()
    write_manifest(folder)
    assert Predictor.load(folder, device="cpu").explain(NOTE, ["L1"]).labels[0].relevance is None


def test_a_network_of_your_own_shows_its_attention(
    untrained: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "training"))
    own: dict[str, Any] = {"model_name": "own_network:OwnNetwork"}
    folder = untrained(**own, network_config={})
    [evidence] = Predictor.load(folder, device="cpu", trust_code=True).explain(NOTE, ["L1"]).labels
    assert evidence.contribution is None
    assert evidence.strength is evidence.attention
    assert evidence.attention.sum() == pytest.approx(1, abs=1e-5)
    hidden = Predictor.load(untrained(**own, network_config={"prior": True}), device="cpu", trust_code=True)
    with pytest.raises(ConfigError, match="does not show its attention"):
        hidden.explain(NOTE, ["L1"])


def test_places_of_subwords_are_those_of_the_encoded_tokens(task: Path) -> None:
    tokens = SubwordTokens(task / "bert")
    for longest in (4, 100):
        spans, ids = tokens.spans(NOTE, longest), tokens.encode([NOTE], longest).ids.tolist()
        assert len(spans) == len(ids)
        for number, (start, end) in zip(ids, spans, strict=True):
            if tokens.token(number) not in ("[UNK]", "[CLS]", "[SEP]"):
                assert NOTE[start:end] == tokens.token(number).removeprefix("##")


def test_a_text_is_read_once_for_all_labels(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    of = Terms.of

    def counted(self: Terms, text: str) -> Iterator[str]:
        read.append(text)
        return of(self, text)

    monkeypatch.setattr(Terms, "of", counted)
    predictor.explain("filler1 sign3x", top=1)
    once = len(read)
    predictor.explain("filler1 sign3x", top=12)
    assert len(read) == 2 * once > 0


@pytest.mark.parametrize("changes", [{}, {"directions": "both"}, {"static": 0.0}, {"differentiable": False}])
def test_the_parts_of_the_first_plants_attention_are_shown_apart(
    untrained: Callable[..., Path], changes: dict[str, Any]
) -> None:
    options = NETWORKS["PLANTL2R"] | changes
    predictor = Predictor.load(untrained(model_name="PLANTL2R", network_config=options), device="cpu")
    text = " ".join(found for found in NOTE.split() if "neverseen" not in found)  # all its words are the model's
    [evidence] = predictor.explain(text, ["L3"]).labels
    parts = evidence.attention_parts
    gone = {"static": {"static"}, "differentiable": {"differentiable"}}.get(next(iter(changes), ""), set())
    assert set(parts) == {"learned", "static", "differentiable"} - gone
    for name in set(parts) - {"static"}:
        assert parts[name].sum() == pytest.approx(1, abs=1e-5)  # each a softmax
    whole = np.sum([*parts.values()], axis=0)
    if changes != {"directions": "both"}:  # there the shown attention is a mean of two that are scaled first
        np.testing.assert_allclose(evidence.attention, whole / whole.sum(), atol=1e-5)
    if "static" in parts:  # the relevance itself, times `static`
        assert evidence.relevance is not None
        np.testing.assert_allclose(parts["static"], evidence.relevance, atol=1e-5)
    [label] = as_dictionary(predictor.explain(text, ["L3"]))["labels"]
    assert all(set(word["attention_parts"]) == set(parts) for word in label["words"])
    console = Console(width=200, record=True, file=io.StringIO())
    print_explanation(predictor.explain(text, ["L3"]), console)
    assert re.search(" +".join(["word", "contribution", "attention", "MIG", *parts]), console.export_text())


def test_an_attention_that_is_one_whole_has_no_parts(predictor: Predictor) -> None:
    [label] = as_dictionary(predictor.explain(NOTE, ["L3"]))["labels"]
    assert label["words"]
    assert not any("attention_parts" in word for word in label["words"])
