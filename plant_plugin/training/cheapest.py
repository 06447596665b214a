"""Keep a costlier part of a model only where validation documents say that it is better: the value ``auto``.

First planted scores without a network against those with it, then what is left without names against the same with
them. Both are measured on validation documents, pair by pair: by ``val_metric``, or nDCG@5 where that is no mean over
documents. A part whose gain has an interval that lies above 0 stays. Else it is left out, and prediction is quicker.
"""

from __future__ import annotations

from dataclasses import replace

from plant_plugin.config.options import AUTO, PLANTED_SCORES
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.report.gain import gain_of, spelled
from plant_plugin.report.record import note_of_stage
from plant_plugin.training.build import build_network
from plant_plugin.training.devices import from_first
from plant_plugin.training.inputs import Inputs
from plant_plugin.training.open_labels import OpenScoring, is_tried
from plant_plugin.training.scoring import Scoring
from plant_plugin.training.weights import compared_metric, weigh_alone

PHASES = {"network": ("stage1", "stage2"), "names": ("names",)}  # in which each part is trained


def keep_network(scoring: Scoring, planted: PlantedScores | None) -> Scoring:
    """Return a scoring with its network or, with the strategy ``auto`` and where that is no worse, without.

    Args:
        scoring: With the network that was trained, and planted scores weighed beside it.
        planted: These as they were before they were weighed.
    """
    if scoring.settings.strategy != AUTO:
        return scoring
    inputs, run = Inputs(scoring.documents), scoring.run
    settings = replace(scoring.settings, strategy=PLANTED_SCORES)
    weighed, nothing = weigh_alone(planted, inputs, settings, run)
    alone = Scoring(build_network(inputs.documents, settings, run), inputs, weighed, settings, run, nothing)
    if from_first(lambda: is_better("network", scoring, alone)):
        return replace(scoring, settings=replace(scoring.settings, strategy="plant"))
    return alone


def keep_names(open_scoring: Scoring, scoring: Scoring) -> Scoring:
    """Return the scoring of the open label set, if there is any and it is wanted; its files are written."""
    if not isinstance(open_scoring, OpenScoring):
        return scoring
    if is_tried(scoring.settings) and not is_better("names", open_scoring, scoring):
        return scoring
    open_scoring.open_labels.save(scoring.run.folder)
    return open_scoring


def is_better(part: str, costlier: Scoring, cheaper: Scoring) -> bool:
    """Tell whether a part of ``PHASES`` makes a scoring better; print and note the gain, its interval and the time."""
    settings, run = costlier.settings, costlier.run
    metric = compared_metric(cheaper.documents.num_labels, settings)
    with run.phase("compare"):
        gain = gain_of(_per_document(costlier, metric), _per_document(cheaper, metric), metric)
    seconds = sum(run.totals()["cpu_s"].get(run.prefix + phase, 0.0) for phase in PHASES[part])
    number, kept = cheaper.documents.labels["val"].shape[0], gain.low > 0
    numbers = {"gain": gain.gain, "low": gain.low, "high": gain.high, "cpu_s": seconds, "documents": number}
    note_of_stage(run.folder, "compared", part, {"metric": metric, **numbers})
    outcome = "stays" if kept else "is left out"
    run.log(f"{part}: {spelled(gain)} points of {metric} on {number:,} validation documents, "
            f"for {seconds:.0f} processor seconds of training: {outcome}")  # fmt: skip
    return kept


def _per_document(scoring: Scoring, metric: str) -> PerDocument:
    documents = scoring.documents
    evaluator = documents.evaluator([metric], "val", scoring.settings, keep_documents=True)
    for batch in scoring.summed("val", scoring.validation):
        evaluator.update(*batch)
    return evaluator.per_document(documents.corpus.label_names)
