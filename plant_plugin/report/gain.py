"""What one result gains over another, with its interval: for decisions over validation documents."""

from __future__ import annotations

from plant_plugin.evaluation.names import parse_metric
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.resampling import DocumentSums, compare_documents
from plant_plugin.evaluation.verdict import Comparison
from plant_plugin.report.compare import on_common_ground


def gain_of(system: PerDocument, baseline: PerDocument, metric: str) -> Comparison:
    """Compare two results of the same documents, under the union of their labels."""
    parsed = parse_metric(metric)
    sides = (
        [DocumentSums(documents, [parsed]) for documents in side] for side in on_common_ground([system], [baseline])
    )
    return compare_documents(*sides)[parsed.name]


def spelled(gain: Comparison) -> str:
    """Write a gain with its interval, in points."""
    return f"{100 * gain.gain:+.1f} ({100 * gain.low:.1f} to {100 * gain.high:.1f})"
