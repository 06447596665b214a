"""Whether a model knows any word of a text: if it knows none, the labels that it says mean nothing."""

from __future__ import annotations

from plant_plugin.model.trained import ReadyModel

NOTHING_KNOWN = "The model knows no word of the document: its labels mean nothing."
BEGINNING = 1000  # characters that are looked at first: nearly every text has a known word there


def tokens_read(model: ReadyModel, text: str, tokens: int) -> int:
    """Return how many tokens of a text count as read: ``tokens``, or 0 where the model knows none of its words."""
    return tokens if tokens and any(knows_a_word(model, part) for part in (text[:BEGINNING], text)) else 0


def knows_a_word(model: ReadyModel, text: str) -> bool:
    """Tell whether the network, the planted scores or a probable name has a word of a text; letters alone are none."""
    if model.has_network and not model.tokens.encode([text], model.max_tokens).unknown_only:
        return True
    if (planted := model.planted_scores) is not None and planted.weight:
        terms = planted.linear.vectorizer
        if any(term in terms.vocabulary for term in terms.kind.of(text)) or planted.matches(text):
            return True
    names = model.names_in(text)
    return names is not None and bool((names.proposed.log_odds > 0).any())
