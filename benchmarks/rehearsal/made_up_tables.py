"""MIMIC-III's and MIMIC-IV's tables as they are downloaded, with their true numbers of rows and columns, made up.

    python benchmarks/rehearsal/made_up_tables.py mimic3 FOLDER [--share 0.01]

Codes and ids are random. Notes are joined from runs of a few words of CodiEsp's English cases where ``shared/data``
lies beside the checkout (or ``PLANT_SHARED``), else of the demo's made-up notes; one word in fifty is misspelt, so that
there are as many words as in notes. Of most of its codes a summary has the name. Nothing of it is to be kept.

Rows are those that the documentation of MIMIC-III v1.4 and of MIMIC-IV 2.2 tells, as far as we know it; splits are
CAML's and, by their sizes, those of Edin et al. 2023. Taken to be so are lengths of notes, how codes are spread, and
what of MIMIC-IV's rows is of which version. Tables that ``plant prepare`` does not read (PATIENTS, ADMISSIONS and
others) are left out. ``xmc`` is a data set of the extreme classification repository, of words without meaning.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import lzma
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("PLANT_SHARED", ROOT.parent / "shared"))

CATEGORIES = {  # rows of NOTEEVENTS
    "Nursing/other": 822_497, "Radiology": 522_279, "Nursing": 223_556, "ECG": 209_051, "Physician ": 141_624,
    "Discharge summary": 59_652, "Echo": 45_794, "Respiratory ": 31_739, "Nutrition": 9_418, "General": 8_301,
    "Rehab Services": 5_431, "Social Work": 2_670, "Case Management ": 967, "Pharmacy": 103, "Consult": 98,
}  # fmt: skip
SUMMARY = "Discharge summary"
MIMIC3_SPLITS = {  # admissions with a discharge summary, by CAML's lists
    "full": {"train": 47_723, "dev": 1_631, "test": 3_372},
    "50": {"train": 8_066, "dev": 1_573, "test": 1_729},
}
MIMIC3_STAYS, MIMIC3_PATIENTS = 58_976, 46_520
# Rows of the tables, codes that occur in them, rows of the tables of names.
MIMIC3_CODES = {"DIAGNOSES": (651_047, 6_984, 14_567), "PROCEDURES": (240_095, 2_009, 3_882)}
MIMIC4_STAYS, MIMIC4_PATIENTS = 430_852, 180_733
MIMIC4_NOTES = {9: 209_326, 10: 122_279}  # stays with a summary, of 331,793 notes in all
MIMIC4_DISCHARGE, MIMIC4_FIRST = 331_793, 20_000_000  # the latter: HADM_ID of the first stay
MIMIC4_CODES = {  # by version; ICD-9 and ICD-10 together are 4,756,326 and 669,186 rows, 109,775 and 85,257 names
    9: {"diagnoses": (2_766_877, 9_000, 14_666), "procedures": (470_000, 2_500, 3_869)},
    10: {"diagnoses": (1_989_449, 16_000, 95_109), "procedures": (199_186, 8_000, 81_388)},
}
MIMIC4_SPLITS = {"train": 0.729, "val": 0.108, "test": 0.163}  # training: PLANT's paper; the rest taken to be so
XMC_DOCUMENTS, XMC_LABELS, XMC_WORDS = 600_000, 130_000, 150  # training documents; a quarter as many test
WORDS, SPREAD, LEAST = 1_485, 0.55, 60  # of a summary: mean; deviation of the logarithm, by which 11 % have over 2,500
ADDENDUM = 150  # words
OTHER_CHARACTERS = 1_560  # of the other categories: mean; NOTEEVENTS is 3.8 GB with it
TOLD = 0.6  # share of a stay's codes whose name stands in its summary
STEEPNESS, SHIFT = 1.5, 30  # codes by rank: (rank + shift) ** -steepness; the first is in a third of the stays
LINE = 8  # runs of words in a line of a summary
MISSPELT, MISSPELT_SHARE = 40_000, 0.1  # different words, and their share among runs of words


class Notes:
    """Texts of made-up notes."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = np.random.default_rng(seed)
        texts = [text.replace('"', '""').split() for text in sources()]
        runs = [run for _ in range(5) for words in texts for run in self._cut(words)]
        words = sorted({word for text in texts for word in text if word.isalpha() and len(word) > 4})
        misspelt = [self._misspelt(words[place]) for place in draw.integers(len(words), size=MISSPELT)]
        rank = np.arange(1, len(misspelt) + 1)
        number = int(len(runs) * MISSPELT_SHARE)
        rare = draw.choice(len(misspelt), number, p=(weights := 1 / (rank + 10)) / weights.sum())
        self.runs = runs + [misspelt[place] for place in (*range(len(misspelt)), *rare.tolist())]
        self.mean = np.mean([sum(any(map(str.isalpha, word)) for word in run.split()) for run in self.runs])
        self.words = words
        self.pieces = [self.text(80, []) for _ in range(4000)]
        self.piece_size = np.mean([len(piece) for piece in self.pieces])

    def _cut(self, words: list[str]) -> Iterator[str]:
        ends = np.cumsum(self.draw.geometric(1 / 6, size=len(words)))
        for start, end in itertools.pairwise([0, *ends[ends < len(words)].tolist(), len(words)]):
            yield " ".join(words[start:end])

    def _misspelt(self, word: str) -> str:
        place = int(self.draw.integers(1, len(word) - 1))
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]

    def text(self, words: float, names: Iterable[str]) -> str:
        """About so many words, among them names of codes."""
        places = self.draw.integers(len(self.runs), size=max(1, round(words / self.mean))).tolist()
        parts = [self.runs[place] for place in places]
        for name in names:
            parts[int(self.draw.integers(len(parts)))] = name
        lines = (" ".join(parts[start : start + LINE]) for start in range(0, len(parts), LINE))
        return "\n".join(f"{line} [**2101-{number % 12 + 1}-2**]" for number, line in enumerate(lines))

    def summary(self, names: Sequence[str]) -> str:
        """A discharge summary; it has most of the names."""
        length = np.exp(self.draw.normal(np.log(WORDS) - SPREAD**2 / 2, SPREAD))
        told = [name for name, drawn in zip(names, self.draw.random(len(names)).tolist(), strict=True) if drawn < TOLD]
        return self.text(max(LEAST, length), told)

    def other(self) -> str:
        """A note of another category."""
        number = self.draw.geometric(min(1.0, self.piece_size / OTHER_CHARACTERS))
        return "\n".join(self.pieces[place] for place in self.draw.integers(len(self.pieces), size=number).tolist())

    def title(self) -> str:
        """What a code may stand for."""
        return " ".join(self.words[place] for place in self.draw.integers(len(self.words), size=4).tolist())


def sources() -> list[str]:
    """Texts to cut up."""
    folder = SHARED / "data" / "codiesp" / "en_diagnoses"
    if folder.is_dir():
        files = (lzma.open(path, "rt", encoding="utf-8") for path in sorted(folder.glob("*.txt.xz")))
        return [line.rstrip("\n").partition("\t")[2] for file in files for line in file]
    sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))
    from made_up_notes import Size, write_notes

    return [line.rstrip("\n").partition("\t")[2] for line in write_notes(Size(labels=1000))["train"]]


def table(path: Path, rows: Iterable[str], header: str = "") -> None:
    """A table, gzipped; rows are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8", newline="") as stream:
        stream.write(header and header + "\n")
        while block := "\n".join(itertools.islice(rows := iter(rows), 1000)):
            stream.write(block + "\n")


def given(draw: np.random.Generator, rows: int, stays: int, codes: int) -> tuple[npt.NDArray, npt.NDArray]:
    """Stay and code of each row, by stay; every code occurs, hardly one twice in a stay."""
    weights = (np.arange(codes) + SHIFT) ** -STEEPNESS
    shares = draw.gamma(4, size=stays)
    of_stay = np.repeat(np.arange(stays), draw.multinomial(rows, shares / shares.sum()))
    found = draw.choice(codes, rows, p=weights / weights.sum())
    found[draw.permutation(rows)[:codes]] = np.arange(codes)
    for _ in range(30):
        order = np.argsort(of_stay * codes + found, kind="stable")
        keys = (of_stay * codes + found)[order]
        again = order[1:][keys[1:] == keys[:-1]]
        found[again] = draw.choice(codes, len(again), p=weights / weights.sum())
    return of_stay, found


def icd9(kind: str, number: int) -> list[str]:
    """So many different codes as ICD-9's tables write them, in random order."""
    draw = np.random.default_rng(len(kind))
    if kind.lower().startswith("procedures"):
        all_codes = [f"{code:04}" for code in range(1, 9999)]
    else:
        all_codes = [f"{code:05}" for code in range(100, 99_999, 5)]
        all_codes += [f"V{code:04}" for code in range(100, 8999, 8)] + [f"E{code:04}" for code in range(8000, 9999, 3)]
    return [all_codes[place] for place in draw.permutation(len(all_codes))[:number].tolist()]


def icd10(kind: str, number: int) -> list[str]:
    """So many different codes as ICD-10-CM's and ICD-10-PCS's tables write them, in random order."""
    digits = np.random.default_rng(len(kind)).permutation(10**6)[:number].tolist()
    letters = "ABCDEFGHIJKLMNOPQRST"
    if kind == "procedures":
        return [f"0{digit:06}" for digit in digits]
    return [f"{letters[digit % 20]}{digit:06}"[: 5 + digit % 3] if digit % 7 else f"Z{digit:06}" for digit in digits]


def write_mimic3(folder: Path, share: float) -> None:
    """``mimic-iii`` and CAML's lists."""
    notes = Notes(seed=3)
    draw = notes.draw
    stays = [100_000 + number for number in range(scaled(MIMIC3_STAYS, share))]
    patients = scaled(MIMIC3_PATIENTS, share)
    names: list[list[str]] = [[] for _ in stays]
    for kind, sizes in MIMIC3_CODES.items():
        rows, used, known = (scaled(size, share) for size in sizes)
        codes = icd9(kind, max(used, known))
        titles = [notes.title() for _ in range(known)]
        of_stay, found = given(draw, rows, len(stays), used)
        pairs = list(zip(of_stay.tolist(), found.tolist(), strict=True))
        for stay, code in pairs:
            if code < known:
                names[stay].append(titles[code])
        lines = (
            f'{row},{stay % patients + 1},{stays[stay]},{row % 15 + 1},"{codes[code]}"'
            for row, (stay, code) in enumerate(pairs, 1)
        )
        table(folder / f"mimic-iii/{kind}_ICD.csv.gz", lines, '"ROW_ID","SUBJECT_ID","HADM_ID","SEQ_NUM","ICD9_CODE"')
        named = enumerate(zip(codes, titles, strict=False), 1)
        lines = (f'{row},"{code}","{title[:24]}","{title}"' for row, (code, title) in named)
        header = '"ROW_ID","ICD9_CODE","SHORT_TITLE","LONG_TITLE"'
        table(folder / f"mimic-iii/D_ICD_{kind}.csv.gz", lines, header)
    sizes = {kind: {split: scaled(n, share) for split, n in of.items()} for kind, of in MIMIC3_SPLITS.items()}
    with_summary = draw.permutation(len(stays))[: sum(sizes["full"].values())].tolist()
    _write_notes(folder / "mimic-iii/NOTEEVENTS.csv.gz", notes, names, with_summary, patients, share)
    lists = folder / "caml-mimic/mimicdata/mimic3"
    lists.mkdir(parents=True, exist_ok=True)
    for kind, of_split in sizes.items():
        start = 0
        for split, number in of_split.items():
            of_list = with_summary[start : start + number]
            (lists / f"{split}_{kind}_hadm_ids.csv").write_text("".join(f"{stays[stay]}\n" for stay in of_list))
            start += sizes["full"][split]


def _write_notes(
    path: Path, notes: Notes, names: list[list[str]], with_summary: list[int], patients: int, share: float
) -> None:
    """NOTEEVENTS: every stay of the list has a summary, some have an addendum too."""
    of_category = {category: scaled(rows, share) for category, rows in CATEGORIES.items()}
    addenda = max(0, of_category[SUMMARY] - len(with_summary))
    of_category[SUMMARY] = len(with_summary) + addenda
    categories = np.repeat(np.arange(len(of_category)), list(of_category.values()))
    notes.draw.shuffle(categories)
    of_summary = iter([*with_summary, *with_summary[:addenda]])
    others = notes.draw.integers(len(names), size=len(categories)).tolist()
    known, place = list(of_category), itertools.count()

    def row(number: int, category: str) -> str:
        stay, description = others[number], "Report"
        if category != SUMMARY:
            text = notes.other()
        else:
            stay = next(of_summary)
            description = "Report" if next(place) < len(with_summary) else "Addendum"
            text = notes.summary(names[stay]) if description == "Report" else notes.text(ADDENDUM, [])
        ids = f"{number + 1},{stay % patients + 1},{100_000 + stay}"
        return f'{ids},2101-01-{number % 28 + 1:02},,,"{category}","{description}",,,"{text}"'

    header = "ROW_ID,SUBJECT_ID,HADM_ID,CHARTDATE,CHARTTIME,STORETIME,CATEGORY,DESCRIPTION,CGID,ISERROR,TEXT"
    header = ",".join(f'"{name}"' for name in header.split(","))
    table(path, (row(number, known[category]) for number, category in enumerate(categories.tolist())), header)


def write_mimic4(folder: Path, share: float) -> None:
    """``mimic-iv/hosp``, ``mimic-iv-note/note`` and lists of a split for ICD-10 and for ICD-9."""
    notes = Notes(seed=4)
    patients = scaled(MIMIC4_PATIENTS, share)
    stays = notes.draw.permutation(scaled(MIMIC4_STAYS, share))
    half = round(len(stays) * MIMIC4_NOTES[9] / sum(MIMIC4_NOTES.values()))
    of_version = {9: np.sort(stays[:half]).tolist(), 10: np.sort(stays[half:]).tolist()}
    names: list[list[str]] = [[] for _ in stays]
    rows: dict[str, list[Iterator[str]]] = {"diagnoses": [], "procedures": []}
    titles: dict[str, list[Iterator[str]]] = {"diagnoses": [], "procedures": []}
    for version, kinds in MIMIC4_CODES.items():
        for kind, sizes in kinds.items():
            number, used, known = (scaled(size, share) for size in sizes)
            codes = (icd9 if version == 9 else icd10)(kind, max(used, known))
            own_titles = [notes.title() for _ in range(known)]
            of_stay, found = given(notes.draw, number, len(of_version[version]), used)
            pairs = [
                (of_version[version][stay], code) for stay, code in zip(of_stay.tolist(), found.tolist(), strict=True)
            ]
            for stay, code in pairs:
                names[stay] += own_titles[code : code + 1]
            rows[kind].append(_code_rows(pairs, codes, version, patients, dated=kind == "procedures"))
            titles[kind].append(_title_rows(codes, own_titles, version))
    for kind in rows:
        header = f"subject_id,hadm_id,seq_num,{'chartdate,' * (kind == 'procedures')}icd_code,icd_version"
        table(folder / f"mimic-iv/hosp/{kind}_icd.csv.gz", itertools.chain(*rows[kind]), header)
        path = folder / f"mimic-iv/hosp/d_icd_{kind}.csv.gz"
        table(path, itertools.chain(*titles[kind]), "icd_code,icd_version,long_title")
    with_summary = []
    for version, own in of_version.items():
        chosen = [
            own[place] for place in notes.draw.permutation(len(own))[: scaled(MIMIC4_NOTES[version], share)].tolist()
        ]
        _write_split(folder, version, [MIMIC4_FIRST + stay for stay in chosen])
        with_summary += chosen
    left = np.setdiff1d(stays, with_summary)[: scaled(MIMIC4_DISCHARGE, share) - len(with_summary)].tolist()
    lines = (
        f"{stay % patients + 1}-DS-{row % 90 + 1},{stay % patients + 1},{MIMIC4_FIRST + stay},DS,{row % 90 + 1},"
        f'2150-01-01 00:00:00,2150-01-02 00:00:00,"{notes.summary(names[stay])}"'
        for row, stay in enumerate(sorted([*with_summary, *left]))
    )
    header = "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text"
    table(folder / "mimic-iv-note/note/discharge.csv.gz", lines, header)


def _code_rows(
    pairs: list[tuple[int, int]], codes: list[str], version: int, patients: int, *, dated: bool
) -> Iterator[str]:
    for row, (stay, code) in enumerate(pairs):
        date = "2150-01-01," * dated
        yield f"{stay % patients + 1},{MIMIC4_FIRST + stay},{row % 39 + 1},{date}{codes[code]},{version}"


def _title_rows(codes: list[str], titles: list[str], version: int) -> Iterator[str]:
    for code, title in zip(codes, titles, strict=False):
        yield f'{code},{version},"{title}"'


def _write_split(folder: Path, version: int, ids: list[int]) -> None:
    """A list as Edin et al. publish it."""
    from pyarrow import feather
    from pyarrow import table as arrow_table

    ends = np.cumsum([round(part * len(ids)) for part in MIMIC4_SPLITS.values()])
    splits = [list(MIMIC4_SPLITS)[min(place, 2)] for place in np.searchsorted(ends, range(1, len(ids) + 1)).tolist()]
    path = folder / "medical-coding-reproducibility/files/data" / f"mimiciv_icd{version}"
    path.mkdir(parents=True, exist_ok=True)
    feather.write_feather(arrow_table({"_id": ids, "split": splits}), path / f"mimiciv_icd{version}_split.feather")


def write_xmc(folder: Path, share: float) -> None:
    """``raw``: a data set of the extreme classification repository, as JSON."""
    draw = np.random.default_rng(1)
    letters = draw.choice(list("abcdefghijklmnop"), (20_000, 7))
    words = ["".join(row) for row in letters.tolist()]
    labels = scaled(XMC_LABELS, share)

    def some(number: int) -> str:
        return " ".join(words[place] for place in draw.integers(len(words), size=number).tolist())

    def documents(number: int) -> Iterator[str]:
        for place in range(number):
            targets = sorted(set(draw.integers(labels, size=5).tolist()))
            line = {"uid": str(place), "title": some(6), "content": some(XMC_WORDS), "target_ind": targets}
            yield json.dumps({**line, "target_rel": [1.0] * len(targets)})

    for name, number in (("trn", scaled(XMC_DOCUMENTS, share)), ("tst", scaled(XMC_DOCUMENTS // 4, share))):
        table(folder / f"raw/{name}.json.gz", documents(number))
    table(folder / "raw/lbl.json.gz", (json.dumps({"uid": f"l{n}", "title": some(4)}) for n in range(labels)))


def scaled(number: int, share: float) -> int:
    """A share of a number, at least one."""
    return max(1, round(number * share))


WRITE = {"mimic3": write_mimic3, "mimic4": write_mimic4, "xmc": write_xmc}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WRITE)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="of all rows, stays and codes")
    arguments = parser.parse_args()
    WRITE[arguments.what](arguments.folder, arguments.share)


if __name__ == "__main__":
    main()
