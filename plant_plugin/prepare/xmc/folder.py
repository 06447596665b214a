"""Where the files of an extreme classification data set lie, under whichever names they go by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError

Document = tuple[list[str], str]  # labels, text
NAMES = {"train": ("trn", "train"), "test": ("tst", "test")}
FOLDERS = ("", "raw_data", "raw")
TEXTS = ("{}_raw_texts.txt", "X.{}.txt", "{}_texts.txt", "raw_{}_texts.txt")
LABEL_NAMES = ("Y.txt", "lbl_raw_texts.txt", "lbl.txt", "output-items.txt", "label_names.txt")
ONE_LINE = str.maketrans("\t\r\n", "   ")


@dataclass
class Folder:
    """A data set's folder: finds files under the names that they go by.

    Args:
        path: The folder.
        vocabulary: Words of the features of a sparse file.
        encoding: Of texts and names of labels.
    """

    path: Path
    vocabulary: Path | None
    encoding: str

    def first(self, patterns: Iterable[str]) -> Path | None:
        """The first file that is there, possibly compressed."""
        for pattern in patterns:
            for folder in FOLDERS:
                for ending in ("", ".gz", ".xz"):
                    path = self.path / folder / (pattern + ending)
                    if path.is_file():
                        return path
        return None

    def both(self, pattern: str) -> dict[str, Path] | None:
        """A file for each split; None where training has none."""
        found = {split: self.first(pattern.format(name) for name in names) for split, names in NAMES.items()}
        if found["train"] is None:
            return None
        if found["test"] is None:
            wanted = pattern.format(NAMES["test"][0])
            raise DataError(f"{wanted} is missing", where=str(self.path), fix="put it beside the training file")
        return {split: path for split, path in found.items() if path is not None}

    def texts(self) -> dict[str, Path]:
        """The texts of each split."""
        for pattern in TEXTS:
            found = self.both(pattern)
            if found is not None:
                return found
        wanted = ", ".join(pattern.format("trn") for pattern in TEXTS)
        fix = f"put one of {wanted} there; for bags of words give --vocabulary, or use data_format: xmc with --linear"
        raise DataError("labels without texts", where=str(self.path), fix=fix)

    def label_names(self, labels: int) -> tuple[list[str], list[Path]]:
        """Names by id, the id itself where there is no file of names; and that file."""
        path = self.first(LABEL_NAMES)
        if path is None:
            return [str(label) for label in range(labels)], []
        with text_lines(path, encoding=self.encoding) as stream:
            names = [one_line(line) for line in stream]
        if len(names) != labels:
            fix = "give each label one line, or take the file away"
            raise DataError(f"{len(names):,} names for {labels:,} labels", where=str(path), fix=fix)
        return names, [path]

    def with_texts(self, labels_of: Callable[[str], Iterable[list[str]]]) -> Callable[[str], Iterator[Document]]:
        """A reader that puts each split's lists of labels beside the lines of its texts."""
        texts = self.texts()

        def read(split: str) -> Iterator[Document]:
            with text_lines(texts[split], encoding=self.encoding) as stream:
                lists = lines = 0
                for labels, line in zip_longest(labels_of(split), stream):
                    lists, lines = lists + (labels is not None), lines + (line is not None)
                    if labels is not None and line is not None:
                        yield labels, one_line(line)
                if lists != lines:
                    fix = "texts and labels have to be of the same documents, one a line"
                    raise DataError(f"{lines:,} texts for {lists:,} lists of labels", where=str(texts[split]), fix=fix)

        return read


def one_line(text: str) -> str:
    """A text without what would end its line or its column."""
    return text.rstrip("\r\n").translate(ONE_LINE)


def names_of(labels: Iterable[int]) -> list[str]:
    """Label ids as labels of a document: each once, in order."""
    return [str(label) for label in sorted(set(labels))]
