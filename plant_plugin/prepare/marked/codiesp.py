"""CodiEsp (CLEF eHealth 2020): clinical cases in Spanish with ICD-10 codes and the words that each was given for.

The release has folders ``train``, ``dev`` and ``test``; in each ``text_files`` (a case a file), ``text_files_en``
(translated by machine, without marks) and three tables: ``trainD.tsv`` and ``trainP.tsv`` (case, code) and
``trainX.tsv`` (case, kind of code, code, the words, ``start end;start end``). What codes stand for is in lists of their
own: code, Spanish, English.

Source: Miranda-Escalada et al. 2020, https://zenodo.org/records/3837305, version 4; lists: 3706838, ``codiesp_codes``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from plant_plugin.data.text import tab_separated
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.marked import PLACES, Marked, Provenance, spans_of, whole_text, write_sets

FOLDERS = {"train": "train", "valid": "dev", "test": "test"}
# Of each set: the folder of its texts, the kind of its codes, and the column that tells in its language what they are.
SETS = {
    "es_diagnoses": ("text_files", "D", 1),
    "es_procedures": ("text_files", "P", 1),
    "en_diagnoses": ("text_files_en", "D", 2),
}
LISTS = {"D": "codiesp-D_codes.tsv", "P": "codiesp-P_codes.tsv"}
KINDS = {"DIAGNOSTICO": "es_diagnoses", "PROCEDIMIENTO": "es_procedures"}  # the sets that have the marks

Cases = dict[str, Marked]


def prepare_codiesp(raw: Path, out: Path, dry_run: bool = False, names: Path | None = None) -> Provenance:
    """Write ``es_diagnoses``, ``es_procedures`` and ``en_diagnoses``; codes in capitals, as ICD-10 writes them.

    Cases without a code of the kind are left out. The English cases have no evidence. Lists of what codes stand for are
    looked for below ``names``, or else below ``raw``; sets whose list is missing get no names.

    Raises:
        DataError: A file is missing, a line is not of the format, names a case or code that is not there, or marks
            other words than stand in the text.
        PlantError: The folder cannot be written.
    """
    release = _release(raw)
    sets: dict[str, dict[str, list[Marked]]] = {name: {} for name in SETS}
    tables: list[Path] = []
    for split, part in FOLDERS.items():
        folder = release / part
        table = {kind: folder / f"{part}{kind}.tsv" for kind in "DPX"}
        cases = {name: _cases(folder / texts, table[kind]) for name, (texts, kind, _) in SETS.items()}
        _mark(cases, table["X"])
        for name, documents in cases.items():
            sets[name][split] = list(documents.values())
        tables += table.values()
    lists = {kind: path for kind, name in LISTS.items() for path in sorted((names or raw).rglob(name))}
    of_sets = {name: _names(lists[kind], column) for name, (_, kind, column) in SETS.items() if kind in lists}
    counts = {"name_tables_missing": len(LISTS) - len(lists)}
    content = {"command": "prepare codiesp", "options": {}, "counts": counts}
    return write_sets(out, sets, [*tables, *lists.values()], content, dry_run, of_sets)


def _names(path: Path, column: int) -> dict[str, str]:
    """Read the names of codes; some have no English words."""
    rows = [row for _, row in tab_separated(path) if len(row) > column and row[column].strip()]
    return {row[0].strip().upper(): " ".join(row[column].split()) for row in rows}


def _release(raw: Path) -> Path:
    """The folder that holds ``train``, whatever the archive put around it."""
    tables = sorted(raw.rglob("trainX.tsv")) if raw.is_dir() else []
    if len(tables) != 1:
        what = "no trainX.tsv in it" if not tables else f"{len(tables)} releases in it"
        fix = "give the folder that codiesp.zip of https://zenodo.org/records/3837305 was unpacked into, and no other"
        raise DataError(what, where=str(raw), fix=fix)
    return tables[0].parent.parent


def _cases(texts: Path, table: Path) -> Cases:
    """Cases by name, with the codes that a table gives them."""
    cases = {path.stem: Marked(whole_text(path)) for path in sorted(texts.glob("*.txt"))}
    for where, (name, code) in _rows(table, ("case", "code")):
        _case(cases, name, where).label(code.upper(), where)
    return cases


def _mark(cases: dict[str, Cases], table: Path) -> None:
    for where, (name, kind, code, words, places) in _rows(table, ("case", "kind", "code", "words", "places")):
        if kind not in KINDS or not re.fullmatch(PLACES, places):
            fix = f"the second column has to be {' or '.join(KINDS)}, the fifth `start end;start end`"
            raise DataError("neither a kind of code nor places of a mark", where=where, fix=fix)
        case = _case(cases[KINDS[kind]], name, where)
        if code.upper() not in case.labels:
            fix = "take the three tables of one release"
            raise DataError("the case does not have this code", where=where, fix=fix)
        case.mark(code.upper(), spans_of(places), where, words)


def _case(cases: Cases, name: str, where: str) -> Marked:
    if name not in cases:
        raise DataError("there is no text of this case", where=where, fix="unpack the archive again, with its texts")
    return cases[name]


def _rows(table: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    for where, row in tab_separated(table):
        if len(row) != len(columns) or not all(row):
            fix = f"each line has to be: {' TAB '.join(columns)}"
            raise DataError(f"not {len(columns)} columns, or an empty one", where=where, fix=fix)
        yield where, row
