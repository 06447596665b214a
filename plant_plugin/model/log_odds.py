"""What adds to a model's logits, as it adds to them: sums of parts become log odds by slopes, and so do the parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from plant_plugin.model.named_evidence import Strengths, Terms
from plant_plugin.model.trained import Floats
from plant_plugin.model.word_strength import CONTRIBUTION
from plant_plugin.relevance.planted_scores import PlantedScores


def in_log_odds(
    planted: PlantedScores | None,
    logits: Floats,
    columns: Sequence[int],
    strengths: Iterable[Strengths],
    added: Iterable[Terms],
) -> Iterator[tuple[int, Strengths, Terms]]:
    """Yield labels with what words, and what planted scores and names, add to their logits (L,)."""
    slopes = [1.0] * len(columns) if planted is None else planted.slopes(logits[list(columns)]).tolist()
    for column, slope, (measures, bias, elsewhere), (total, terms) in zip(
        columns, slopes, strengths, added, strict=True
    ):
        scaled = {order: values * slope if order == CONTRIBUTION else values for order, values in measures.items()}
        of_terms = [(term, slope * value) for term, value in terms]
        yield column, (scaled, slope * bias, slope * elsewhere), (slope * total, of_terms)
