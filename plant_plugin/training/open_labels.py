"""Open the label set to every label that has a name: what names say is fitted here, and joins the logits last.

The network, its relevance and the planted scores keep the labels that training shows, so that they are trained, saved
and resumed as they are without names.

Shapes: K labels of training, U that only a name makes known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from plant_plugin.config.options import NO_NAMES
from plant_plugin.config.sections import Settings
from plant_plugin.data.documents import label_hash
from plant_plugin.data.label_names import label_name_rows
from plant_plugin.data.names_beside import names_source
from plant_plugin.errors import ConfigError
from plant_plugin.relevance.names.open_labels import OpenLabels
from plant_plugin.relevance.phrases import Phrases
from plant_plugin.report.run import Run
from plant_plugin.training.devices import is_first
from plant_plugin.training.inputs import Encoded, Logits
from plant_plugin.training.scoring import ScoreBatch, Scoring

NAMED = "named"  # value of the key `label_set`


def fit_open_labels(documents: Encoded, phrases: Phrases | None, settings: Settings, run: Run) -> OpenLabels | None:
    """Learn what names say from the training split, in the first process; None where only trained labels are wanted.

    Raises:
        ConfigError: No names are there.
        DataError: They cannot be read.
    """
    if settings.label_set != NAMED or not is_first():
        return None
    source = names_source(settings)
    if source in (None, NO_NAMES):
        fix = "say planted_scores.names, or put label_names.tsv beside training_file"
        raise ConfigError("there are no names to know labels by", where="label_set", fix=fix)
    with run.phase("names"):
        train, labels = documents.corpus.train, documents.corpus.label_names
        rows = label_name_rows([source], labels, run.log)
        seed = torch.initial_seed() % 2**32  # the run's
        fitted = OpenLabels.fit(rows, labels, train.texts, train.labels, train.evidence, phrases, seed)
        run.log(f"labels: {len(labels):,} of training, and {len(fitted.added):,} that only their names make known")
        return fitted


@dataclass(frozen=True)
class OpenScoring(Scoring):
    """A scoring of the labels of training and of those that only a name makes known."""

    open_labels: OpenLabels = field(kw_only=True)

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
            texts = self.documents.texts(split, numbers)
            yield self.open_labels.joined(scores, texts, self.planted), self.documents.labels[split][numbers], numbers


def widened(documents: Encoded, open_labels: OpenLabels) -> Encoded:
    """Return documents under the K + U labels, which end with those that only a name makes known."""
    corpus = documents.corpus.with_labels(open_labels.widened)
    labels = {split.name: corpus.label_matrix(split) for split in corpus.splits[1:]}
    hashes = {**documents.hashes, "labels": label_hash(corpus.label_names)}
    named = len(open_labels.added)
    return replace(documents, corpus=corpus, labels={**documents.labels, **labels}, hashes=hashes, named=named)
