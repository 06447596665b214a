"""MIMIC-III and MIMIC-IV: codes and notes become one document per admission, then splits.

Codes are read first (a few hundred thousand short strings), then the notes pass by once: those of admissions with codes
are cleaned and put into a scratch file. Memory therefore does not grow with the notes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from plant_plugin.data.evidence import evidence_beside, write_evidence
from plant_plugin.errors import DataError
from plant_plugin.prepare.mimic import splits as label_sets
from plant_plugin.prepare.mimic.mdace import Mdace
from plant_plugin.prepare.mimic.notes import Admission, Note, Scratch, style_named
from plant_plugin.prepare.mimic.splits import CAML_NAMES, Splits, assign, code_counts, everywhere, find_split_lists
from plant_plugin.prepare.mimic.tables import (
    as_caml_reads,
    clean_code,
    dotted,
    find_table,
    find_tables,
    read_id,
    read_table,
)
from plant_plugin.prepare.output import Made, describe, staged, unnamed, write_names, write_provenance

LIST_NAMES = {"full": "full", "top50": "50", "rare50": "rare50", "few": "few"}
CODE_TABLES = {"diagnosis": "DIAGNOSES_ICD", "procedure": "PROCEDURES_ICD"}
NAME_TABLES = {"diagnosis": "D_ICD_DIAGNOSES", "procedure": "D_ICD_PROCEDURES"}
MIMIC3_NOTES = ("SUBJECT_ID", "HADM_ID", "CATEGORY", "DESCRIPTION", "CHARTDATE", "ROW_ID", "TEXT")
MIMIC4_NOTES = ("subject_id", "hadm_id", "note_type", "note_seq", "text")


@dataclass(frozen=True)
class MimicOptions:
    """The choices beside the place of the tables."""

    out: Path
    splits: Path | None = None  # None: by hashed patient ids
    subsets: tuple[str, ...] = ("full", "top50")
    style: str = "caml"
    seed: int = 1  # of the hashed split
    codes: Path | None = None  # the codes of top50, instead of the most frequent ones
    few_in_test: bool = False
    caml_compatible: bool = False
    min_count: int = 1  # documents of a code, in the full set
    min_count_over: str = "train"  # or "all"
    dry_run: bool = False
    mdace: Path | None = None  # MDACE's JSON files: evidence for MIMIC-III

    def named(self) -> dict[str, object]:
        """Everything that the result depends on, without paths, for the provenance."""
        return {
            **{name: value for name, value in vars(self).items() if name not in ("out", "dry_run")},
            "splits": self.splits and self.splits.name,
            "subsets": list(self.subsets),
            "codes": self.codes and self.codes.name,
            "mdace": self.mdace is not None,
        }


@dataclass(frozen=True)
class MimicSource:
    """One version of MIMIC."""

    name: str  # of the command
    folder: str  # of the full set; those of subsets get an ending
    version: int  # of the codes, 9 or 10
    tables: Path  # the folder of ``CODE_TABLES`` and, as far as they are there, of ``NAME_TABLES``
    code_columns: tuple[str, ...]  # admission, code, and the code's version where there are several
    notes_file: Path
    notes: Callable[[Path, Counter[str]], Iterator[Note]]  # reads that file; gets the counts to add to


def mimic3_source(raw: Path) -> MimicSource:
    """MIMIC-III v1.4: ``NOTEEVENTS``, ``DIAGNOSES_ICD`` and ``PROCEDURES_ICD`` of a folder."""
    columns, notes = ("HADM_ID", "ICD9_CODE"), find_table(raw, "NOTEEVENTS")
    return MimicSource("prepare mimic3", "MIMIC", 9, raw, columns, notes, _mimic3_notes)


def mimic4_source(hosp: Path, note: Path, icd: int) -> MimicSource:
    """MIMIC-IV: ``hosp/diagnoses_icd``, ``hosp/procedures_icd``, ``note/discharge``; codes of one version."""
    columns, notes = ("hadm_id", "icd_code", "icd_version"), find_table(note, "discharge")
    folder = "MIMIC-IV" if icd == 10 else "MIMIC-IV-9"
    return MimicSource("prepare mimic4", folder, icd, hosp, columns, notes, _mimic4_notes)


def _mimic3_notes(path: Path, counts: Counter[str]) -> Iterator[Note]:
    """Discharge summaries of admissions; reports come before addenda, then by date and row."""
    rows = 0
    for line, (patient, admission, category, description, date, row, text) in read_table(path, MIMIC3_NOTES):
        rows += 1
        if category.strip().lower() != "discharge summary":
            continue
        ids = _ids_of_summary(patient, admission, MIMIC3_NOTES, path, line, counts)
        if ids is not None:
            addendum = description.strip().lower() == "addendum"
            counts["addenda"] += addendum
            number = read_id(row, "ROW_ID", path, line) or 0
            yield Note(*ids, (addendum, date, number), text, number)
    counts["note_rows"] = rows


def _mimic4_notes(path: Path, counts: Counter[str]) -> Iterator[Note]:
    """Discharge summaries of admissions, then their addenda, by sequence number."""
    for line, (patient, admission, kind, sequence, text) in read_table(path, MIMIC4_NOTES):
        ids = _ids_of_summary(patient, admission, MIMIC4_NOTES, path, line, counts)
        if ids is not None:
            addendum = kind.strip().upper() == "AD"
            counts["addenda"] += addendum
            yield Note(*ids, (addendum, read_id(sequence, "note_seq", path, line) or 0), text)


def _ids_of_summary(
    patient: str, admission: str, columns: tuple[str, ...], path: Path, line: int, counts: Counter[str]
) -> tuple[int, int] | None:
    """Patient and admission of a discharge summary; None where one of them is missing, which is counted."""
    counts["discharge_summaries"] += 1
    number = read_id(admission, columns[1], path, line)
    subject = read_id(patient, columns[0], path, line)
    if number is None or subject is None:
        counts["summaries_without_admission"] += 1
        return None
    return subject, number


def prepare_mimic(source: MimicSource, options: MimicOptions) -> Made:
    """Write the asked for sets, each into its folder below ``options.out``, all or none.

    Raises:
        DataError: A table, a list or a value is not what it should be, or no training document is left.
        PlantError: The folder cannot be written.
    """
    with nullcontext() if options.dry_run else staged(options.out) as stage:
        return _Preparation(source, options).run(stage)


class _Preparation:
    def __init__(self, source: MimicSource, options: MimicOptions) -> None:
        self.source, self.options = source, options
        self.counts: Counter[str] = Counter()
        self.code_tables = {kind: find_table(source.tables, name) for kind, name in CODE_TABLES.items()}
        self.name_tables = find_tables(source.tables, NAME_TABLES)
        # Lists are read first: a mistake there should not show after minutes.
        self.lists = find_split_lists(options.splits) if options.splits else None
        self.own_lists = find_split_lists(options.splits, top50=True) if options.splits else None
        self.listed = label_sets.listed_codes(options.codes) if options.codes else None
        self.names: dict[str, str] = {}  # of labels
        self.mdace = None
        if options.mdace is not None:
            self.mdace = Mdace(options.mdace, source.version, self.counts, caml_compatible=options.caml_compatible)

    def run(self, stage: Path | None) -> Made:
        codes = self._read_codes()
        self._read_names()
        with Scratch(stage) as scratch:
            admissions = self._read_notes(codes, scratch)
            splits = assign(admissions, self.lists, self.options.seed, self.counts)
            if not splits["train"]:
                fix = "check that the tables belong together and that the split lists are of these data"
                raise DataError("no training document is left", where=str(self.source.notes_file.parent), fix=fix)
            chosen = {name: self._subset(name, splits, admissions) for name in self.options.subsets}
            if stage is not None:
                self._write(stage, chosen, scratch)
        return {"counts": dict(self.counts), "sets": {self._folder(name): sizes[1] for name, sizes in chosen.items()}}

    def _folder(self, subset: str) -> str:
        return self.source.folder + ("" if subset == "full" else f"-{LIST_NAMES[subset]}")

    def _read_codes(self) -> dict[int, frozenset[str]]:
        codes_of: dict[int, set[str]] = {}
        for kind, path in self.code_tables.items():
            for admission, code in self._code_rows(kind, path):
                code = sys.intern(self._label(code, kind))  # one string per code, however often it is read
                codes = codes_of.setdefault(admission, set())
                self.counts["codes_twice_in_an_admission"] += code in codes
                codes.add(code)
        self.counts["admissions_with_codes"] = len(codes_of)
        return {admission: frozenset(codes) for admission, codes in codes_of.items()}

    def _code_rows(self, kind: str, path: Path) -> Iterator[tuple[int, str]]:
        """Admission and code of each row that has both, in the wanted version."""
        columns = self.source.code_columns
        for line, (admission, value, *version) in read_table(path, columns):
            self.counts[f"{kind}_rows"] += 1
            if version and version[0].strip() != str(self.source.version):
                self.counts[f"{kind}_rows_of_another_version"] += 1
                continue
            number = read_id(admission, columns[0], path, line)
            code = clean_code(value, columns[1], path, line)
            if number is None or not code:
                self.counts[f"{kind}_rows_without_{'admission' if number is None else 'code'}"] += 1
            else:
                yield number, code

    def _label(self, code: str, kind: str) -> str:
        return dotted(code, self.source.version, kind, caml_compatible=self.options.caml_compatible)

    def _read_names(self) -> None:
        """Read the names of labels; one that CAML's reading makes of several codes stands for all of them."""
        titles_of: dict[str, dict[str, None]] = {}
        columns = (self.source.code_columns[1], "LONG_TITLE", *self.source.code_columns[2:])
        for kind, path in self.name_tables.items():
            for line, (value, title, *version) in read_table(path, columns):
                if not version or version[0].strip() == str(self.source.version):
                    label = self._label(clean_code(value, columns[0], path, line), kind)
                    titles_of.setdefault(label, {})[" ".join(title.split())] = None
        self.names = {label: "; ".join(filter(None, titles)) for label, titles in titles_of.items()}
        self.counts["name_tables_missing"] = len(NAME_TABLES) - len(self.name_tables)

    def _read_notes(self, codes: dict[int, frozenset[str]], scratch: Scratch) -> list[Admission]:
        clean = style_named(self.options.style, caml_compatible=self.options.caml_compatible)
        admissions: dict[int, Admission] = {}
        without_codes: set[int] = set()
        for note in self.source.notes(self.source.notes_file, self.counts):
            if note.admission not in codes:
                without_codes.add(note.admission)
                continue
            new = Admission(note.patient, note.admission, codes[note.admission])
            text = clean(note.text)
            admissions.setdefault(note.admission, new).pieces.append((note.order, *scratch.add(text)))
            if self.mdace is not None:
                self.mdace.carry(note, text, clean, codes[note.admission])
        if self.mdace is not None:
            self.mdace.check()
        with_text = [admission for admission in admissions.values() if any(size for *_, size in admission.pieces)]
        self.counts["admissions_without_codes"] = len(without_codes)
        self.counts["admissions_without_summary"] = len(codes) - len(admissions)
        self.counts["admissions_without_text"] = len(admissions) - len(with_text)
        self.counts["documents"] = len(with_text)
        return with_text

    def _subset(self, name: str, splits: Splits, admissions: list[Admission]) -> tuple[Splits, dict[str, int]]:
        """The documents of a subset and their counts."""
        options, counts = self.options, Counter[str]()
        codes: frozenset[str] | None = None
        if name == "full" and options.min_count > 1:
            codes = label_sets.frequent_codes(splits, options.min_count, over_all=options.min_count_over == "all")
        elif name == "top50":
            codes = self.listed or label_sets.top_codes(splits, over_all=options.caml_compatible)
            if self.own_lists is not None:
                splits = assign(admissions, self.own_lists, options.seed, counts)
        elif name == "rare50":
            codes = label_sets.rare50_codes(splits)
        elif name == "few":
            codes = label_sets.few_codes(splits, in_test=options.few_in_test)
        chosen = splits if codes is None else label_sets.restrict(splits, codes, counts)
        if not chosen["train"]:
            fix = "leave this subset out, or check the codes"
            raise DataError("no training document has one of its codes", where=f"--subset {name}", fix=fix)
        evidence = {} if self.mdace is None else self.mdace.sizes(everywhere(chosen))
        names = unnamed(code_counts(everywhere(chosen)), self.names)
        return chosen, {**counts, **_sizes(chosen, codes), **names, **evidence}

    def _write(self, stage: Path, chosen: dict[str, tuple[Splits, dict[str, int]]], scratch: Scratch) -> None:
        lists = [
            path for split_list in (self.lists, self.own_lists) if split_list is not None for path in split_list.files
        ]
        tables = [*self.code_tables.values(), *self.name_tables.values()]
        sources = describe([self.source.notes_file, *tables, *lists])
        if self.mdace is not None:
            sources.append(self.mdace.described)
        options = {"icd": self.source.version, **self.options.named()}
        content = {"command": self.source.name, "options": options, "sources": sources}
        for name, (splits, sizes) in chosen.items():
            folder = stage / self._folder(name)
            folder.mkdir()
            for split, documents in splits.items():
                with open(folder / f"{split}.txt", "wb") as stream:
                    for document in documents:
                        codes = " ".join(sorted(document.codes)).encode()
                        stream.write(codes + b"\t" + scratch.text_of(document.pieces) + b"\n")
                if self.mdace is not None:
                    evidence = map(self.mdace.evidence_of, documents)
                    write_evidence(evidence_beside(folder / f"{split}.txt"), evidence)
            for caml_name, split in CAML_NAMES.items():
                numbers = [document.number for document in splits[split]]
                _write_lines(folder / f"{caml_name}_{LIST_NAMES[name]}_hadm_ids.csv", numbers)
            labelled = everywhere(splits)
            if not self.options.caml_compatible:
                labelled = [*splits["train"], *splits["valid"]]
            _write_lines(folder / "labels.txt", sorted(code_counts(labelled)))
            write_names(folder, code_counts(everywhere(splits)), self.names)
            counts = {**self.counts, **sizes}
            of_subset = {"subset": name, "counts": counts, "split_hash": label_sets.split_hash(splits)}
            write_provenance(folder, {**content, **of_subset})


def _write_lines(path: Path, lines: Iterable[object]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _sizes(splits: Splits, codes: frozenset[str] | None) -> dict[str, int]:
    trained = code_counts(splits["train"]).keys()
    every = code_counts(everywhere(splits)).keys()
    sizes = {split: len(documents) for split, documents in splits.items()}
    sizes |= {
        "labels": len(every),
        "labels_in_training": len(trained),
        "labels_unseen_in_training": len(every - trained),
        "labels_as_caml_reads_them": len(set(map(as_caml_reads, every))),
    }
    return sizes if codes is None else {**sizes, "asked_for_codes_without_document": len(codes - every)}
