"""Extreme classification data into LibMultiLabel's text format, with names of labels and propensity parameters."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.data.xmc_sparse import read_filter
from plant_plugin.errors import DataError
from plant_plugin.prepare.output import Counts, Made, describe, opened, staged, write_provenance
from plant_plugin.prepare.xmc.repetitions import find_repetition
from plant_plugin.prepare.xmc.shapes import Shape, find_shape

# A and B of Jain et al. 2016, by what the texts are from.
PROPENSITIES = {"default": (0.55, 1.5), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}
NAMED = {"amazon": "amazon", "wikipedia": "wiki(?!10)"}  # Wiki10-31K is reported with the default


def propensities_of(name: str) -> str:
    """Return the parameters that are usual for a data set of this name."""
    return next((kind for kind, pattern in NAMED.items() if re.search(pattern, name, re.IGNORECASE)), "default")


def prepare_xmc(
    source: Path,
    out: Path,
    *,
    vocabulary: Path | None = None,
    encoding: str = "utf-8",
    propensities: str | None = None,
    repetition: int | None = None,
    dry_run: bool = False,
) -> Made:
    """Write ``train.txt``, ``test.txt``, ``label_names.tsv``, ``propensity.yml`` and ``provenance.json`` into ``out``.

    Features that have no words become ``train_features.txt`` and ``test_features.txt``: see :mod:`.features`.
    Beside a filter file of the test documents also ``test_filter.txt``, for the key ``test_filter_file``.

    Args:
        source: The data set's folder, of any shape of :mod:`plant_plugin.prepare.xmc.shapes`.
        out: The folder to write.
        vocabulary: Words of the features, for sparse files without texts.
        encoding: Of every file, also within ``.gz``.
        propensities: A name of ``PROPENSITIES``; None chooses by the folder's name.
        repetition: Of a set with several divisions into training and test, from 1; None: the first.
        dry_run: Only count.

    Raises:
        DataError: A file is missing, broken or does not fit the others.
        PlantError: The folder cannot be written, or what is read would be replaced.
    """
    with _decoding(encoding) as codec:
        repeated = find_repetition(source, vocabulary, codec, repetition)
        shape, division = repeated or (find_shape(source, vocabulary, codec), {})
        kind = propensities or propensities_of(source.resolve().name)
        with nullcontext() if dry_run else staged(out, shape.files) as stage:
            counts = _counts(shape, stage)
            if shape.test_filter is not None:
                _write_filter(shape.test_filter, stage, counts)
            of_all: Counts = {"shape": shape.name, **division, **counts, "propensities": kind}
            if stage is not None:
                a, b = PROPENSITIES[kind]
                lines = f"# {kind}: two lines for a configuration on these data\npropensity_a: {a}\npropensity_b: {b}\n"
                (stage / "propensity.yml").write_text(lines, encoding="utf-8")
                options = {"encoding": encoding, "propensities": kind, "shape": shape.name}
                content = {"command": "prepare xmc", "options": options, "sources": describe(shape.files)}
                write_provenance(stage, {**content, "counts": of_all})
    return {"counts": of_all, "sets": {}}


@contextmanager
def _decoding(encoding: str) -> Iterator[str]:
    """Yield the name under which files are decoded; what is of another encoding inside is an error about this one."""
    try:
        "".encode(encoding)
        codec = codecs.lookup(encoding).name
    except (LookupError, ValueError) as error:
        raise DataError(f"there is no encoding {encoding[:40]!r}", where="--encoding", fix="e.g. latin-1") from error
    fix = "name the encoding of its files with --encoding, e.g. latin-1"
    try:
        yield "utf-8-sig" if codec == "utf-8" else codec
    except UnicodeError:  # its message may hold content
        raise DataError(f"the files are not {codec}", where="--encoding", fix=fix) from None
    except DataError as error:
        if not error.what.startswith("not valid "):
            raise
        raise DataError(error.what, where=error.where, fix=fix) from None


def _counts(shape: Shape, stage: Path | None) -> Counter[str]:
    """Write texts and names of labels, where there is a stage, and count."""
    counts, seen = Counter[str](), dict[str, set[str]]()
    for split in ("train", "test"):
        seen[split] = set()
        name, header = shape.file(split)
        with opened(stage, name) as stream:
            stream.write(header)
            for labels, text in shape.read(split):
                stream.write(shape.line((labels, text)))
                counts[split] += 1
                counts[f"{split}_without_labels"] += not labels
                counts[f"{split}_without_text"] += not text.strip()
                counts[f"{split}_labels_in_all"] += len(labels)
                seen[split].update(labels)
        if not counts[split]:
            raise DataError(f"no {split} documents", where=str(shape.files[0]), fix="download the data set again")
    counts.update(shape.counts)
    names = sorted(seen["train"] | seen["test"]) if shape.labels is None else shape.labels
    counts["labels"] = len(names)
    counts["labels_without_a_name"] = len(names) * (shape.labels == [str(number) for number in range(len(names))])
    counts["labels_in_training"] = len(seen["train"])
    counts["test_labels_unseen_in_training"] = len(seen["test"] - seen["train"])
    with opened(stage, LABEL_NAMES) as stream:
        for number, name in enumerate(names):
            stream.write(f"{name if shape.labels is None else number}\t{' '.join(name.split())}\n")
    return counts


def _write_filter(source: Path, stage: Path | None, counts: Counter[str]) -> None:
    """Write ``test_filter.txt``, where there is a stage, and count its pairs."""
    documents, labels = counts["test"], counts["labels"]
    with opened(stage, "test_filter.txt") as stream:
        for where, document, label in read_filter(source):
            if document >= documents or not label.isdecimal() or int(label) >= labels:
                what = f"not one of {documents:,} test documents and one of {labels:,} labels, both from 0"
                raise DataError(what, where=where, fix="take the files of one data set")
            stream.write(f"{document}\t{int(label)}\n")
            counts["test_filter"] += 1
