"""What terms, phrases and letters add at the words of a text."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from plant_plugin.model.term_strengths import letter_strengths, linear_strengths, phrase_strengths, shared_alike
from plant_plugin.model.word_strength import all_words
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.phrases import PlantedPhrases
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.relevance.sentence_scores import SentenceScores


def test_words_that_are_read_twice_are_found_where_they_stand() -> None:
    options = RidgeOptions(model="ridge", min_documents=1, word_letters=4)
    labels = sp.csr_array(np.eye(3, dtype=np.float32))
    linear = LinearModel.fit(["nursing a nurse", "reading books", "2019"], labels, options)
    text = "Nurses read in 20191, 2019"
    words = all_words(text, [])
    found = linear_strengths(linear, text, words.spans, [0, 1, 2])
    np.testing.assert_allclose(found.sum(axis=1), linear.scores_of(linear.features([text]))[0], atol=1e-6)
    assert [text[start:end] for start, end in words.spans[found.argmax(axis=1)]] == ["Nurses", "read", "2019"]


def test_phrases_give_their_words_what_they_add() -> None:
    texts = ["dull pain in the left foot", "sharp pain in the right foot", "a cough", "well", "fine"]
    labels = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]], np.float32))
    evidence = [{"P": [(0, 9)]}, {"P": [(0, 10)]}, {"C": [(2, 7)]}, {}, {}]
    phrases = PlantedPhrases.fit(texts, labels, evidence, ["P", "C"])
    text = "dull pain and a cough"
    words = all_words(text, [])
    found = phrase_strengths(list(phrases.matches(text)), words.spans, [1, 0])
    assert [text[start:end] for start, end in words.spans[found[0] > 0]] == ["cough"]
    assert [text[start:end] for start, end in words.spans[found[1] > 0]] == ["dull", "pain"]
    np.testing.assert_allclose(found.max(axis=1), phrases.scores([text])[0, [1, 0]], rtol=1e-6)


def test_letters_add_where_the_best_sentence_of_a_label_has_them() -> None:
    texts = ["Dull pain in the foot.", "Sharp pain in the foot.", "A cough.", "Some cough.", "Pain, and a cough."]
    evidence = [{"P": [(5, 9)]}, {"P": [(6, 10)]}, {"C": [(2, 7)]}, {"C": [(5, 10)]}, {"P": [(0, 4)], "C": [(12, 17)]}]
    options = RidgeOptions(model="ridge", min_documents=1)
    sentences = SentenceScores.fit(texts, evidence, ["P", "C"], options)
    text = "No foot was seen. Painful coughing? Coughs."
    words = all_words(text, [])
    found = letter_strengths(sentences.model, text, words.spans, [1, 0])
    np.testing.assert_allclose(found.sum(axis=1), sentences.scores([text])[0, [1, 0]], atol=1e-5)
    best = [text[start:end] for start, end in words.spans[found.argmax(axis=1)]]
    assert best[0] in ("coughing", "Coughs")
    assert best[1] == "Painful"
    assert not letter_strengths(sentences.model, "", words.spans, [0]).any()


def test_words_that_a_span_touches_have_the_same_share() -> None:
    words = np.array([[0, 3], [4, 8], [9, 12]])
    assert shared_alike(words, [(5, 10)]).tolist() == [0, 0.5, 0.5]
    assert shared_alike(words, [(3, 4)]).tolist() == [0, 0, 0]
