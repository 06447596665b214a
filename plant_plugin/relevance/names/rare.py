"""What is known of names without the rare words of training documents, which may name a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from plant_plugin.relevance.names.name_index import stems_of
from plant_plugin.relevance.names.open_labels import OpenLabels


def without_rare(open_labels: OpenLabels | None, texts: Sequence[str], least: int) -> OpenLabels | None:
    """Leave out of the lexicon what fewer than ``least`` of the training texts hold; tables hold no words."""
    if open_labels is None:
        return None
    held = Counter(stem for text in texts for stem in set(stems_of(text)))
    proposer = open_labels.proposer
    lexicon = {stem: names for stem, names in proposer.lexicon.items() if held[stem] >= least}
    return replace(open_labels, proposer=replace(proposer, lexicon=lexicon))


def save_open(open_labels: OpenLabels | None, folder: Path) -> None:
    """Write them beside a model that has any."""
    if open_labels is not None:
        open_labels.save(folder)
