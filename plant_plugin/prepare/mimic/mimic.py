"""What MIMIC-III and MIMIC-IV have in common: codes and notes become one document per admission, then splits.

Codes are read first (a few hundred thousand short strings), then the notes pass by once: those of admissions with codes
are cleaned and put into a scratch file. Memory therefore does not grow with the notes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from plant_plugin.data.evidence import evidence_beside, write_evidence
from plant_plugin.errors import DataError
from plant_plugin.prepare.mimic import subsets
from plant_plugin.prepare.mimic.codes import RULES, as_caml_reads, clean_code
from plant_plugin.prepare.mimic.mdace import Mdace
from plant_plugin.prepare.mimic.notes import Admission, Note, Scratch
from plant_plugin.prepare.mimic.splits import CAML_NAMES, assign, find_split_lists, split_hash
from plant_plugin.prepare.mimic.tables import read_id, read_table
from plant_plugin.prepare.mimic.text import style_named
from plant_plugin.prepare.output import describe, staged, write_provenance

ENOUGH_CODES = 1000  # in so many ICD-9 codes some start with 0, unless they were read as numbers
LIST_NAMES = {"full": "full", "top50": "50", "rare50": "rare50", "few": "few"}


@dataclass(frozen=True)
class MimicOptions:
    """What can be chosen, beside where the tables are."""

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

    def named(self) -> dict[str, Any]:
        """Everything that the result depends on, without paths, for the provenance."""
        return {
            "splits": None if self.splits is None else self.splits.name,
            "subsets": list(self.subsets),
            "style": self.style,
            "seed": self.seed,
            "codes": None if self.codes is None else self.codes.name,
            "few_in_test": self.few_in_test,
            "caml_compatible": self.caml_compatible,
            "min_count": self.min_count,
            "min_count_over": self.min_count_over,
            "mdace": self.mdace is not None,
        }


class CodeTable(NamedTuple):
    """A table of codes; ``version_column`` is None where all codes are of the wanted version."""

    path: Path
    kind: str  # diagnosis or procedure
    patient: str
    admission: str
    code: str
    version_column: str | None = None


@dataclass(frozen=True)
class MimicSource:
    """One version of MIMIC.

    Attributes:
        name: Of the command.
        folder: Name of the folder of the full set; those of subsets get an ending.
        version: Of the codes, 9 or 10.
        code_tables: Where codes are.
        notes_file: Where notes are.
        notes: Reads that file; gets the counts to add to.
        options: What was chosen beside ``MimicOptions``.
    """

    name: str
    folder: str
    version: int
    code_tables: tuple[CodeTable, ...]
    notes_file: Path
    notes: Callable[[Path, Counter[str]], Iterator[Note]]
    options: dict[str, Any]


def prepare_mimic(source: MimicSource, options: MimicOptions) -> dict[str, Any]:
    """Write the asked for sets, each into its folder below ``options.out``, all or none.

    Returns:
        ``counts`` at each step, and ``sets``: for each folder its counts. Nothing in it is a text or an id.

    Raises:
        DataError: A table, a list or a value is not what it should be, or no training document is left.
        PlantError: The folder cannot be written.
    """
    if options.dry_run:
        return _Preparation(source, options).run(None)
    with staged(options.out) as stage:
        return _Preparation(source, options).run(stage)


class _Preparation:
    def __init__(self, source: MimicSource, options: MimicOptions) -> None:
        self.source, self.options = source, options
        self.counts: Counter[str] = Counter()
        # Lists are read first: a mistake there should not show after minutes.
        self.lists = find_split_lists(options.splits) if options.splits else None
        self.own_lists = find_split_lists(options.splits, top50=True) if options.splits else None
        self.listed = subsets.listed_codes(options.codes) if options.codes else None
        self.mdace = None
        if options.mdace is not None:
            self.mdace = Mdace(options.mdace, source.version, self.counts, caml_compatible=options.caml_compatible)

    def run(self, stage: Path | None) -> dict[str, Any]:
        codes = self._read_codes()
        scratch_file = None if stage is None else stage / "scratch"
        with Scratch(scratch_file) as scratch:
            admissions = self._read_notes(codes, scratch)
            splits = assign(admissions, self.lists, self.options.seed, self.counts)
            if not splits["train"]:
                fix = "check that the tables belong together and that the split lists are of these data"
                raise DataError("no training document is left", where=str(self.source.notes_file.parent), fix=fix)
            chosen = {name: self._subset(name, splits, admissions) for name in self.options.subsets}
            if stage is not None:
                self._write(stage, chosen, scratch)
        if scratch_file is not None:
            scratch_file.unlink()
        return {"counts": dict(self.counts), "sets": {self._folder(name): made[1] for name, made in chosen.items()}}

    def _folder(self, subset: str) -> str:
        return self.source.folder + subsets.FOLDER_ENDINGS[subset]

    def _read_codes(self) -> dict[int, frozenset[str]]:
        found: dict[int, set[str]] = {}
        known: dict[str, str] = {}  # one string per code, however often it is read
        for table in self.source.code_tables:
            rule, zeros, rows = RULES[self.source.version, table.kind], 0, 0
            for admission, code in _code_rows(table, self.source.version, self.counts):
                rows, zeros = rows + 1, zeros + code.startswith("0")
                dotted = rule(code)
                if self.options.caml_compatible:
                    dotted = as_caml_reads(dotted)
                codes = found.setdefault(admission, set())
                self.counts["codes_twice_in_an_admission"] += dotted in codes
                codes.add(known.setdefault(dotted, dotted))
            if self.source.version == 9 and rows >= ENOUGH_CODES and not zeros:
                self.counts["tables_without_leading_zeros"] += 1
        self.counts["admissions_with_codes"] = len(found)
        return {admission: frozenset(codes) for admission, codes in found.items()}

    def _read_notes(self, codes: dict[int, frozenset[str]], scratch: Scratch) -> list[Admission]:
        clean = style_named(self.options.style, caml_compatible=self.options.caml_compatible)
        admissions: dict[int, Admission] = {}
        without_codes: set[int] = set()
        for note in self.source.notes(self.source.notes_file, self.counts):
            if note.admission not in codes:
                without_codes.add(note.admission)
                continue
            admission = admissions.get(note.admission)
            if admission is None:
                admission = Admission(note.patient, note.admission, codes[note.admission])
                admissions[note.admission] = admission
            text = clean(note.text)
            admission.pieces.append((note.order, *scratch.add(text)))
            if self.mdace is not None:
                self.mdace.carry(note, text, clean, codes[note.admission])
        if self.mdace is not None:
            self.mdace.check()
        kept = [admission for admission in admissions.values() if admission.has_text]
        self.counts["admissions_without_codes"] = len(without_codes)
        self.counts["admissions_without_summary"] = len(codes) - len(admissions)
        self.counts["admissions_without_text"] = len(admissions) - len(kept)
        self.counts["documents"] = len(kept)
        return kept

    def _subset(
        self, name: str, splits: subsets.Splits, admissions: list[Admission]
    ) -> tuple[subsets.Splits, dict[str, Any]]:
        """The documents of a subset and their counts."""
        options, counts = self.options, Counter[str]()
        codes: frozenset[str] | None = None
        if name == "full" and options.min_count > 1:
            codes = subsets.frequent_codes(splits, options.min_count, over_all=options.min_count_over == "all")
        elif name == "top50":
            codes = self.listed or subsets.top_codes(splits, over_all=options.caml_compatible)
            if self.own_lists is not None:
                splits = assign(admissions, self.own_lists, options.seed, counts)
        elif name == "rare50":
            codes = subsets.rare50_codes(splits)
        elif name == "few":
            codes = subsets.few_codes(splits, in_test=options.few_in_test)
        chosen = subsets.restrict(splits, codes, counts)
        if not chosen["train"]:
            fix = "leave this subset out, or check the codes"
            raise DataError("no training document has one of its codes", where=f"--subset {name}", fix=fix)
        evidence = {} if self.mdace is None else self.mdace.sizes(subsets.everywhere(chosen))
        return chosen, {**counts, **_sizes(chosen, codes), **evidence}

    def _write(self, stage: Path, chosen: dict[str, tuple[subsets.Splits, dict[str, Any]]], scratch: Scratch) -> None:
        lists = [found for found in (self.lists, self.own_lists) if found is not None]
        read = [self.source.notes_file, *(table.path for table in self.source.code_tables)]
        sources = describe([*read, *(path for found in lists for path in found.files)])
        if self.mdace is not None:
            sources.append(self.mdace.described)
        for name, (splits, made) in chosen.items():
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
                lines = "".join(f"{document.number}\n" for document in splits[split])
                (folder / f"{caml_name}_{LIST_NAMES[name]}_hadm_ids.csv").write_text(lines, encoding="utf-8")
            labelled = subsets.everywhere(splits)
            if not self.options.caml_compatible:
                labelled = [*splits["train"], *splits["valid"]]
            names = sorted(subsets.code_counts(labelled))
            (folder / "labels.txt").write_text("".join(f"{label}\n" for label in names), encoding="utf-8")
            write_provenance(
                folder,
                {
                    "command": self.source.name,
                    "options": {**self.source.options, **self.options.named()},
                    "subset": name,
                    "sources": sources,
                    "counts": {**self.counts, **made},
                    "split_hash": split_hash(splits),
                },
            )


def _code_rows(table: CodeTable, version: int, counts: Counter[str]) -> Iterator[tuple[int, str]]:
    """Admission and code of each row that has both, in the wanted version."""
    columns = [table.patient, table.admission, table.code]
    if table.version_column is not None:
        columns.append(table.version_column)
    for line, row in read_table(table.path, columns):
        counts[f"{table.kind}_rows"] += 1
        if table.version_column is not None and row[3].strip() != str(version):
            counts[f"{table.kind}_rows_of_another_version"] += 1
            continue
        admission = read_id(row[1], table.admission, table.path, line, counts)
        code = clean_code(row[2], table.code, table.path, line)
        if admission is None or not code:
            counts[f"{table.kind}_rows_without_{'admission' if admission is None else 'code'}"] += 1
            continue
        yield admission, code


def _sizes(splits: subsets.Splits, codes: frozenset[str] | None) -> dict[str, Any]:
    trained = subsets.code_counts(splits["train"]).keys()
    every = subsets.code_counts(subsets.everywhere(splits)).keys()
    sizes: dict[str, Any] = {split: len(documents) for split, documents in splits.items()}
    sizes["labels"] = len(every)
    sizes["labels_in_training"] = len(trained)
    sizes["labels_unseen_in_training"] = len(every - trained)
    sizes["labels_as_caml_reads_them"] = len(set(map(as_caml_reads, every)))
    if codes is not None:
        sizes["asked_for_codes_without_document"] = len(codes - every)
    return sizes
