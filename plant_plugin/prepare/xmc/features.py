"""One data file and its division into training and test; features without words stay numbers with their values.

What was measured (Mediamill: 120 numbers for every picture) has no words that PLANT could attend to. It is written in
the repository's own form, which linear methods read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from typing_extensions import override

from plant_plugin.data.xmc_sparse import XmcRow, read_xmc, xmc_header
from plant_plugin.prepare.xmc.shapes import Document, Shape, bag_of_words, names_of


@dataclass
class Features(Shape):
    """A shape whose documents are features with their values.

    Attributes:
        headers: The first line of each split.
    """

    headers: Mapping[str, str] = field(default_factory=dict)

    @override
    def file(self, split: str) -> tuple[str, str]:
        return f"{split}_features.txt", self.headers[split]

    @override
    def line(self, document: Document) -> str:
        return f"{','.join(document[0])} {document[1]}\n"


def divided(
    files: list[Path], chosen: Mapping[str, Sequence[int]], names: list[str] | None, words: list[str] | None
) -> Shape:
    """Return the shape of a data file, the first of the files, of which each split has chosen documents, from 1."""
    counts = Counter[str]()

    @cache
    def every() -> list[Document]:
        rows = read_xmc(files[0])
        if words is not None:
            return [bag_of_words(row, words, counts) for row in rows]
        return [(names_of(row.labels), _values(row)) for row in rows]

    def read(split: str) -> Iterator[Document]:
        return (every()[number - 1] for number in chosen[split])

    if words is not None:
        return Shape("repetitions", files, read, names, counts=counts)
    _, features, labels = xmc_header(files[0])
    headers = {split: f"{len(numbers)} {features} {labels}\n" for split, numbers in chosen.items()}
    return Features("features", files, read, names, headers=headers)


def _values(row: XmcRow) -> str:
    pairs = zip(row.features, row.values, strict=True)
    return " ".join(f"{feature}:{repr(value).removesuffix('.0')}" for feature, value in pairs)
