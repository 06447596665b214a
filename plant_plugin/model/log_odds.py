"""What adds to a model's logits, as it adds to them: sums of parts become log odds by slopes, and so do the parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from plant_plugin.model.named_evidence import Strengths, Terms
from plant_plugin.model.trained import Floats
from plant_plugin.model.word_strength import CONTRIBUTION
from plant_plugin.relevance.log_odds import LogOdds


def in_log_odds(
    made: LogOdds, logits: Floats, columns: Sequence[int], strengths: Iterable[Strengths], added: Iterable[Terms]
) -> Iterator[tuple[int, Strengths, Terms]]:
    """Yield labels with what words, and what planted scores and names, add to their logits (L,)."""
    for column, (measures, bias, elsewhere), (total, terms) in zip(columns, strengths, added, strict=True):
        slope = made.slope_above if logits[column] > made.at_offset else made.slope_below
        scaled = {order: values * slope if order == CONTRIBUTION else values for order, values in measures.items()}
        of_terms = [(term, slope * value) for term, value in terms]
        own = slope * (bias - made.offset) + made.at_offset
        yield column, (scaled, own, slope * elsewhere), (slope * total, of_terms)
