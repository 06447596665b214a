"""ICD codes as tables hold them, without dots, and as people and benchmarks write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from plant_plugin.errors import DataError

SHORTEST = 3  # characters of an ICD code: fewer means that leading zeros were lost


def clean_code(value: str, column: str, path: Path, line: int) -> str:
    """A code of a table, checked not to have been read as a number; empty when the table has none.

    Raises:
        DataError: The code has a dot, an exponent or fewer than three characters.
    """
    code = value.strip().upper()
    if not code:
        return code
    if "." in code or "+" in code or len(code) < SHORTEST or " " in code:
        raise DataError(
            f"{column} holds a code that was read as a number (a dot, an exponent, or leading zeros gone)",
            where=f"{path}, line {line}",
            fix="take the table as it was downloaded; spreadsheets and pandas change codes unless told to keep text",
        )
    return code


def icd9_diagnosis(code: str) -> str:
    """``0389`` -> ``038.9``, ``V1582`` -> ``V15.82``, ``E8889`` -> ``E888.9``."""
    return _dotted(code, 4 if code.startswith("E") else 3)


def icd9_procedure(code: str) -> str:
    """``0331`` -> ``03.31``."""
    return _dotted(code, 2)


def icd10_diagnosis(code: str) -> str:
    """``I5022`` -> ``I50.22``."""
    return _dotted(code, 3)


def icd10_procedure(code: str) -> str:
    """ICD-10-PCS has no dots."""
    return code


def as_caml_reads(code: str) -> str:
    """A dotted ICD-9 code as CAML's published preparation has it.

    That program reads procedures first as whole numbers, then as fractions: ``03.31`` loses its zero and becomes
    ``33.1``, which is another procedure; ``99.10`` becomes ``99.1``. Diagnoses are read as text, because letters stand
    among them. One thing is not repeated: the second reading goes in pieces of the table, and procedures that share a
    piece with the last diagnoses keep their final zero (``99.10``); which these are depends on the version of pandas.

    Source: jamesmullenbach/caml-mimic, notebooks/dataproc_mimic_III.ipynb, which reads these columns without a type.
    """
    digits = code.replace(".", "")
    if code[2:3] != "." or not digits.isdigit():  # only procedures have their dot after two digits
        return code
    number = str(int(digits))
    return str(float(f"{number[:2]}.{number[2:]}"))


def _dotted(code: str, place: int) -> str:
    return f"{code[:place]}.{code[place:]}" if len(code) > place else code


RULES: dict[tuple[int, str], Callable[[str], str]] = {
    (9, "diagnosis"): icd9_diagnosis,
    (9, "procedure"): icd9_procedure,
    (10, "diagnosis"): icd10_diagnosis,
    (10, "procedure"): icd10_procedure,
}
