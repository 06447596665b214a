"""Documents and label sets: which document is in which split, and which label is which column.

The rules are LibMultiLabel's (``load_datasets`` and ``load_or_build_label``): the same documents, the same random
validation split, the same label set in the same order.
"""

from __future__ import annotations

import hashlib
import inspect
import lzma
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from plant_plugin.config import registry
from plant_plugin.config.sections import Settings
from plant_plugin.data.evidence import marked_sentences, read_evidence
from plant_plugin.data.label_column import Trained
from plant_plugin.data.label_separators import LabelColumn
from plant_plugin.data.repetitions import add_note, drawn_apart, note_repeated
from plant_plugin.data.tables import Columns, Table, form_of
from plant_plugin.data.text import Documents, one_label, text_lines
from plant_plugin.data.unicode_forms import compose
from plant_plugin.data.words import said_of, splitter_of
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.files import atomic_write, cache_folder

SPLIT_SEED = 42  # LibMultiLabel's fixed seed of the validation split
# Keys of the configuration that a reader gets which has such arguments.
COLUMN_KEYS = ("text_column", "labels_column", "label_separator", "encoding")
READER_KEYS = ("allow_bad_lines", "vocab_file", *COLUMN_KEYS)
AS_TEXT = {
    "data_format": "txt",
    "label_separator": None,
    "encoding": None,
}  # of files that are written as LibMultiLabel's text
DEMO_PREFIX, DEMO_SPLITS = "demo:", ("train", "valid", "test")
DEMO = Path(__file__).with_name("made_up_notes")  # what examples/made_up_notes.py writes with its defaults, packed
LABEL_NAMES = "label_names.tsv"  # beside the training file, or in a model's folder: label TAB its meaning
FULL_NAMES = {"train": "training", "val": "validation", "test": "test"}
FILES = {"train": "training_file", "val": "val_file", "test": "test_file"}  # the first two also of the block `evidence`


def label_hash(names: Sequence[str]) -> str:
    """Return SHA-256 (hex) over a label set, in order."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


@dataclass(kw_only=True)
class Split(Documents):
    """The documents of one split; labels are also those outside the label set.

    Attributes:
        name: ``train``, ``val`` or ``test``.
        parents: The document that each text is of, where sentences follow the documents; None: all are documents.
    """

    name: str
    parents: list[int] | None = field(default=None, repr=False)


@dataclass
class Corpus:
    """All splits and the label set; ``train`` is empty only where a checkpoint is evaluated without a training file."""

    train: Split
    val: Split | None
    test: Split | None
    label_names: list[str] = field(repr=False)  # position = column = label id

    @property
    def splits(self) -> list[Split]:
        """Return the splits that exist."""
        return [split for split in (self.train, self.val, self.test) if split is not None]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Count ``read``, ``dropped`` and ``without_labels`` over all splits, and what the label set does not hold.

        ``labels_unseen_in_training``: distinct test labels that no training document has; ``dropped_labels``: label
        occurrences in test that are not in the label set; ``dropped_training_labels``: the same in training and
        validation, with ``label_file``.
        """
        known = set(self.label_names)
        trained = {label for labels in self.train.labels for label in labels}
        tested = [label for labels in self.test.labels for label in labels] if self.test else []
        fitted = [label for split in self.splits if split is not self.test for names in split.labels for label in names]
        return {
            "read": sum(map(len, self.splits)),
            "dropped": sum(split.dropped for split in self.splits),
            "without_labels": sum(split.without_labels for split in self.splits),
            "labels_unseen_in_training": len(set(tested) - trained),
            "dropped_labels": sum(label not in known for label in tested),
            "dropped_training_labels": sum(label not in known for label in fitted),
        }

    def label_matrix(self, split: Split) -> sp.csr_array:
        """Return labels as a sparse (n, L) float32 matrix of ones; labels outside the label set are left out."""
        column_of = {name: column for column, name in enumerate(self.label_names)}
        columns: list[int] = []
        offsets = [0]
        for labels in split.labels:
            columns.extend(sorted({column_of[label] for label in labels if label in column_of}))
            offsets.append(len(columns))
        entries = np.ones(len(columns), np.float32), np.array(columns, np.int64), np.array(offsets, np.int64)
        return sp.csr_array(entries, shape=(len(split), len(self.label_names)))

    def with_labels(self, label_names: list[str]) -> Corpus:
        """Return these documents under another label set, e.g. that of a checkpoint."""
        return Corpus(self.train, self.val, self.test, label_names)


def load_corpus(settings: Settings, after: Trained | None = None) -> Corpus:
    """Read the splits that a configuration names and build the label set.

    How the labels of the training file are separated holds for all files; ``after`` is what a training before it says.

    Without a validation file, ``val_size`` of the training documents are drawn at random (seed 42); no validation
    documents at all are allowed only with ``val_size: 0`` or ``merge_train_val``. The label set holds the labels of
    training and validation, with ``include_test_labels`` also those of test, or exactly the lines of ``label_file``.

    Raises:
        DataError: A file cannot be read, no training document has a label, no validation document is left, or the
            label set or the test split is empty.
    """
    train, val = _split("train", Documents(), ()), None
    if settings.training_file:
        train, val, after = _training_splits(settings, after)
    elif not settings.eval:  # only scoring: the label set comes from label_file or from the checkpoint
        raise DataError("no training file", where="training_file", fix="name one, or demo:train")
    test = _read_split("test", settings, after) if settings.test_file else None
    note_repeated(train, {"validation": val, "test": test})
    return Corpus(train, val, test, _label_names(settings, train, val, test))


def _training_splits(settings: Settings, before: Trained | None) -> tuple[Split, Split | None, Trained]:
    train = _read_split("train", settings, before)
    after = train.trained
    if cut := said_of(splitter_of(train.texts)):
        add_note(train, cut)
    val = _read_split("val", settings, after) if settings.val_file else None
    if val is None and settings.val_size > 0:
        train, val = _split_validation(train, settings.val_size)
    if not any(train.labels):
        raise without_labels(str(settings.training_file))
    if val is not None and settings.merge_train_val:
        return _merged(train, val), None, after
    return train, val, after


def without_labels(source: str) -> DataError:
    """Return the error of a training file none of whose documents has a label."""
    fix = "each line must be 'labels TAB text' or 'id TAB labels TAB text'"
    return DataError("no training document has a label", where=source, fix=fix)


def read_documents(source: str, settings: Settings, after: Trained | None = None) -> Documents:
    """Read the documents of a file by its reader; a ``DataError`` where that returns something else.

    ``after`` is what the training file says of labels, where this is another one.
    """
    name = reader_of(source, settings)
    read = registry.get("readers", name).load()
    known = inspect.signature(read).parameters
    arguments = {key: getattr(settings, key) for key in READER_KEYS if key in known}
    arguments |= {key: value for key, value in (("form", name), ("after", after)) if key in known}
    documents = read(file_of(source, settings), **arguments)
    if not isinstance(documents, Documents):
        what = f"the reader returned {type(documents).__name__} instead of Documents"
        fix = "see registry.yaml and plant_plugin/data/text.py"
        raise DataError(what, where=f"data_format: {name}", fix=fix)
    documents.places |= compose(documents.texts)
    return documents


def reader_of(source: str, settings: Settings) -> str:
    """Return the reader of a file: ``data_format``; where that is text, by the file's ending."""
    return form_of(Path(source)) if settings.data_format == "txt" else settings.data_format


def read_as_text(source: str, settings: Settings) -> bool:
    """Tell whether a file is read by its ending, and its labels by what the whole column says."""
    stated = settings.label_separator or settings.encoding
    return stated is None and reader_of(source, settings) == form_of(Path(source))


def text_labels(source: str, settings: Settings) -> LabelColumn | None:
    """Return how the labels of a text file are separated; None where its encoding is stated."""
    if settings.encoding is not None:
        return None
    path = file_of(source, settings)
    return Table(path, "txt", Columns(separator=settings.label_separator)).label_column


def _read_split(name: str, settings: Settings, after: Trained | None = None) -> Split:
    source = str(getattr(settings, FILES[name]))
    documents = read_documents(source, settings, after)
    evidence_file = getattr(settings.evidence, FILES[name], None)
    if evidence_file is not None:
        documents.evidence = read_evidence(evidence_file, documents)
    all_kept = name == "test" or not settings.remove_no_label_data
    rows = [row for row, labels in enumerate(documents.labels) if labels or all_kept]
    split = _split(name, documents, rows, documents.dropped)
    if not split.texts:
        what = f"no {FULL_NAMES[name]} documents left"
        fix = "give a file whose documents have labels, or leave out remove_no_label_data"
        raise DataError(what, where=source, fix=fix)
    return split


def with_sentences(split: Split) -> Split:
    """Return the documents, and after them each sentence with evidence as one of those labels.

    In a sentence a word and a label that meet do belong together (method §9).
    """
    texts, labels, evidence = list(split.texts), list(split.labels), list(split.evidence or [])
    parents = list(range(len(split)))
    for document, (text, marks) in enumerate(zip(split.texts, evidence[:], strict=True)):
        for start, end, inside in marked_sentences(text, marks):
            if inside:
                texts.append(text[start:end])
                labels.append(sorted(inside))
                evidence.append(inside)
                parents.append(document)
    return Split(texts, labels, evidence=evidence, name=split.name, parents=parents)


def file_of(source: str, settings: Settings) -> Path:
    """Return the file of a ``*_file`` key of a configuration."""
    return source_path(source, settings.cache_dir)


def source_path(source: str, cache_dir: str | Path | None = None) -> Path:
    """Return the file of a ``*_file`` key: the path itself, or the built-in data that ``demo:train`` names."""
    if source.startswith(DEMO_PREFIX):
        return demo_file(source.removeprefix(DEMO_PREFIX), cache_dir)
    return Path(source)


def demo_file(split: str, cache_dir: str | Path | None = None) -> Path:
    """Return one split of the built-in made-up discharge summaries, unpacked on the first call.

    Its name carries a hash of the packed file, so that other notes make new files and never touch old ones.

    Raises:
        ConfigError: No such split.
        PlantError: The cache folder cannot be written.
    """
    if split not in DEMO_SPLITS:
        what = f"the built-in data has no split {split!r}"
        raise ConfigError(what, where=f"demo:{split}", fix=f"use one of {DEMO_SPLITS}")
    packed = (DEMO / f"{split}.txt.xz").read_bytes()
    path = cache_folder(cache_dir) / "demo" / f"{split}-{hashlib.sha256(packed).hexdigest()[:12]}.txt"
    if not path.is_file():
        with atomic_write(path) as temporary:
            temporary.write_bytes(lzma.decompress(packed))
    return path


def _split_validation(train: Split, val_size: float) -> tuple[Split, Split]:
    # YAML and flags may give 100.0 for 100 documents; scikit-learn takes only whole numbers of type int.
    size = int(val_size) if val_size >= 1 and float(val_size).is_integer() else val_size
    try:
        remaining, drawn = drawn_apart(train, size, SPLIT_SEED)
    except ValueError as error:
        what = f"the training documents ({len(train)}) cannot be split with val_size {val_size}"
        fix = "a share below 1, or a number of documents below that of the training file; or give a val_file"
        raise DataError(f"{what}: no training or validation documents left", where="val_size", fix=fix) from error
    return _split("train", train, remaining, train.dropped), _split("val", train, drawn)


def _split(name: str, documents: Documents, rows: Sequence[int], dropped: int = 0) -> Split:
    labels = [documents.labels[row] for row in rows]
    ids = None if documents.ids is None else [documents.ids[row] for row in rows]
    evidence = None if documents.evidence is None else [documents.evidence[row] for row in rows]
    texts = [documents.texts[row] for row in rows]
    return Split(texts, labels, ids, dropped, documents.column, documents.note, evidence=evidence, name=name)


def _merged(train: Split, val: Split) -> Split:
    """Return both as training documents, without ids: those of two files may clash."""
    evidence = None
    if train.evidence is not None or val.evidence is not None:  # a split without it has none for any document
        evidence = [labels for split in (train, val) for labels in split.evidence or [{}] * len(split)]
    texts, labels, dropped = train.texts + val.texts, train.labels + val.labels, train.dropped + val.dropped
    return Split(texts, labels, dropped=dropped, evidence=evidence, name="train")


def _label_names(settings: Settings, train: Split, val: Split | None, test: Split | None) -> list[str]:
    if settings.label_file:
        names = set(read_label_file(Path(settings.label_file)))
    else:
        if settings.include_test_labels and test is None:
            raise DataError("include_test_labels needs a test file", where="include_test_labels", fix="give test_file")
        sources = [train, val, test if settings.include_test_labels else None]
        names = {label for split in sources if split is not None for labels in split.labels for label in labels}
    if not names and not settings.eval:
        raise DataError("the label set is empty", where=str(settings.label_file or settings.training_file))
    return sorted(names)


def read_label_file(path: Path) -> list[str]:
    """Read the distinct labels of a label file, one a line, in the order of the file."""
    with text_lines(path, newline=None) as lines:
        return list(dict.fromkeys(name for line in lines if (name := one_label(line))))
