"""Unicode: texts in composed form with the places of marks kept, labels that look alike."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

FORM: Final = "NFC"  # composed: é is one character, as most programs write it; PDFs and macOS have it in two
SHOWN = 3  # groups of labels that are named


def composed(text: str) -> str:
    """Return the text in composed form."""
    return text if text.isascii() else unicodedata.normalize(FORM, text)


def places_composed(text: str) -> list[int]:
    """Return for each place in a text, its end included, the place in the composed text; inside a letter its begin."""
    places, length = list[int](), 0
    for letter in _letters(text):
        whole = composed(letter)
        places += range(length, length + len(letter)) if whole == letter else [length] * len(letter)
        length += len(whole)
    return [*places, length]


def compose(texts: list[str]) -> dict[int, list[int]]:
    """Bring texts into composed form, in place; return :func:`places_composed` of those that had another, by number."""
    places = {row: places_composed(text) for row, text in enumerate(texts) if composed(text) != text}
    for row in places:
        texts[row] = composed(texts[row])
    return places


def _letters(text: str) -> Iterator[str]:
    """Yield runs of characters that are composed by themselves."""
    letter = ""
    for character in text:
        joins = not character.isascii() and (
            unicodedata.combining(character) or composed(letter + character) != composed(letter) + composed(character)
        )
        if letter and not joins:
            yield letter
            letter = ""
        letter += character
    if letter:
        yield letter


def labels_alike(labels: Iterable[str]) -> list[list[str]]:
    """Group labels that differ only in case, dots, invisible characters or normal form, as one label of two files does.

    Codes whose dots stand at other places (40.19, 401.9) are not alike.
    """
    groups: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for label in sorted(set(labels)):
        characters = unicodedata.normalize("NFKC", label).casefold()
        plain = "".join(character for character in characters if unicodedata.category(character) != "Cf")
        groups[plain.replace(".", "")][plain].append(label)
    alike = []
    for by_dots in groups.values():
        undotted = [plain for plain in by_dots if "." not in plain]
        if undotted:
            alike.append([label for same in by_dots.values() for label in same])
        else:
            alike.extend(by_dots.values())
    return [sorted(group) for group in alike if len(group) > 1]


def alike_line(labels: Iterable[str]) -> str:
    """Say which labels look alike, in one line; empty where none do."""
    groups = labels_alike(labels)
    if not groups:
        return ""
    shown = "; ".join(" and ".join(map(ascii, group[:SHOWN])) for group in groups[:SHOWN])
    more = f" and {len(groups) - SHOWN} more groups" if len(groups) > SHOWN else ""
    return f"labels that differ only in case, dots, invisible characters or Unicode form: {shown}{more}"
