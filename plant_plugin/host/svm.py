"""Files of ``data_format: svm``: what LibMultiLabel cannot read is named before it tries, and splits are hashed."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from libmultilabel.common_utils import AttributeDict

from plant_plugin.errors import DataError

NUMBERS, FEATURE = r"[+\-]?\d+(?:,[+\-]?\d+)*", r"\d+:[^:\s]+"
LINE = re.compile(rf"(?:{NUMBERS}|{FEATURE})?(?:\s+{FEATURE})*\s*")
HEADER = re.compile(r"\d+ \d+ \d+\s*")
SPLITS = {"train": "training_file", "val": "val_file", "test": "test_file"}


def check_svm(settings: AttributeDict) -> None:
    """Read the lines of every file once, looking at their form only.

    Raises:
        DataError: A file is missing, empty, starts with the header of extreme-classification files, counts features
            from zero or has a line of another form.
    """
    for key in SPLITS.values():
        if settings[key] is None:
            continue
        path = Path(settings[key])
        lines = 0
        try:
            with open(path, encoding="utf-8") as stream:
                for lines, line in enumerate(stream, 1):
                    _check_line(line, path, lines)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not plain UTF-8 text"
            raise DataError(f"the file cannot be read ({reason})", where=str(path), fix="check the path") from error
        if not lines:
            raise DataError("the file is empty", where=str(path), fix="check that it was written completely")


def _check_line(line: str, path: Path, number: int) -> None:
    where = f"{path}, line {number}"
    if number == 1 and HEADER.fullmatch(line):
        raise DataError(
            "a header with the numbers of documents, features and labels, which LibMultiLabel's reader does not take",
            where=where,
            fix="remove the line; features must then count from 1",
        )
    if re.search(r"\s0:", line):
        raise DataError("feature 0", where=where, fix="count features from 1: add one to every feature number")
    if not line.rstrip("\n") or not LINE.fullmatch(line):
        raise DataError("not of the form 'label,label feature:value …'", where=where, fix="mend or remove the line")


def svm_hashes(settings: AttributeDict, labels: list[str]) -> tuple[dict[str, int], dict[str, str]]:
    """Counts (none are dropped) and hashes of the label set and of the files' bytes."""
    hashes = {"labels": hashlib.sha256("\n".join(labels).encode()).hexdigest()}
    for split, key in SPLITS.items():
        if settings[key] is not None:
            hashes[split] = hashlib.sha256(Path(settings[key]).read_bytes()).hexdigest()
    return {"dropped": 0}, hashes
