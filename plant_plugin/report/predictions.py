"""Scores that any program wrote, and their metrics in the form of ``result.json``.

Read are LibMultiLabel's ``label:score`` lines, Omikuji's and Parabel's, a sparse ``.npz`` or a dense ``.npy``.
"""

from __future__ import annotations

import contextlib
import math
import re
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError
from plant_plugin.evaluation import said
from plant_plugin.evaluation.arrays import mapped, read_sparse
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.ranking import blocks, rows_of
from plant_plugin.report.json_scores import documents_of
from plant_plugin.report.result import Result, plain, versions

AS_IN_TRUTH = "--label-file and scores have to name labels as the truth does"
WITH_COMMA = re.compile(r":-?\d*\.?\d+,")  # pairs that commas join
MATRICES = (".npz", ".npy")
UNITS = {"probability": 0.5, "logit": 0.0}  # the undecided score of each
Matrix = sp.csr_matrix | npt.NDArray[np.float32]


def read_scores(path: Path) -> tuple[Matrix, list[str] | None]:
    """Read scores (N, columns) of a file, and the label of each column; None where the file does not say.

    Raises:
        DataError: The file cannot be read.
    """
    return (read_score_matrix(path), None) if path.suffix in MATRICES else read_score_lines(path)


def read_score_lines(path: Path) -> tuple[sp.csr_matrix, list[str]]:
    """Read ``label:score`` pairs separated by white space, one document a line; an empty line has no scores.

    A label may hold colons: the last one separates. Other forms are those of :mod:`.score_lines` and
    :mod:`.json_scores`. The file may be a ``.gz`` or ``.xz``.

    Returns:
        Scores (N, columns), and the label of each column, in order of first occurrence.

    Raises:
        DataError: The file cannot be read, or a line holds something else, a score that is no finite number, or a
            label twice.
    """
    places: dict[str, int] = {}
    columns, values, offsets = array("q"), array("f"), array("q", [0])
    with text_lines(path, newline=None) as stream:
        for number, pairs in documents_of(stream, path):
            places_of_line = [places.setdefault(name, len(places)) for name, _ in pairs]
            scores, problem = array("f"), ""
            with contextlib.suppress(ValueError):
                scores.extend(float(score) for _, score in pairs)
            if len(scores) < len(pairs):
                problem = "something that is not label:score"
            elif not all(name for name, _ in pairs):
                problem = "a score without a label"
            elif any(map(WITH_COMMA.search, (name for name, _ in pairs))):
                problem = "a comma after a score"
            elif not all(map(math.isfinite, scores)):  # float32 holds less
                problem = "a score that is no finite number"
            elif len(set(places_of_line)) < len(places_of_line):
                problem = "a label twice"
            if problem:
                fix = "write label:score pairs with spaces between them, each label once a line"
                raise DataError(f"the line holds {problem}", where=f"{path}, line {number}", fix=fix)
            columns.extend(places_of_line)
            values.extend(scores)
            offsets.append(len(columns))
    content = (np.array(values, np.float32), np.array(columns, np.int64), np.array(offsets, np.int64))
    return sp.csr_matrix(content, shape=(len(offsets) - 1, len(places))), list(places)


def read_score_matrix(path: Path) -> Matrix:
    """Read a matrix (N, L) whose columns are the lines of a label file.

    Args:
        path: ``.npz`` as ``scipy.sparse.save_npz`` writes it, of which only the stored entries are scored (also stored
            zeros); or a dense ``.npy``, left on disk and read as it is needed, in which -inf is no score.

    Raises:
        DataError: Not such a file (one with pickles is refused too), or not a matrix of numbers.
    """
    fix = "write scipy.sparse.save_npz(file, csr_matrix) or numpy.save(file, array), documents × labels"
    if path.suffix != ".npy":
        stored = read_sparse(path, "a matrix of scores", error=DataError, fix=fix)
        scores = sp.csr_matrix(stored, dtype=np.float32)
        scores.sum_duplicates()
        if not np.isfinite(scores.data).all():  # float32 holds less
            raise DataError("a score is no finite number", where=str(path), fix="leave out what was not scored")
        return scores
    try:
        dense: npt.NDArray[np.float32] = mapped(path, None, (None, None))
    except FileNotFoundError as error:
        raise DataError("no such file", where=str(path), fix="check --scores") from error
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"not a matrix of scores ({type(error).__name__})", where=str(path), fix=fix) from error
    for rows in blocks(*dense.shape):
        bad = (np.isnan(dense[rows]) | np.isposinf(dense[rows])).any(axis=1)
        if bad.any():
            what, fix = "a score is no finite number", "only -inf may stand in the place of a score that is not there"
            raise DataError(what, where=f"{path}, row {rows.start + int(bad.argmax()) + 1}", fix=fix)
    return dense


def score_matrix(scores: Matrix, names: Sequence[str], labels: Sequence[str], *, where: str) -> tuple[Matrix, int]:
    """Return scores (N, L) under the label set, and how many were of other labels.

    Args:
        scores: As read from the file ``where``.
        names: The label of each column; of a dense matrix those of the label set.
        labels: The label set.
        where: The file, for errors.

    Raises:
        DataError: The matrix has another number of columns than there are names, or none of these is in the label set.
    """
    if scores.shape[1] != len(names):
        what = f"the scores have {scores.shape[1]} columns, and there are {len(names)} labels"
        fix = "--label-file has to hold the label of each column, one a line, in the columns' order, none twice"
        raise DataError(what, where=where, fix=fix)
    if list(names) == list(labels):
        return scores, 0
    if not sp.issparse(scores):
        column_of = {name: column for column, name in enumerate(names)}
        return scores[:, [column_of[name] for name in labels]], 0
    place = {name: column for column, name in enumerate(labels)}
    columns = np.array([place.get(name, -1) for name in names], dtype=np.int64)[scores.indices]
    known = columns >= 0
    if known.size and not known.any():
        raise DataError("no label of the scores is in the label set", where=where, fix=AS_IN_TRUTH)
    indptr = np.concatenate([[0], np.cumsum(known)])[scores.indptr]
    matrix = sp.csr_matrix((scores.data[known], columns[known], indptr), shape=(scores.shape[0], len(labels)))
    matrix.sort_indices()
    return matrix, int((~known).sum())


def evaluate_predictions(
    scores: Matrix,
    truth: sp.csr_matrix | sp.csr_array,
    labels: Sequence[str],
    *,
    train_counts: npt.NDArray[np.int64] | None = None,
    num_train: int | None = None,
    unit: str | None = None,
    thresholds: Mapping[str, float] | None = None,
    propensity: tuple[float, float] = (0.55, 1.5),
    outside: npt.NDArray[np.int64] | None = None,
    removed: sp.csr_matrix | None = None,
    where: str = "",
) -> tuple[Result, PerDocument]:
    """Compute every metric that these predictions allow.

    The arguments that are not explained here are those of :class:`.metrics.Evaluator`.

    Args:
        scores: (N, L); of a sparse matrix only the stored entries are scored.
        truth: 0/1 (N, L).
        labels: L names.
        train_counts: Without them nothing that needs them is computed.
        num_train: Training documents.
        unit: ``probability`` or ``logit``, for the threshold called 0.5; None: probabilities where all lie in [0, 1].
        thresholds: More thresholds, in the unit of the scores, e.g. ``micro``.
        propensity: A and B.
        outside: Without it MAP-gold is left out.
        removed: (N, L), as of :func:`.result.filtered_pairs`.
        where: The file of scores, for errors.

    Returns:
        What of a result the scores tell, and what each document contributes.

    Raises:
        DataError: Another number of documents in truth than in scores, or none; or all true labels are outside the
            label set.
        ConfigError: A threshold of an unknown name.
    """
    if scores.shape[0] != truth.shape[0]:
        raise DataError(
            f"there are scores of {scores.shape[0]} documents and truth of {truth.shape[0]}",
            where=where,
            fix="both need a line for each document in the same order, an empty one where nothing was predicted (so a "
            "blank line at the end is one more); programs that drop documents without labels must keep them",
        )
    if not truth.nnz and outside is not None and outside.any():
        raise DataError("no label of the truth is in the label set", where=where, fix=AS_IN_TRUTH)
    notes: list[str] = []
    lowest, highest, without = _range(scores)
    if without:
        notes.append(
            f"{said.counted(without, 'entry is', 'entries are')} -inf, not scored: "
            "they rank last and count as not predicted"
        )
    if unit is None:
        within = 0.0 <= lowest <= highest <= 1.0
        unit = "probability" if within else "logit"
        notes.append(f"scores taken for {unit} values: {'all lie' if within else 'not all lie'} between 0 and 1")
    limits = {"0.5": UNITS[unit], **(thresholds or {})}
    evaluator = Evaluator(
        len(labels), train_label_counts=train_counts, num_train=num_train, thresholds=limits, propensity=propensity,
        outside=outside, removed=removed, keep_documents=True,
    )  # fmt: skip
    whole = not sp.issparse(scores) or scores.nnz == scores.shape[0] * scores.shape[1]
    for rows in blocks(*scores.shape):
        block = scores[rows]
        evaluator.update(block.toarray() if whole and sp.issparse(block) else block, truth[rows])
    metrics, documents = evaluator.compute(), evaluator.per_document(labels)
    if sp.issparse(scores) and not whole:
        longest = int(np.diff(scores.indptr).max(initial=0))
        metrics = {name: value for name, value in metrics.items() if (parse_metric(name).k or 0) <= longest}
        documents.top = documents.top[:, :longest]
        notes += _partial(scores, longest, limits)
    if train_counts is None:
        notes.append("no training file: propensity-scored metrics and frequency bins are left out")
    result: Result = {
        "metrics": plain(metrics), "counts": evaluator.counts, "thresholds": limits, "notes": notes,
        "versions": versions(), "backend": evaluator.backend,
    }  # fmt: skip
    return result, documents


def _range(scores: Matrix) -> tuple[float, float, int]:
    """Return lowest and highest of the scores, and how many entries of a dense matrix are -inf: no scores."""
    lowest, highest, without = np.inf, -np.inf, 0
    for rows in blocks(*scores.shape):
        block = np.asarray(scores[rows].data if sp.issparse(scores) else scores[rows], dtype=np.float32)
        known = ~np.isneginf(block)
        lowest = min(lowest, float(np.min(block, where=known, initial=np.inf)))
        highest = max(highest, float(np.max(block, where=known, initial=-np.inf)))
        without += int(known.size - np.count_nonzero(known))
    return lowest, highest, without


def _partial(scores: sp.csr_matrix, longest: int, limits: Mapping[str, float]) -> list[str]:
    """Say in sentences what the scores of only some labels leave open."""
    notes = [
        f"at most {said.counted(longest, 'label')} of a document have scores: MAP, the AUCs and "
        f"cut-offs above {longest} are left out, and MAP-gold counts true labels without a score as not found"
    ]
    lengths = np.diff(scores.indptr)
    if shorter := int((lengths < longest).sum()):
        notes.append(
            f"{said.counted(shorter, 'document has', 'documents have')} fewer than {longest} scores; "
            "the places without one count as misses"
        )
    for name, limit in limits.items():
        above = np.bincount(rows_of(scores)[scores.data > np.float32(limit)], minlength=len(lengths))
        if cut := int(((above == lengths) & (lengths > 0)).sum()):
            notes.append(
                f"F1@{name}: in {said.counted(cut, 'document')} every score exceeds the threshold; labels beyond "
                "the scored ones are taken for not predicted"
            )
    return notes
