"""The shapes in which extreme classification data are handed out, each as documents with labels.

- ``json``: ``trn.json.gz``, ``tst.json.gz`` (``title``, ``content``, ``target_ind``) or ``trn.raw.json.gz`` and so on,
  and ``lbl.json.gz`` or a file of names, ``Yf.txt``
- ``npz``: ``Y.trn.npz``, ``Y.tst.npz`` beside texts
- ``pairs``: ``trn_X_Y.txt``, ``tst_X_Y.txt`` (a header, then ``label:1 label:1``) beside texts
- ``attention_xml``: ``train_labels.txt``, ``test_labels.txt`` (labels by name) beside texts
- ``sparse``: ``*train.txt``, ``*test.txt`` (a header, then ``label,label feature:value``) beside texts, or with a
  vocabulary
- ``repetitions``: ``*_data.txt``, of the same lines, with ``*_trSplit.txt`` and ``*_tstSplit.txt``: see
  :mod:`plant_plugin.prepare.xmc.repetitions`

In any but ``attention_xml``, ``filter_labels_test.txt`` may lie beside: ``document label`` lines, both from 0.
Texts are lines of ``trn_raw_texts.txt``, ``X.trn.txt`` or ``train_texts.txt``, in the same folder or in ``raw_data``.
Source: http://manikvarma.org/downloads/XC/XMLRepository.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from plant_plugin.data import xmc_sparse
from plant_plugin.data.text import packed, text_lines
from plant_plugin.errors import DataError
from plant_plugin.evaluation.arrays import read_sparse
from plant_plugin.prepare.xmc.entries import objects, text_of

Document = tuple[list[str], str]  # labels, text
Files = dict[str, Path]  # by split
NAMES = {"train": ("trn", "train"), "test": ("tst", "test")}
FOLDERS = ("", "raw_data", "raw")
TEXTS = ("{}_raw_texts.txt", "X.{}.txt", "{}_texts.txt", "raw_{}_texts.txt")
LABEL_NAMES = ("Y.txt", "Yf.txt", "lbl_raw_texts.txt", "lbl.txt", "output-items.txt", "label_names.txt")
TEST_FILTER = "filter_labels_test.txt"
ONE_LINE = str.maketrans("\t\r\n", "   ")


@dataclass
class Shape:
    """The content of a folder."""

    name: str
    files: list[Path]  # everything that is read
    read: Callable[[str], Iterator[Document]]  # documents of "train" or "test"
    labels: list[str] | None = field(repr=False)  # their names by id; None where labels are names themselves
    test_filter: Path | None = None  # labels left out of single test documents
    counts: Counter[str] = field(default_factory=Counter)  # what was passed over, after reading

    def file(self, split: str) -> tuple[str, str]:
        """Name the file of a split, and say what comes first in it."""
        return f"{split}.txt", ""

    def line(self, document: Document) -> str:
        """Write a document."""
        return f"{' '.join(document[0])}\t{document[1]}\n"


@dataclass
class Folder:
    """A data set's folder: finds files under the names that they go by."""

    path: Path
    encoding: str  # of texts and names of labels

    def first(self, *patterns: str) -> Path | None:
        """The first file that is there, possibly compressed."""
        places = (packed(self.path / folder / pattern) for pattern in patterns for folder in FOLDERS)
        return next(filter(None, places), None)

    def both(self, pattern: str) -> Files | None:
        """A file for each split; None where training has none."""
        train, test = (self.first(*map(pattern.format, names)) for names in NAMES.values())
        if train is None:
            return None
        if test is None:
            wanted = pattern.format(NAMES["test"][0])
            raise DataError(f"{wanted} is missing", where=str(self.path), fix="put it beside the training file")
        return {"train": train, "test": test}

    def texts(self) -> Files:
        """The texts of each split."""
        for pattern in TEXTS:
            files = self.both(pattern)
            if files is not None:
                return files
        wanted = ", ".join(pattern.format("trn") for pattern in TEXTS)
        fix = f"put one of {wanted} there; for bags of words give --vocabulary, or use data_format: xmc with --linear"
        raise DataError("labels without texts", where=str(self.path), fix=fix)

    def label_names(self, files: Files, number_of: Callable[[Path], int]) -> tuple[list[str], list[Path]]:
        """Names by id, the id itself where there is no file of names; and that file.

        The number of labels has to be the same in both files.
        """
        labels, of_test = (number_of(path) for path in files.values())
        if labels != of_test:
            what = f"numbers of labels differ: train {labels:,}, test {of_test:,}"
            raise DataError(what, where=str(self.path), fix="take the files of one data set")
        path = self.first(*LABEL_NAMES)
        if path is None:
            return [str(label) for label in range(labels)], []
        names = self.names_in(path)
        if len(names) != labels:
            fix = "give each label one line, or take the file away"
            raise DataError(f"names: {len(names):,}, labels: {labels:,}", where=str(path), fix=fix)
        return names, [path]

    def names_in(self, path: Path) -> list[str]:
        """Read a name a line."""
        with text_lines(path, encoding=self.encoding) as stream:
            return [one_line(line) for line in stream]

    def beside_texts(
        self,
        name: str,
        files: Files,
        labels_of: Callable[[Path], Iterable[list[str]]],
        number_of: Callable[[Path], int] | None = None,
    ) -> Shape:
        """The shape whose texts lie in files of their own, a line for each list of labels.

        Without ``number_of``, which reads a file's number of labels, they are names themselves.
        """
        names, more = (None, []) if number_of is None else self.label_names(files, number_of)
        texts = self.texts()

        def read(split: str) -> Iterator[Document]:
            with text_lines(texts[split], encoding=self.encoding) as stream:
                lists = lines = 0
                for labels, line in zip_longest(labels_of(files[split]), stream):
                    lists, lines = lists + (labels is not None), lines + (line is not None)
                    if labels is not None and line is not None:
                        yield labels, one_line(line)
                if lists != lines:
                    fix = "texts and labels have to be of the same documents, one a line"
                    raise DataError(f"texts: {lines:,}, lists of labels: {lists:,}", where=str(texts[split]), fix=fix)

        return Shape(name, [*files.values(), *texts.values(), *more], read, names)


def one_line(text: str) -> str:
    """A text without what would end its line or its column."""
    return text.rstrip("\r\n").translate(ONE_LINE)


def names_of(labels: Iterable[int]) -> list[str]:
    """Label ids as labels of a document: each once, in order."""
    return [str(label) for label in sorted(set(labels))]


def find_shape(source: Path, vocabulary: Path | None, encoding: str) -> Shape:
    """Recognise the shape of a folder by the names of its files; "sparse" by their first lines instead.

    Args:
        source: The folder.
        vocabulary: Words of the features of a sparse file.
        encoding: Of texts and names of labels.

    Raises:
        DataError: There is no such folder, it has none of the shapes, or a file that belongs to its shape is missing.
    """
    if not source.is_dir():
        raise DataError("no such folder", where=str(source), fix="give the folder that the archive was unpacked into")
    folder = Folder(source, encoding)
    if files := folder.both("{}.json") or folder.both("{}.raw.json"):
        shape = _json(folder, files)
    elif files := folder.both("Y.{}.npz"):
        shape = folder.beside_texts("npz", files, _labels_of_matrix, lambda path: int(_matrix(path).shape[1]))
    elif files := folder.both("{}_X_Y.txt"):
        shape = folder.beside_texts("pairs", files, _labels_of_pairs, _number_of_pairs)
    elif files := folder.both("{}_labels.txt"):
        shape = folder.beside_texts("attention_xml", files, partial(_labels_by_name, encoding=encoding))
    elif not (files := _sparse_files(source)):
        what = "none of the shapes of the extreme classification repository"
        names = "trn.json.gz, trn.raw.json.gz, Y.trn.npz, trn_X_Y.txt, train_labels.txt, *_trSplit.txt"
        fix = f"it should hold {names}, or a *train.txt that starts with three numbers"
        raise DataError(what, where=str(source), fix=fix)
    elif vocabulary is None:
        shape = folder.beside_texts("sparse", files, _labels_of_sparse, _number_of_sparse)
    else:
        shape = _bags_of_words(folder, files, vocabulary)
    path = folder.first(TEST_FILTER)
    if path is None:
        return shape
    if shape.labels is None:
        what, fix = "a filter file numbers labels, which are names here", "take the file away"
        raise DataError(what, where=str(path), fix=fix)
    return replace(shape, files=[*shape.files, path], test_filter=path)


def _json(folder: Folder, files: Files) -> Shape:
    lbl, encoding = folder.first("lbl.json", "lbl.raw.json"), folder.encoding
    if lbl is not None:
        names = [
            one_line(text_of(entry, "title", f"{lbl}, line {line}") or str(entry.get("uid") or ""))
            for line, entry in objects(lbl, encoding)
        ]
    elif lbl := folder.first(*LABEL_NAMES):
        names = folder.names_in(lbl)
    else:
        fix = f"put the labels' file beside the others; a name a line may be in {', '.join(LABEL_NAMES)}"
        raise DataError("lbl.json.gz is missing", where=str(folder.path), fix=fix)

    def read(split: str) -> Iterator[Document]:
        for line, entry in objects(files[split], encoding):
            targets = entry.get("target_ind")
            if not isinstance(targets, list) or not all(type(label) is int for label in targets):
                fix = "each line needs target_ind, a list of label numbers"
                raise DataError("no list target_ind", where=f"{files[split]}, line {line}", fix=fix)
            if targets and not (0 <= min(targets) and max(targets) < len(names)):
                what = f"label {max(targets)}, but {lbl.name} has {len(names):,} labels"
                fix = "take the files of one data set; labels count from 0"
                raise DataError(what, where=f"{files[split]}, line {line}", fix=fix)
            parts = [text_of(entry, key, f"{files[split]}, line {line}") for key in ("title", "content")]
            yield names_of(targets), one_line(" ".join(filter(None, parts)))

    return Shape("json", [*files.values(), lbl], read, names)


def _labels_of_matrix(path: Path) -> Iterator[list[str]]:
    matrix = _matrix(path)
    return (names_of(labels.tolist()) for labels in np.split(matrix.indices, matrix.indptr[1:-1]))


def _matrix(path: Path) -> sp.csr_matrix:
    fix = "it has to be written by scipy.sparse.save_npz; download it again"
    matrix = read_sparse(path, "a sparse matrix", error=DataError, fix=fix)
    matrix.eliminate_zeros()
    return matrix


def _labels_of_pairs(path: Path) -> Iterator[list[str]]:
    return map(names_of, xmc_sparse.read_pairs(path))


def _number_of_pairs(path: Path) -> int:
    return xmc_sparse.xmc_header(path, xmc_sparse.PAIRS_HEADER)[1]


def _labels_by_name(path: Path, encoding: str) -> Iterator[list[str]]:
    with text_lines(path, encoding=encoding) as stream:
        for line in stream:
            yield sorted(set(line.split()))


def _labels_of_sparse(path: Path) -> Iterator[list[str]]:
    return (names_of(row.labels) for row in xmc_sparse.read_xmc(path))


def _number_of_sparse(path: Path) -> int:
    return xmc_sparse.xmc_header(path)[2]


def _sparse_files(folder: Path) -> Files:
    files: Files = {}
    for split, names in NAMES.items():
        paths = (path for name in names for path in sorted(folder.glob(f"*{name}.txt*")))
        with_header = list(filter(xmc_sparse.has_header, paths))
        if len(with_header) > 1:
            what = f"several files for {split}: {', '.join(path.name for path in with_header)}"
            raise DataError(what, where=str(folder), fix="leave one data set in the folder")
        if with_header:
            files[split] = with_header[0]
    if len(files) == 1:
        fix = "put the files of training and test into one folder, called *train.txt and *test.txt"
        raise DataError(f"only a file for {next(iter(files))}", where=str(folder), fix=fix)
    return files


def _bags_of_words(folder: Folder, files: Files, vocabulary: Path) -> Shape:
    words = xmc_sparse.read_words(vocabulary, xmc_sparse.xmc_header(files["train"])[1], folder.encoding)
    names, more = folder.label_names(files, _number_of_sparse)

    def read(split: str) -> Iterator[Document]:
        for row in xmc_sparse.read_xmc(files[split]):
            yield bag_of_words(row, words, counts)

    counts = Counter[str]()
    return Shape("sparse", [*files.values(), vocabulary, *more], read, names, counts=counts)


def bag_of_words(row: xmc_sparse.XmcRow, words: list[str], counts: Counter[str]) -> Document:
    """Write features as words, and count the document where their values do not say how often."""
    counts["documents_whose_weights_are_left_out"] += len(set(row.values)) > 1 and not all(
        value >= 1 and value.is_integer() for value in row.values
    )
    return names_of(row.labels), xmc_sparse.words_of_row(row, words)
