"""An explanation as one HTML page that needs no network, runs from a file, and shows markup in a note as text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from plant_plugin.model.explanation import Explanation, LabelEvidence
from plant_plugin.model.formats import as_dictionary
from plant_plugin.model.known_words import NOTHING_KNOWN
from plant_plugin.model.passages import Passage

WORDS = 400  # words of a label that carry numbers: the strongest by each measure
DIGITS = 6
PART = re.compile(r"\{\{([a-z-]+)\}\}")


def page(explanations: Sequence[Explanation]) -> str:
    """Write a page for one text, as one model explains it, or two or more side by side.

    Raises:
        ValueError: No explanation, or of different texts.
    """
    if len({explanation.text for explanation in explanations}) != 1:
        raise ValueError("a page shows the explanations of one text")
    folder = files(__package__)
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    models = [_model(explanation) for explanation in explanations]
    data = json.dumps({"text": explanations[0].text, "models": models}, ensure_ascii=False, separators=(",", ":"))
    parts = {
        "style": style,
        "script": script,
        "style-hash": _hash(style),
        "script-hash": _hash(script),
        # inside <script> nothing but "</script" and "<!--" has a meaning, and neither survives without its "<"
        "data": data.replace("<", "\\u003c"),
    }
    template = folder.joinpath("page.html").read_text(encoding="utf-8")
    return PART.sub(lambda match: parts[match[1]], template)  # one pass: what a text holds is never taken for a part


def _hash(content: str) -> str:
    """Return the hash by which a Content-Security-Policy names what may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _model(explanation: Explanation) -> dict[str, object]:
    """Return the one dictionary of an explanation, and what the script would have to search for."""
    content = as_dictionary(explanation, words=0)
    labels = [
        {
            **label,
            "exact": evidence.contribution is not None,
            "words_sum": None if evidence.contribution is None else float(evidence.contribution.sum()),
            "words": _words(evidence),
            "passages": [
                {**shown, **_around(explanation, passage)}
                for shown, passage in zip(label["passages"], evidence.passages, strict=True)
            ],
        }
        for label, evidence in zip(content["labels"], explanation.labels, strict=True)
    ]
    exact = json.dumps({**content, "labels": labels})
    rounded: dict[str, object] = json.loads(exact, parse_float=lambda number: round(float(number), DIGITS))
    unknown = None if explanation.tokens else NOTHING_KNOWN
    return rounded | {"words": explanation.words.tolist(), "unknown": unknown}


def _words(evidence: LabelEvidence) -> list[list[float | None]]:
    """Return place, attention, contribution and relevance of the words that matter by any of them."""
    measures = [evidence.attention, evidence.contribution, evidence.relevance]
    known = [values for values in measures if values is not None]
    strongest = {place for values in known for place in np.argsort(-np.abs(values), kind="stable")[:WORDS].tolist()}
    columns = [None if values is None else values.tolist() for values in measures]
    return [[place, *(None if column is None else column[place] for column in columns)] for place in sorted(strongest)]


def _around(explanation: Explanation, passage: Passage) -> dict[str, int]:
    """Return the first and last of a passage's words, and where the words shown before and after it begin and end."""
    return {
        "from": passage.start - len(passage.before),
        "to": passage.end + len(passage.after),
        "first": int(np.searchsorted(explanation.words[:, 0], passage.start)),
        "last": int(np.searchsorted(explanation.words[:, 1], passage.end)),
    }
