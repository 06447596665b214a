"""Documents that a data set has more than once: a model that learned one knows the labels of its copy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import chain

from plant_plugin.data.text import Documents


def drawn_apart(train: Documents, size: float, seed: int) -> tuple[list[int], list[int]]:
    """Draw validation documents, of which no text stays among the others.

    Returns:
        Places of the documents that stay, and of those that were drawn: where no text is repeated, what
        scikit-learn draws of all documents. Else it draws texts, and all documents of one follow it.

    Raises:
        ValueError: Nothing would stay, or nothing be drawn.
    """
    from sklearn.model_selection import train_test_split  # slow to import

    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(train.texts):
        places[text].append(place)
    if copies := len(train.texts) - len(places):
        size = max(1, round(size * len(places) / len(train.texts))) if size >= 1 else size
        add_note(train, f"training documents with the text of another: {copies:,}; validation is drawn text by text")
    staying, drawn = train_test_split([*places.values()], test_size=size, random_state=seed)
    return [*chain.from_iterable(staying)], [*chain.from_iterable(drawn)]


def note_repeated(train: Documents, others: Mapping[str, Documents | None]) -> None:
    """Note of other documents, by what they are called, how many are training documents too."""
    known = set(train.texts)
    for name, documents in others.items():
        if documents is not None and (number := sum(text in known for text in documents.texts)):
            what = f"{name} documents with the text of a training document: {number:,}"
            add_note(documents, f"{what}; what is measured on these is too good")


def add_note(documents: Documents, note: str) -> None:
    """Say something more of documents where they are counted."""
    documents.note = f"{documents.note}; {note}" if documents.note else note
