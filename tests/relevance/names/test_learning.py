from __future__ import annotations

import named_notes

from plant_plugin.relevance.names.learning import learn
from plant_plugin.relevance.names.open_labels import OpenLabels


def test_what_texts_never_say_of_a_name_counts_little(fitted: OpenLabels) -> None:
    said = fitted.proposer.index.said
    assert said["unspec"] < 0.5  # in every second name of a label, in no note
    assert said.get("kidney", 1.0) > 0.8


def test_nothing_to_learn_from_is_no_error() -> None:
    proposer, trees = learn(named_notes.names(), ["other"], ["a text"], [["other"]], None, None, 0)
    assert proposer.detector is not None
    assert trees.prior < 0
