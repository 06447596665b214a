"""Phrases of evidence: by hand, against a search through every window of words, and without the own document."""

from __future__ import annotations

import math
import random
import unicodedata
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.data.text import DocumentEvidence
from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.relevance.phrases import FREQUENT, GAP, HITS, INSIDE, MOST, SEEN, SLACK, Match, PlantedPhrases

NAMES = ["A", "B", "C"]
Case = tuple[str, str, dict[str, list[str]]]
OTHERS: list[Case] = [
    (text, "", {})
    for text in ("nada que ver", "otra cosa", "sin hallazgos", "control anual", "buen estado", "primera visita", "sano")
]


def marked(text: str, words: dict[str, list[str]]) -> DocumentEvidence:
    """Evidence by the words that are marked, each at its first place."""
    return {
        label: sorted((text.index(own), text.index(own) + len(own)) for own in several)
        for label, several in words.items()
    }


def fitted(*cases: Case) -> PlantedPhrases:
    """Phrases of documents: text, labels, what is marked for each; and of a few that have nothing to do with them."""
    every = [*cases, *OTHERS]
    labels = np.array([[name in own for name in NAMES] for _, own, _ in every], dtype=np.float32)
    evidence = [marked(text, words) for text, _, words in every]
    return PlantedPhrases.fit([text for text, _, _ in every], sp.csr_array(labels), evidence, NAMES)


def shares(*probabilities: float) -> float:
    return sum(-math.log1p(-p) for p in probabilities)


def p_of(hits: int, seen: int) -> float:
    return (hits + HITS) / (seen + SEEN)


def spoken(phrases: PlantedPhrases, text: str, own: int | None = None) -> list[list[str]]:
    """The words of every match, the readings one after the other."""
    return [[text[start:end] for start, end in match.spans[0]] for match in phrases.matches(text, own)]


def test_probabilities_by_hand() -> None:
    phrases = fitted(
        ("fiebre alta", "A", {"A": ["fiebre"]}),
        ("con fiebre", "AB", {"A": ["fiebre"]}),
        ("la fiebre", "B", {}),
        ("tos seca", "B", {"B": ["tos"]}),
    )
    (whole, cut) = phrases.matches("una fiebre")
    assert whole.labels.tolist() == cut.labels.tolist() == [0]  # nobody marked it for B
    found = phrases.scores(["una fiebre", "tos y fiebre", "nada"])
    of_fever, of_cough = 0.6, 11 / 15  # (2 + 0.1) / (3 + 0.5) and (1 + 0.1) / (1 + 0.5)
    expected = [
        [shares(of_fever, of_fever), 0, 0], [shares(of_fever, of_fever), shares(of_cough, of_cough), 0], [0, 0, 0]
    ]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_document_is_left_out_of_its_own_counts() -> None:
    phrases = fitted(
        ("fiebre alta", "A", {"A": ["fiebre"]}), ("con fiebre", "A", {"A": ["fiebre"]}), ("la fiebre", "A", {}),
        ("su fiebre", "B", {"B": ["fiebre"]}),
    )  # fmt: skip
    found = phrases.scores(["fiebre alta", "la fiebre", "su fiebre", "nueva fiebre"], left_out=[0, 2, 3, 5])
    rest, all_of_a, all_of_b = p_of(2, 3), p_of(3, 3), p_of(1, 3)
    expected = [[rest, all_of_b], [rest, all_of_b], [all_of_a, 0], [all_of_a, all_of_b]]
    np.testing.assert_allclose(found[:, :2], [[shares(p, p) for p in row] for row in expected], rtol=1e-6)
    everybody = phrases.scores(["fiebre"])  # no training document
    np.testing.assert_allclose(everybody[0, :2], [shares(p, p) for p in (p_of(3, 4), p_of(1, 4))], rtol=1e-6)


def test_what_only_the_document_itself_marks_says_nothing_of_it() -> None:
    """Neither by itself nor as a longer phrase that would weaken those inside it."""
    cases: list[Case] = [
        ("fiebre alta nocturna", "A", {"A": ["fiebre alta"]}), ("con fiebre", "B", {"B": ["fiebre"]}),
        ("hoy fiebre", "B", {"B": ["fiebre"]}),
    ]  # fmt: skip
    phrases, unmarked = fitted(*cases), fitted((cases[0][0], "A", {}), *cases[1:])
    text = cases[0][0]
    assert spoken(phrases, text, own=0) == [["fiebre"], ["fiebre"]]
    np.testing.assert_array_equal(phrases.scores([text], left_out=[0]), unmarked.scores([text], left_out=[0]))
    assert phrases.scores([text])[0, 0] > 0  # somebody else's with the same words


def test_a_phrase_inside_a_longer_one_counts_less() -> None:
    phrases = fitted(("dolor abdominal", "A", {"A": ["dolor abdominal"]}), ("dolor", "B", {"B": ["dolor"]}))
    inside, alone = phrases.scores(["un dolor abdominal", "un dolor"])
    both, pain = p_of(1, 1), p_of(1, 2)
    np.testing.assert_allclose(inside[:2], [shares(both, both), shares(0.85 * pain, 0.85 * pain)], rtol=1e-6)
    np.testing.assert_allclose(alone[:2], [0, shares(pain, pain)], rtol=1e-6)


def test_any_order_and_words_between_up_to_a_limit() -> None:
    phrases = fitted(("insuficiencia renal", "A", {"A": ["insuficiencia renal"]}))
    between = SLACK + 2 - 1 - 1  # the two stand less than their number and the slack apart
    near, far = (" ".join(["renal", *["x"] * words, "insuficiencia"]) for words in (between, between + 1))
    assert spoken(phrases, near) == [["renal", "insuficiencia"]] * 2
    assert spoken(phrases, far) == []
    assert spoken(phrases, "insuficiencia") == []


def test_accents_case_and_inflection() -> None:
    phrases = fitted(("infección urinaria", "A", {"A": ["infección urinaria"]}))
    whole = spoken(phrases, "INFECCION, urinaria")
    assert whole == [["INFECCION", "urinaria"]] * 2
    for apart in ("infeccio\u0301n urinaria", "infecciones urinarias"):  # accents as characters of their own; plural
        assert len(spoken(phrases, apart)) == (2 if "\u0301" in apart else 1)
    assert spoken(phrases, "infeccioso") == []


def test_numbers_are_kept_whole() -> None:
    phrases = fitted(("serie 1234567 vista", "A", {"A": ["1234567"]}))
    assert spoken(phrases, "1234567") == [["1234567"]] * 2
    assert spoken(phrases, "1234568") == []


@pytest.mark.parametrize(("documents", "kept"), [(3, True), (4, False)])  # with its own: of 11 four, of 12 five
def test_words_of_more_than_four_in_ten_documents_are_in_no_phrase(documents: int, kept: bool) -> None:
    cases: list[Case] = [(f"de caso{number}", "", {}) for number in range(documents)]
    phrases = fitted(("fractura de cadera", "A", {"A": ["fractura de cadera"], "B": ["de"]}), *cases)
    assert [len(reading.phrases) for reading in phrases.readings] == [1 + kept] * 2
    assert (["fractura", "cadera"] in spoken(phrases, "fractura la cadera")) is not kept
    assert spoken(phrases, "de") == [["de"]] * 2 * kept


def test_where_every_word_is_frequent_there_is_no_phrase() -> None:
    labels = sp.csr_array(np.ones((1, 3), dtype=np.float32))
    for evidence in ([{"A": [(0, 6)]}], [{}]):
        phrases = PlantedPhrases.fit(["fiebre"], labels, evidence, NAMES)
        words, arrays = phrases.content()
        again = PlantedPhrases.from_content(words, ArrayFile(Path("kept.npz"), arrays), len(NAMES))
        for one in (phrases, again):
            assert not one.scores(["fiebre", ""]).any()
        assert not phrases.scores(["fiebre"], left_out=[0]).any()


def test_spans_close_together_are_one_phrase_and_far_apart_two() -> None:
    for between, expected in ((GAP, 1), (GAP + 1, 2)):
        text = " ".join(["masa", *[f"x{number}" for number in range(between)], "palpable"])
        phrases = fitted((text, "A", {"A": ["masa", "palpable"]}))
        assert [len(reading.phrases) for reading in phrases.readings] == [expected] * 2


def test_a_span_inside_a_word_means_the_word() -> None:
    phrases = fitted(("hipertensión arterial leve", "A", {"A": ["tensión art"]}))
    assert sorted(phrases.readings[0].phrases[0]) == ["arterial", "hipertension"]


def test_labels_outside_the_label_set_are_passed_over() -> None:
    texts = [text for text, _, _ in OTHERS]
    labels = sp.csr_array(np.zeros((len(texts), 3), dtype=np.float32))
    phrases = PlantedPhrases.fit(texts, labels, [{"unknown": [(0, 4)]}, *[{}] * (len(texts) - 1)], NAMES)
    assert not phrases.scores(texts).any()


def test_matches_stand_where_their_words_do() -> None:
    phrases = fitted(("edema pulmonar", "A", {"A": ["edema pulmonar"]}))
    text = "Edema (agudo) PULMONAR; más tarde: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10. Sin pulmonar edema"
    for match in phrases.matches(text):
        assert [[text[start:end] for start, end in occurrence] for occurrence in match.spans] == [
            ["Edema", "PULMONAR"], ["pulmonar", "edema"]
        ]  # fmt: skip


def test_content_makes_the_same_phrases_but_forgets_the_documents() -> None:
    phrases = fitted(("fiebre alta", "A", {"A": ["fiebre"]}), ("mucha fiebre", "A", {"A": ["fiebre"]}))
    words, arrays = phrases.content()
    again = PlantedPhrases.from_content(words, ArrayFile(Path("kept.npz"), arrays), len(NAMES))
    np.testing.assert_array_equal(again.scores(["fiebre alta"]), phrases.scores(["fiebre alta"]))
    with pytest.raises(ValueError, match="until the phrases are saved"):
        again.scores(["fiebre alta"], left_out=[0])


# The literal reference: every window of words is looked at.


def plain_words(text: str, letters: int | None) -> list[str]:
    apart = unicodedata.normalize("NFD", text.lower())
    words = "".join(letter for letter in apart if not unicodedata.combining(letter)).split()
    return [word if word.isdigit() else word[:letters] for word in words]


def holds(phrase: tuple[str, ...], words: list[str], frequent: set[str]) -> bool:
    """Whether a window of the words around the first word of a phrase, its rarest, has all of them."""
    kept, reach = [word for word in words if word not in frequent], len(phrase) + SLACK - 1
    windows = (kept[max(0, place - reach) : place + reach + 1] for place, word in enumerate(kept) if word == phrase[0])
    return any(set(phrase) <= set(window) for window in windows)


def reference(
    texts: list[str], labels: np.ndarray, evidence: list[dict[int, list[int]]], text: str, own: int | None
) -> np.ndarray:
    """Scores (L,); ``evidence`` is numbers of marked words by label."""
    scores = np.zeros(labels.shape[1])
    others = [row for row in range(len(texts)) if row != own]
    for letters in (None, 6):
        documents = [plain_words(document, letters) for document in texts]
        count = {word: sum(word in words for words in documents) for words in documents for word in words}
        frequent = {word for word, number in count.items() if number > FREQUENT * len(texts)}
        marked_for: dict[tuple[str, ...], set[int]] = defaultdict(set)
        for row in others:
            for label, places in evidence[row].items():
                groups: list[list[int]] = []
                for place in sorted(places):
                    if groups and place - groups[-1][-1] - 1 <= GAP:
                        groups[-1].append(place)
                    else:
                        groups.append([place])
                for group in groups:
                    words = {documents[row][place] for place in group} - frequent
                    if words:
                        marked_for[tuple(sorted(words, key=lambda word: (count[word], word)))].add(label)
        found = {phrase for phrase in marked_for if holds(phrase, plain_words(text, letters), frequent)}
        for phrase in found:
            seen = [row for row in others if holds(phrase, documents[row], frequent)]
            inside = any(set(phrase) < set(other) for other in found)
            for label in marked_for[phrase]:
                p = p_of(sum(labels[row, label] for row in seen), len(seen))
                scores[label] -= math.log1p(-min(MOST, INSIDE * p if inside else p))
    return scores


@pytest.mark.parametrize("seed", range(12))
def test_equals_a_search_through_every_window(seed: int) -> None:
    draw = random.Random(seed)
    roots = ["".join(draw.choices("abcdeí", k=draw.randrange(3, 9))) for _ in range(20)]
    vocabulary = (
        [root + ending for root in roots for ending in ("", "oso")] + ["más", "1234567", "1234568"] + 20 * ["de"]
    )
    texts = [" ".join(draw.choices(vocabulary, k=draw.randrange(1, 30))) for _ in range(14)]
    labels = np.array([[draw.random() < 0.4 for _ in NAMES] for _ in texts], dtype=np.float32)
    places: list[dict[int, list[int]]] = []
    evidence: list[DocumentEvidence] = []
    for row, text in enumerate(texts):
        spans, start = [], 0
        for word in text.split():
            spans.append((start, start + len(word)))
            start += len(word) + 1
        own = {
            label: sorted(draw.sample(range(len(spans)), min(len(spans), draw.randrange(1, 5))))
            for label in np.flatnonzero(labels[row]).tolist()
        }
        places.append(own)
        evidence.append({NAMES[label]: [spans[place] for place in chosen] for label, chosen in own.items()})
    phrases = PlantedPhrases.fit(texts, sp.csr_array(labels), evidence, NAMES)
    assert any(len(phrase) > 1 for phrase in phrases.readings[1].phrases)
    unseen = [" ".join(draw.choices(vocabulary, k=60)) for _ in range(4)]
    expected = [reference(texts, labels, places, text, None) for text in unseen]
    np.testing.assert_allclose(phrases.scores(unseen), expected, rtol=1e-4, atol=1e-5)
    assert np.any(expected)
    for row in range(4):
        of_itself = reference(texts, labels, places, texts[row], row)
        np.testing.assert_allclose(phrases.scores([texts[row]], left_out=[row])[0], of_itself, rtol=1e-4, atol=1e-5)
    for match in phrases.matches(unseen[0]):
        assert isinstance(match, Match)
        assert match.spans == [sorted(occurrence) for occurrence in match.spans]
