"""Open the label set to every label that has a name: what names say is fitted here, and joins the logits last.

The network, its relevance and the planted scores keep the labels that training shows, so that they are trained, saved
and resumed as they are without names.

Shapes: K labels of training, U that only a name makes known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from plant_plugin.config.options import AUTO, NO_NAMES
from plant_plugin.config.sections import Settings
from plant_plugin.data.documents import label_hash
from plant_plugin.data.label_names import LabelName, label_name_rows
from plant_plugin.data.names_beside import names_source
from plant_plugin.errors import ConfigError
from plant_plugin.relevance.names.open_labels import OpenLabels
from plant_plugin.report.run import Run
from plant_plugin.training.devices import is_first
from plant_plugin.training.inputs import Encoded, Logits
from plant_plugin.training.scoring import ScoreBatch, Scoring


def read_named(documents: Encoded, settings: Settings, run: Run) -> list[LabelName] | None:
    """Read the names that open the label set, in the first process; None where only trained labels are wanted.

    They are read before anything trains, so that what is wrong with them is told then.

    Raises:
        ConfigError: No names are there.
        DataError: They cannot be read.
    """
    if settings.label_set == "trained" or not is_first():
        return None
    source = names_source(settings)
    if source in (None, NO_NAMES):
        raise ConfigError(
            "there are no names to know labels by",
            where="label_set",
            fix="say planted_scores.names, or put label_names.tsv beside training_file",
        )
    return label_name_rows([source], documents.corpus.label_names, run.log)


def is_tried(settings: Settings) -> bool:
    """Tell whether names have to be better than none to stay."""
    return settings.label_set == AUTO


@dataclass(frozen=True, kw_only=True)
class OpenScoring(Scoring):
    """A scoring of the labels of training and of those that only a name makes known."""

    open_labels: OpenLabels

    @classmethod
    def of(cls, scoring: Scoring, open_labels: OpenLabels | None) -> Scoring:
        """Open the label set of a scoring, where there is what opens it."""
        return scoring if open_labels is None else cls(**vars(scoring), open_labels=open_labels)

    @cached_property
    def documents(self) -> Encoded:
        """See :meth:`.Scoring.documents`."""
        return widened(self.inputs.documents, self.open_labels)

    def summed(self, split: str, batches: Iterable[Logits]) -> Iterator[ScoreBatch]:
        """See :meth:`.Scoring.summed`; scores are sparse."""
        for scores, _, numbers in super().summed(split, batches):
            wide = self.open_labels.joined(scores, self.documents.texts(split, numbers))
            yield wide, self.documents.labels[split][numbers], numbers


def widened(documents: Encoded, open_labels: OpenLabels) -> Encoded:
    """Return documents under the K + U labels, which end with those that only a name makes known."""
    corpus = documents.corpus.with_labels(open_labels.widened)
    return replace(
        documents,
        corpus=corpus,
        labels=documents.labels | {split.name: corpus.label_matrix(split) for split in corpus.splits[1:]},
        hashes={**documents.hashes, "labels": label_hash(corpus.label_names)},
        named=len(open_labels.added),
    )
