"""Files of features: what LibMultiLabel cannot read is named before it tries, and splits are hashed.

``data_format: xmc`` is turned into LibMultiLabel's ``svm`` in the cache folder: no header, features counted from 1.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path

from libmultilabel.common_utils import AttributeDict

from plant_plugin.data.documents import FILES, label_hash
from plant_plugin.data.xmc_sparse import read_xmc, xmc_header
from plant_plugin.errors import DataError
from plant_plugin.files import atomic_write, cache_folder, sha256

NUMBERS, FEATURE = r"[+\-]?\d+(?:,[+\-]?\d+)*", r"\d+:[^:\s]+"
LINE = re.compile(rf"(?:{NUMBERS}|{FEATURE})?(?:\s+{FEATURE})*\s*")
HEADER = re.compile(r"\d+ \d+ \d+\s*")


def with_svm_files(settings: AttributeDict) -> AttributeDict:
    """Replace files of ``xmc``, which have to have the same features, by the same in ``svm``."""
    if settings.data_format != "xmc":
        return settings
    changed = copy.copy(settings)
    widths = set()
    for key in FILES.values():
        if settings[key] is not None:
            path = Path(settings[key])
            widths.add(xmc_header(path)[1])
            changed[key] = str(_as_svm(path, settings.get("cache_dir")))
    if len(widths) > 1:
        fix = "take training and test file of one data set"
        raise DataError("the files have different numbers of features", where=str(settings.training_file), fix=fix)
    changed["data_format"] = "svm"
    return changed


def _as_svm(path: Path, cache_dir: str | None) -> Path:
    target = cache_folder(cache_dir) / "svm" / f"{sha256(path)}.svm"
    if not target.is_file():
        with atomic_write(target) as temporary, open(temporary, "w", encoding="utf-8") as stream:
            for row in read_xmc(path):
                pairs = zip(row.features, row.values, strict=True)
                labels = ",".join(map(str, row.labels))
                stream.write(f"{labels} {' '.join(f'{feature + 1}:{value!r}' for feature, value in pairs)}\n")
    return target


def check_svm(settings: AttributeDict) -> None:
    """Read the lines of every file once, looking at their form only; a ``DataError`` names the first that is wrong."""
    for key in FILES.values():
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
        what = "a header with the numbers of documents, features and labels, which LibMultiLabel's reader does not take"
        raise DataError(what, where=where, fix="say data_format: xmc, for which features count from 0")
    if re.search(r"\s0:", line):
        raise DataError("feature 0", where=where, fix="count features from 1: add one to every feature number")
    if not line.rstrip("\n") or not LINE.fullmatch(line):
        raise DataError("not of the form 'label,label feature:value …'", where=where, fix="mend or remove the line")


def svm_hashes(settings: AttributeDict, labels: list[str]) -> tuple[dict[str, int], dict[str, str]]:
    """Return counts (none are dropped) and hashes of the label set and of the files' bytes."""
    hashes = {"labels": label_hash(labels)}
    for split, key in FILES.items():
        if settings[key] is not None:
            hashes[split] = sha256(settings[key])
    return {"dropped": 0}, hashes
