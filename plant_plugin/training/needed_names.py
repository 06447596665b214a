"""Whether names of labels that no training document has are worth learning, where they have to be better than none."""

from __future__ import annotations

from plant_plugin.data.label_names import LabelName
from plant_plugin.training.open_labels import is_tried
from plant_plugin.training.scoring import Scoring

# Validation documents with a label that only its name makes known, below which names are not tried: of three, a
# twentieth of the bootstrap's draws has none, so that the interval of what they gain would hold 0.
FEWEST = 4


def worth_trying(names: list[LabelName] | None, scoring: Scoring) -> list[LabelName] | None:
    """Return names that open the label set; None where they have to be better than none, and cannot be shown to be."""
    train, val = scoring.documents.corpus.train, scoring.documents.corpus.val
    if names is None or val is None or not is_tried(scoring.settings):
        return names
    unseen = {name.label for name in names}.difference(*train.labels)
    number = sum(not unseen.isdisjoint(labels) for labels in val.labels)
    if number >= FEWEST:
        return names
    few = f"{number} of {len(val.labels):,} validation documents"
    scoring.run.log(f"names: left out, as only {few} have a label that only its name makes known")
    return None
