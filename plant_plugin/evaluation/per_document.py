"""The contributions of every document to the metrics: enough to compute them again on any resample of the documents.

Ranked metrics follow from the best K labels and the true ones; F1 from the predicted and the true pairs; MAP from each
document's average precision. The AUCs compare documents with each other, so nothing is kept for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import DataError
from plant_plugin.evaluation.arrays import TEXTS, WHOLE, Array, ArrayFile
from plant_plugin.evaluation.ranking import with_unranked
from plant_plugin.files import atomic_write

VERSION = 1
# What a file may lack, and how the rest is written.
OPTIONAL = {"average_precision": np.float32, "gold_precision": np.float32, "train_counts": np.int32, "num_train": None}


@dataclass(repr=False, eq=False)
class PerDocument:
    """The documents of a split in the order of its file; no ids and no text.

    Precisions are NaN for documents without (known) true labels, and None where they cannot be told.
    """

    labels: list[str]  # the label set, in column order
    truth: sp.csr_matrix  # 0/1 (N, L)
    top: npt.NDArray[np.int64]  # (N, K), the best labels first, L where fewer were scored; K may be 0
    predicted: dict[str, sp.csr_matrix]  # threshold's name -> 0/1 (N, L)
    average_precision: npt.NDArray[np.float32] | None = None  # (N,)
    train_counts: npt.NDArray[np.int64] | None = None  # (L,) training documents with each; -1: no macro metric's
    num_train: int | None = None
    propensity: tuple[float, float] = (0.55, 1.5)  # A and B
    gold_precision: npt.NDArray[np.float32] | None = None  # (N,) of all true labels, also those outside the label set
    added: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)  # metric -> above and below, (N, 2)

    def __len__(self) -> int:
        return int(self.truth.shape[0])

    def under(self, labels: list[str]) -> PerDocument:
        """Move to a larger label set, whose added labels are never true nor predicted."""
        if labels == self.labels:
            return self
        place = {name: column for column, name in enumerate(labels)}
        new = np.array([place[name] for name in self.labels] + [len(labels)], dtype=np.int64)

        def moved(pairs: sp.csr_matrix) -> sp.csr_matrix:
            matrix = sp.csr_matrix((pairs.data, new[pairs.indices], pairs.indptr), shape=(len(self), len(labels)))
            matrix.sort_indices()
            return matrix

        counts = None
        if self.train_counts is not None:
            counts = np.full(len(labels), -1)
            counts[new[:-1]] = self.train_counts
        return replace(
            self,
            labels=labels,
            truth=moved(self.truth),
            top=new[self.top],
            predicted={name: moved(pairs) for name, pairs in self.predicted.items()},
            train_counts=counts,
        )

    def only(self, labels: list[str]) -> sp.csr_matrix:
        """Return the truth of some of the labels, (N, len(labels))."""
        place = {name: column for column, name in enumerate(self.labels)}
        return self.truth if labels == self.labels else self.truth[:, [place[name] for name in labels]]

    def finding(self, truth: sp.csr_matrix) -> PerDocument:
        """Add true labels (N, L) to be found, none of which was ever ranked or predicted."""
        precision = self.average_precision
        if precision is not None:
            known, wanted = np.diff(self.truth.indptr), np.diff(truth.indptr)
            precision = with_unranked(precision, known, wanted).astype(np.float32)
        added = self.added if truth.nnz == self.truth.nnz else {}  # of metrics of which nothing else is known
        return replace(self, truth=truth, average_precision=precision, added=added)

    def arrays(self) -> dict[str, Array]:
        """Return the same as plain arrays for a file; :meth:`of_arrays` reads them."""
        label_type = np.uint16 if len(self.labels) <= np.iinfo(np.uint16).max else np.uint32
        arrays: dict[str, Array] = {
            "version": np.array(VERSION),
            "labels": np.frombuffer("\n".join(self.labels).encode(), dtype=np.uint8),
            "top": self.top.astype(label_type),
            "thresholds": np.array(list(self.predicted), dtype=np.str_),
            "propensity": np.array(self.propensity),
        }
        pairs = {"truth": self.truth}
        pairs |= {f"predicted{number}": predicted for number, predicted in enumerate(self.predicted.values())}
        for name, matrix in pairs.items():
            arrays[f"{name}_labels"] = matrix.indices.astype(label_type)
            arrays[f"{name}_counts"] = np.diff(matrix.indptr).astype(np.uint32)
        for name, kind in OPTIONAL.items():
            if getattr(self, name) is not None:
                arrays[name] = np.asarray(getattr(self, name), dtype=kind)
        if self.added:
            arrays["added"] = np.array(list(self.added), dtype=np.str_)
            arrays |= {f"added{number}": columns for number, columns in enumerate(self.added.values())}
        return arrays

    @classmethod
    def of_arrays(cls, arrays: ArrayFile) -> PerDocument:
        """Read what :meth:`arrays` returned.

        Raises:
            PlantError: Of another version, or arrays that do not fit together.
        """
        if (version := arrays.whole("version")) != VERSION:
            arrays.wrong("version", f"is {version}, expected {VERSION}")
        try:
            labels = arrays.array("labels", "u", (None,)).tobytes().decode().split("\n")
        except UnicodeDecodeError:
            arrays.wrong("labels", "is no UTF-8")
        documents = len(arrays.array("truth_counts", WHOLE, (None,)))

        def pairs(name: str) -> sp.csr_matrix:
            columns = arrays.array(f"{name}_labels", WHOLE, (None,), low=0, high=len(labels) - 1).astype(np.int64)
            counts = arrays.array(f"{name}_counts", WHOLE, (documents,), low=0, high=len(labels))
            ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            if ends[-1] != len(columns):
                arrays.wrong(f"{name}_counts", f"does not sum to the {len(columns):,} of {name}_labels")
            return sp.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(documents, len(labels)))

        def precision(name: str) -> npt.NDArray[np.float32] | None:
            return arrays.array(name, "f", (documents,), nan=True) if name in arrays else None

        thresholds = arrays.array("thresholds", TEXTS, (None,))
        first, second = arrays.array("propensity", "f", (2,)).tolist()
        added = arrays.array("added", TEXTS, (None,)) if "added" in arrays else ()
        has_counts = "train_counts" in arrays or "num_train" in arrays  # both, or the file lost one
        counts = arrays.array("train_counts", WHOLE, (len(labels),), low=-1) if has_counts else None
        return cls(
            labels,
            truth=pairs("truth"),
            top=arrays.array("top", WHOLE, (documents, None), low=0, high=len(labels)).astype(np.int64),
            predicted={str(name): pairs(f"predicted{number}") for number, name in enumerate(thresholds)},
            average_precision=precision("average_precision"),
            train_counts=None if counts is None else counts.astype(np.int64),
            num_train=arrays.whole("num_train", high=2**53) if has_counts else None,
            propensity=(first, second),
            gold_precision=precision("gold_precision"),
            added={str(name): arrays.array(f"added{number}", "f", (documents, 2)) for number, name in enumerate(added)},
        )

    def save(self, path: Path) -> None:
        """Write a compressed ``.npz`` without pickles, whole or not at all."""
        with atomic_write(path) as temporary:
            np.savez_compressed(temporary, **self.arrays())  # type: ignore[arg-type]


def load_per_document(path: Path) -> PerDocument:
    """Read what :meth:`PerDocument.save` wrote.

    Raises:
        DataError: No such file, torn, or of another version.
    """
    fix = "copy it again beside its result.json, or delete it to compare without tests"
    what = "the per-document values of a result"
    return PerDocument.of_arrays(ArrayFile.read(path, what, error=DataError, fix=fix))
