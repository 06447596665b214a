"""What sentences tell by themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge

from plant_plugin.data.text import DocumentEvidence
from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.mined_phrases import MinedPhrases
from plant_plugin.relevance.phrases import PlantedPhrases
from plant_plugin.relevance.planted_scores import MARKED, PlantedScores, read_sentences
from plant_plugin.relevance.ridge import RidgeOptions, solve_ridge
from plant_plugin.relevance.sentence_scores import LETTERS, LETTERS_MIN, SENTENCE_PENALTY, SentenceScores

HALF = 0.0005  # what weights of 16 bits may differ by

NAMES = ["A", "B"]
TEXTS = [
    "Fiebre alta. Tos seca.", "Sin fiebre. Tos.", "Con fiebre alta y tos", "Nada. Mucha fiebre. Poca tos.",
    "Control.", "tos", *7 * ["Control."],
]  # fmt: skip
LABELS = sp.csr_array(np.array([[1, 1], [0, 1], [1, 1], [1, 1], [0, 0], [0, 1], *7 * [[0, 0]]], dtype=np.float32))
EVIDENCE: list[DocumentEvidence] = [
    {"A": [(0, 11)], "B": [(13, 21)]}, {"B": [(12, 15)]}, {"A": [(4, 10)], "B": [(18, 21)], "unknown": [(0, 3)]},
    {"A": [(12, 18)], "B": [(25, 28)]}, {}, {"B": [(0, 3)]}, *7 * [{}],
]  # fmt: skip
SENTENCES = [
    ("Fiebre alta.", "A"), ("Tos seca.", "B"), ("Sin fiebre.", ""), ("Tos.", "B"), ("Con fiebre alta y tos", "AB"),
    ("Nada.", ""), ("Mucha fiebre.", "A"), ("Poca tos.", "B"), ("Control.", ""), ("tos", "B"),
    *7 * [("Control.", "")],
]  # fmt: skip
STRETCHES = [("fiebre alta", "A"), ("tos seca", "B"), ("tos", "B"), ("fiebre", "AB")]  # each once, with all its labels
OPTIONS = RidgeOptions(model="ridge", top=10**6, min_documents=1, lead=3)
UNSEEN = ["Llega. Fiebre y tos. Se va.", "  ", "", "Alta fiebre"]


def fitted(evidence: list[DocumentEvidence]) -> PlantedScores:
    """All parts, with weights of their own."""
    planted = PlantedScores.fit(TEXTS, LABELS, OPTIONS, evidence, NAMES)
    planted = replace(planted, phrases=PlantedPhrases.fit(TEXTS, LABELS, evidence, NAMES))
    planted = replace(planted, linear_weight=0.5, sentence_weight=2.0, adjustment=0.1)
    return planted


@pytest.mark.usefixtures("all_bits")
def test_equals_the_best_sentence_of_a_model_by_hand() -> None:
    """``lead`` is for whole documents; the penalty and the letters are those of sentences.

    What was marked is learnt from too: "fiebre" here for A in two documents and for B in one of them.
    """
    evidence = [*EVIDENCE[:2], {**EVIDENCE[2], "B": [(4, 10), (18, 21)]}, *EVIDENCE[3:]]
    trained = SENTENCES + STRETCHES
    vectorizer = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), strip_accents="unicode", min_df=LETTERS_MIN, sublinear_tf=True
    )
    features = vectorizer.fit_transform([text for text, _ in trained])
    truth = np.array([[name in labels for name in NAMES] for _, labels in trained], dtype=float)
    ridge = KernelRidge(alpha=SENTENCE_PENALTY).fit(features, truth)
    scores = SentenceScores.fit(TEXTS, evidence, NAMES, OPTIONS)
    assert scores.model.terms == sorted(vectorizer.vocabulary_)
    found = scores.scores(UNSEEN)
    parts = (["Llega.", "Fiebre y tos.", "Se va."], ["Alta fiebre"])
    best = [ridge.predict(vectorizer.transform(part)).max(axis=0) for part in parts]
    np.testing.assert_allclose(found, [best[0], [0, 0], [0, 0], best[1]], atol=HALF)
    assert found[0, 0] > 0.1


@pytest.mark.usefixtures("all_bits")
def test_a_model_that_is_taught_is_the_one_of_all_texts_where_it_reads_all_again() -> None:
    """Recursive least squares, with terms and frequencies that stay: sets the new texts apart and adds them again."""
    texts, labels = [text for text, _ in SENTENCES], [[name in found for name in NAMES] for _, found in SENTENCES]
    targets = sp.csr_array(np.array(labels, dtype=np.float32))
    whole = LinearModel.fit(texts, targets, OPTIONS, LETTERS)
    features, new = whole.features(texts), 6
    half = replace(whole, weights=solve_ridge(features[new:], targets[new:], OPTIONS))
    taught = half.taught(texts[:new], targets[:new], texts[new:], len(texts), OPTIONS)
    assert np.abs(half.scores_of(features) - whole.scores_of(features)).max() > 0.1
    np.testing.assert_allclose(taught.scores_of(features), whole.scores_of(features), atol=HALF)
    unheard = half.taught(["hemoptisis"], targets[:1], texts[new:], len(texts), OPTIONS)
    assert unheard.scores_of(unheard.features(["hemoptisis"]))[0, 0] > 0.5
    assert "hemop" in unheard.terms


def test_sentences_are_taught_new_documents() -> None:
    new = 3
    before = SentenceScores.fit(TEXTS[new:], EVIDENCE[new:], NAMES, OPTIONS)
    taught = before.taught(TEXTS, EVIDENCE, NAMES, OPTIONS, new)
    [was, now, whole] = [
        model.scores(["fiebre alta"])[0, 0]
        for model in (before, taught, SentenceScores.fit(TEXTS, EVIDENCE, NAMES, OPTIONS))
    ]
    assert was + 0.1 < now
    assert abs(now - whole) < abs(was - whole)
    assert before.taught(TEXTS, EVIDENCE, NAMES, OPTIONS, 0) is before


@pytest.mark.parametrize("evidence", [EVIDENCE, [{}] * len(TEXTS)], ids=["marked", "nothing marked"])
def test_saved_scores_are_the_same(evidence: list[DocumentEvidence], tmp_path: Path) -> None:
    planted = fitted(evidence)
    planted.save(tmp_path, "labels")
    again = PlantedScores.load(tmp_path, "labels")
    np.testing.assert_array_equal(again.scores(UNSEEN), planted.scores(UNSEEN))
    assert again.chosen == planted.chosen
    assert planted.phrases is not None
    parts = planted.linear.scores_of(planted.linear.features(UNSEEN)) + np.float32(0.1) * planted.rarity
    sentences = SentenceScores.fit(TEXTS, evidence, NAMES, OPTIONS).scores(UNSEEN)
    expected = 0.5 * parts + planted.bent(planted.phrases.scores(UNSEEN)) + 2 * sentences
    np.testing.assert_allclose(again.scores(UNSEEN), expected, atol=1e-5)


def test_sentences_are_read_for_other_labels(tmp_path: Path) -> None:
    planted = fitted(EVIDENCE)
    planted.save(tmp_path, "labels")
    assert planted.sentences is not None
    before = planted.sentences.scores(UNSEEN)
    moved, none = (read_sentences(tmp_path, NAMES, after) for after in (["B", "new", "A"], ["new"]))
    assert moved is not None
    assert none is not None
    np.testing.assert_array_equal(
        moved.scores(UNSEEN), np.stack([before[:, 1], 0 * before[:, 0], before[:, 0]], axis=1)
    )
    np.testing.assert_array_equal(none.scores(UNSEEN), np.zeros((len(UNSEEN), 1)))


@pytest.mark.parametrize("bend", [0.0, 0.5, 1.0, 2.0])
def test_terms_phrases_and_sentences_sum_to_the_score(bend: float) -> None:
    planted = replace(fitted(EVIDENCE), bend=bend)
    text = "Alta; fiebre y Tos. Sin más"
    assert planted.phrases is not None
    for label, score in enumerate(planted.scores([text])[0]):
        ((terms, rest),) = planted.terms(text, [label], planted.matches(text))
        assert sum(value for _, value in terms) + rest == pytest.approx(score, abs=1e-5)
        marks = planted.marks(planted.matches(text), label)
        found = {" … ".join(text[start:end] for start, end in spans[0]) for spans, _ in marks}
        assert found == ({"Tos"} if label else {"fiebre", "Alta … fiebre"}) <= {term for term, _ in terms}
        of_phrases = planted.bent(planted.phrases.scores([text]))[0, label]
        assert sum(share for _, share in marks) == pytest.approx(of_phrases, abs=1e-5)


def test_too_few_sentences_are_told_by_their_name() -> None:
    told = r"too little to learn from \(sentences: 2, marked stretches: 1\).*\n.*or leave evidence out"
    with pytest.raises(DataError, match=told) as caught:
        SentenceScores.fit(["uno", "dos"], [{"A": [(0, 3)]}, {}], NAMES, replace(OPTIONS, min_documents=1))
    assert caught.value.where == "evidence.training_file"


def test_a_model_does_not_lose_its_phrases_silently(tmp_path: Path) -> None:
    planted = PlantedScores.fit(TEXTS, LABELS, OPTIONS)
    planted = replace(planted, phrases=MinedPhrases.fit(TEXTS, LABELS))
    planted.save(tmp_path, "labels")
    assert isinstance(PlantedScores.load(tmp_path, "labels").phrases, MinedPhrases)
    (tmp_path / MARKED).unlink()
    with pytest.raises(CheckpointError, match="cannot be read"):
        PlantedScores.load(tmp_path, "labels")
