"""Runs of words that go with a label where nobody marked any."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.relevance import mined_phrases
from plant_plugin.relevance.marks import phrase_marks
from plant_plugin.relevance.mined_phrases import MinedPhrases
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.relevance.ridge import RidgeOptions

TEXTS = [
    "Fiebre muy alta",
    "fiebre alta",
    "fiebre muy baja",
    "tos",
    "tos seca",
    *(f"sin nada {number}x" for number in range(20)),
]
LABELS = np.zeros((len(TEXTS), 2), dtype=np.float32)
LABELS[[0, 1, 2], 0] = LABELS[[3, 4], 1] = 1


def mined() -> MinedPhrases:
    return MinedPhrases.fit(TEXTS, sp.csr_array(LABELS))


def again(phrases: MinedPhrases, labels: int = 2) -> MinedPhrases:
    """Saved and read."""
    words, arrays = phrases.content()
    return MinedPhrases.from_content(words, ArrayFile(Path("kept.npz"), arrays), labels)


def share(p: float) -> float:
    return -math.log1p(-p)


def test_by_hand() -> None:
    phrases = mined()
    assert phrases.runs == ["fiebre", "muy", "alta", "fiebre muy", "tos"]
    fever, two = 2.5 / 3.5, 1.5 / 2.5
    found = phrases.scores(["FIÉBRE", "alta", "tos y fiebre muy", "nada"])
    expected = [[share(fever), 0], [share(two), 0], [share(fever), share(two)], [0, 0]]  # the surest, not the sum
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_document_is_left_out_of_its_own_counts() -> None:
    phrases = mined()
    found = phrases.scores([TEXTS[0], "tos", "fiebre"], left_out=[0, 3, 2])
    # of `fiebre` two documents with the label are left, of all others one, which is too few
    np.testing.assert_allclose(found, [[share(1.5 / 2.5), 0], [0, 0], [share(1.5 / 2.5), 0]], rtol=1e-6)
    kept = again(phrases)
    np.testing.assert_array_equal(kept.scores(TEXTS), phrases.scores(TEXTS))
    with pytest.raises(ValueError, match="until the phrases are saved"):
        kept.scores(["tos"], left_out=[3])


@pytest.mark.parametrize("block", [1, 2, 512])
def test_equals_counting_every_run(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mined_phrases, "LABELS", block)
    draw = random.Random(3)
    words = [*"abcdefgh", "Z", "9"]
    texts = [" ".join(draw.choices(words, k=draw.randrange(1, 6))) for _ in range(61)]  # no tie at three times
    labels = np.array([[own in text and draw.random() < 0.7 for own in "aZ9x"] for text in texts], dtype=np.float32)
    runs_of = [
        {" ".join(own[first : first + length]) for length in (1, 2, 3) for first in range(len(own) - length + 1)}
        for own in (text.lower().split() for text in texts)
    ]
    seen = Counter(run for runs in runs_of for run in runs)
    expected: dict[tuple[str, int], float] = {}
    for run, documents in seen.items():
        for label in range(4):
            together = sum(run in runs and labels[row, label] for row, runs in enumerate(runs_of))
            p = (together - 0.5) / (documents + 0.5)
            if together >= 2 and p >= 0.2 and p >= 3 * labels[:, label].mean():
                expected[run, label] = p
    phrases = MinedPhrases.fit(texts, sp.csr_array(labels))
    saved = again(phrases, 4)
    found = {
        (saved.runs[run], label): (saved.counts.hits.toarray()[run, label] - 0.5) / (saved.counts.seen[run] + 0.5)
        for run, label in zip(*saved.counts.hits.nonzero(), strict=True)
    }
    assert found == pytest.approx(expected)
    assert len(expected) > 4
    for text, runs, scores in zip(texts, runs_of, phrases.scores(texts), strict=True):
        best = [
            max([0.0, *(p for (run, own), p in expected.items() if own == label and run in runs)]) for label in range(4)
        ]
        np.testing.assert_allclose(scores, [share(p) for p in best], rtol=1e-5, err_msg=text)


def test_a_training_document_asks_as_if_it_did_not_exist() -> None:
    """Of all that is counted and of what is kept: the same as phrases mined without it."""
    draw = random.Random(5)
    texts = [" ".join(draw.choices("abcdefghij", k=draw.randrange(2, 6))) for _ in range(60)]
    labels = np.array([[own in text and draw.random() < 0.5 for own in "abc"] for text in texts], dtype=np.float32)
    phrases = MinedPhrases.fit(texts, sp.csr_array(labels))
    found = phrases.scores(texts, left_out=range(len(texts)))
    for row, text in enumerate(texts):
        others = [other for other in range(len(texts)) if other != row]
        without = MinedPhrases.fit([texts[other] for other in others], sp.csr_array(labels[others]))
        np.testing.assert_allclose(found[row], without.scores([text])[0], rtol=1e-6)
    kept = again(phrases, 3)
    np.testing.assert_allclose(kept.scores(texts), phrases.scores(texts), rtol=1e-6)
    assert len(kept) < len(phrases)  # some pairs only a training document knew of


def test_nothing_to_mine() -> None:
    phrases = MinedPhrases.fit(["uno", "dos"], sp.csr_array(np.eye(2, dtype=np.float32)))
    for one in (phrases, again(phrases)):
        assert not one.scores(["uno dos", ""]).any()
    assert not phrases.scores(["uno"], left_out=[0]).any()


def test_they_mark_tokens_as_marked_phrases_do() -> None:
    words = WordTokens.build(TEXTS)
    arrays = words.encode(TEXTS, 9)
    marks = phrase_marks(mined(), TEXTS, arrays, partial(words.spans, max_length=9), 2.0)
    first = marks.matrix[: arrays.offsets[1]].toarray()[:, 0]
    np.testing.assert_allclose(first, 2 * np.array([2.5 / 3.5, 1.5 / 2.5, 1.5 / 2.5]), rtol=1e-6)


def test_terms_sum_to_the_score_before_and_after_saving(tmp_path: Path) -> None:
    planted = PlantedScores.fit(TEXTS, sp.csr_array(LABELS), RidgeOptions(model="ridge", min_documents=1))
    planted = replace(planted, phrases=mined(), linear_weight=0.5, adjustment=0.1)
    planted.save(tmp_path, "labels")
    again = PlantedScores.load(tmp_path, "labels")
    text = "tos y fiebre muy alta"
    for label, score in enumerate(planted.scores([text])[0]):
        for one in (planted, again):
            ((terms, rest),) = one.terms(text, [label], one.matches(text))
            assert sum(value for _, value in terms) + rest == pytest.approx(score, abs=1e-5)
            ((spans, _),) = one.marks(one.matches(text), label)
            assert [text[start:end] for start, end in spans[0]] == (["tos"] if label else ["fiebre"])
