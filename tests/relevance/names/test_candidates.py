from __future__ import annotations

import named_notes
import numpy as np

from plant_plugin.relevance.names.candidates import COUNTS
from plant_plugin.relevance.names.open_labels import OpenLabels
from plant_plugin.relevance.phrases import words_of


def test_the_labels_of_a_text_are_among_its_candidates_with_the_words_that_name_them(fitted: OpenLabels) -> None:
    every = sorted({row.label for row in named_notes.names()})
    notes, proposer = named_notes.notes(every, 20, 9), fitted.proposer
    block, nothing = (proposer.block(np.full(len(every), every_label)) for every_label in (True, False))
    hits = []
    for text, labels, marks in zip(notes.texts, notes.labels, notes.evidence, strict=True):
        words, places = words_of(text)
        candidates = proposer.candidates(proposer.read(words, places), block, nothing)
        assert candidates.counts.shape == (len(candidates.labels), COUNTS)
        assert np.isfinite(candidates.counts).all()
        where = {
            proposer.index.labels[label]: span
            for label, span in zip(candidates.labels, candidates.spans.tolist(), strict=True)
        }
        for label in labels:
            assert label in where
            start, end = where[label]
            hits.append(places[start][0] < marks[label][0][1] and marks[label][0][0] < places[end - 1][1])
    assert np.mean(hits) > 0.9


def test_labels_that_are_not_asked_for_are_no_candidates(fitted: OpenLabels) -> None:
    proposer, asked = fitted.proposer, np.zeros(len(fitted.proposer.index.labels), bool)
    asked[:3] = True
    read = proposer.read(*words_of(" ".join(row.name for row in named_notes.names()[:20])))
    blocks = proposer.block(asked), proposer.block(~asked)
    assert set(proposer.candidates(read, *blocks).labels.tolist()) <= {0, 1, 2}
    assert 7 in proposer.candidates(read, *blocks, [7]).labels


def test_an_empty_text_has_candidates_of_no_cover(fitted: OpenLabels) -> None:
    read = fitted.proposer.read([], [])
    block = fitted.proposer.block(np.ones(96, bool))
    assert not len(fitted.proposer.candidates(read, block, block).labels)
