"""The split of each admission, by the literature's lists or a hash of the patient; label sets of benchmarks."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from plant_plugin.data.documents import read_label_file
from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError, needs_extra
from plant_plugin.prepare.mimic.notes import Admission
from plant_plugin.prepare.mimic.tables import as_caml_reads, read_id

SPLITS = ("train", "valid", "test")
SHARES = (0.905, 0.031, 0.064)  # CAML's, as shares of admissions
CAML_NAMES = {"train": "train", "dev": "valid", "test": "test"}
FEATHER_NAMES = {"train": "train", "val": "valid", "test": "test"}
TOP = 50
FEW = (1, 5)  # training documents of a code
RARE50 = Path(__file__).with_name("rare50_codes.txt")

Splits = dict[str, list[Admission]]


class SplitList(NamedTuple):
    """A published split: the files that it was read from, and the split of each HADM_ID."""

    files: list[Path]
    split_of: dict[int, str]


def hashed_split(patient: int, seed: int) -> str:
    """The split of a patient's admissions, always the same for the same seed, in shares of ``SHARES``."""
    digest = hashlib.sha256(f"{seed}:{patient}".encode()).digest()
    draw = int.from_bytes(digest[:8], "big") / 2**64
    if draw < SHARES[0]:
        return "train"
    return "valid" if draw < SHARES[0] + SHARES[1] else "test"


def find_split_lists(source: Path, *, top50: bool = False) -> SplitList | None:
    """The split that a folder or file holds.

    Args:
        source: A folder with CAML's ``{train,dev,test}_full_hadm_ids.csv`` or with one ``*_split(s).feather`` of Edin
            et al., or such a feather file itself.
        top50: CAML's lists for the 50 most frequent codes (``*_50_hadm_ids.csv``) instead; None where there are none.
    """
    if source.is_file():
        return None if top50 else _feather(source)
    if not source.is_dir():
        raise DataError("no such file or folder", where=str(source), fix="check --splits")
    kind = "50" if top50 else "full"
    lists = {split: source / f"{name}_{kind}_hadm_ids.csv" for name, split in CAML_NAMES.items()}
    missing = [path.name for path in lists.values() if not path.is_file()]
    if not missing:
        return _caml(lists)
    if len(missing) < len(lists):
        raise DataError(f"{', '.join(missing)} is missing", where=str(source), fix="give all three lists")
    if top50:
        return None
    feathers = sorted(source.glob("*_split*.feather"))
    if len(feathers) == 1:
        return _feather(feathers[0])
    if feathers:
        names = ", ".join(path.name for path in feathers)
        raise DataError(f"several split files: {names}", where=str(source), fix="name one of them with --splits")
    names = ", ".join(path.name for path in lists.values())
    fix = f"put {names} or one *_splits.feather there, or leave --splits out for a split by hashed patient ids"
    raise DataError("no split lists", where=str(source), fix=fix)


def _caml(lists: dict[str, Path]) -> SplitList:
    pairs: list[tuple[int, str]] = []
    for split, path in lists.items():
        with text_lines(path) as stream:
            for line, text in enumerate(stream, 1):
                number = read_id(text, "the id", path, line)
                if number is not None:
                    pairs.append((number, split))
    return SplitList(list(lists.values()), _unique(pairs, lists["train"].parent))


def _feather(path: Path) -> SplitList:
    with needs_extra("prepare", "split files in feather format need pyarrow", where=str(path)):
        from pyarrow import ArrowInvalid, feather
    try:
        table = feather.read_table(path)
        ids, splits = table["_id"].to_pylist(), table["split"].to_pylist()
    except (ArrowInvalid, OSError, KeyError) as error:
        fix = "it needs the columns _id and split; download it again"
        raise DataError(f"not a split file ({type(error).__name__})", where=str(path), fix=fix) from None
    unknown = set(splits) - FEATHER_NAMES.keys()
    if unknown or not all(isinstance(number, int | float) and float(number).is_integer() for number in ids):
        fix = "splits are called train, val and test; ids are whole numbers"
        raise DataError("a split or an id that is not of the format", where=str(path), fix=fix)
    pairs = [(int(number), FEATHER_NAMES[split]) for number, split in zip(ids, splits, strict=True)]
    return SplitList([path], _unique(pairs, path))


def _unique(pairs: Iterable[tuple[int, str]], where: Path) -> dict[int, str]:
    split_of: dict[int, str] = {}
    clashes = sum(split_of.setdefault(number, split) != split for number, split in pairs)
    if clashes:
        fix = "each admission belongs to one split; download the lists again"
        raise DataError(f"{clashes:,} admissions are in two splits", where=str(where), fix=fix)
    if not split_of:
        raise DataError("the split lists are empty", where=str(where), fix="download them again")
    return split_of


def assign(admissions: list[Admission], lists: SplitList | None, seed: int, counts: Counter[str]) -> Splits:
    """Documents of each split, by patient and admission.

    Counts ``split_ids_without_document`` (an error where they are more than half: the lists are of other data),
    ``documents_in_no_split`` and ``patients_in_two_splits``.
    """
    chosen: Splits = {split: [] for split in SPLITS}
    splits_of: dict[int, set[str]] = {}
    for admission in sorted(admissions, key=lambda admission: (admission.patient, admission.number)):
        split = hashed_split(admission.patient, seed) if lists is None else lists.split_of.get(admission.number)
        if split is None:
            counts["documents_in_no_split"] += 1
        else:
            chosen[split].append(admission)
            splits_of.setdefault(admission.patient, set()).add(split)
    if lists is not None:
        absent = len(lists.split_of.keys() - {admission.number for admission in admissions})
        counts["split_ids_without_document"] = absent
        if 2 * absent > len(lists.split_of):
            what = f"{absent:,} of {len(lists.split_of):,} listed admissions have no document"
            fix = "these lists belong to another data set or version; compare them with the tables"
            raise DataError(what, where=str(lists.files[0]), fix=fix)
    counts["patients_in_two_splits"] = sum(len(splits_seen) > 1 for splits_seen in splits_of.values())
    return chosen


def split_hash(chosen: Splits) -> str:
    """SHA-256 (hex) over which admission is where; it tells two splits apart and no id."""
    lines = sorted(f"{admission.number} {split}" for split, documents in chosen.items() for admission in documents)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def code_counts(documents: Iterable[Admission]) -> Counter[str]:
    """Count the documents of each code."""
    return Counter(code for document in documents for code in document.codes)


def everywhere(splits: Splits) -> list[Admission]:
    """The documents of all splits."""
    return [document for documents in splits.values() for document in documents]


def frequent_codes(splits: Splits, minimum: int, *, over_all: bool) -> frozenset[str]:
    """Codes with at least ``minimum`` documents, of training or ``over_all`` splits."""
    counted = code_counts(everywhere(splits) if over_all else splits["train"])
    return frozenset(code for code, number in counted.items() if number >= minimum)


def top_codes(splits: Splits, *, over_all: bool) -> frozenset[str]:
    """The 50 most frequent codes; of equally frequent ones, the first by alphabet."""
    counted = code_counts(everywhere(splits) if over_all else splits["train"])
    return frozenset(sorted(counted, key=lambda code: (-counted[code], code))[:TOP])


def few_codes(splits: Splits, *, in_test: bool) -> frozenset[str]:
    """Codes with one to five training documents; ``in_test``: only those that a test document has too."""
    counted = code_counts(splits["train"])
    few = {code for code, number in counted.items() if FEW[0] <= number <= FEW[1]}
    return frozenset(few & code_counts(splits["test"]).keys() if in_test else few)


def rare50_codes(splits: Splits) -> frozenset[str]:
    """The 50 codes of the benchmark "rare50", under their right names.

    Its list is written as CAML's program reads codes: ``40.7`` in it is ``04.07``. So a code of the data belongs to it
    when CAML would read it as one that is listed; listed codes that the data lack stay as they are.

    Source: Yang et al. 2022, "Knowledge Injected Prompt Based Fine-tuning for Multi-label Few-shot ICD Coding".
    """
    listed = {line for line in RARE50.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")}
    read_as = {code: as_caml_reads(code) for code in code_counts(everywhere(splits))}
    present = {code for code, read in read_as.items() if read in listed}
    return frozenset(present | (listed - set(read_as.values())))


def listed_codes(path: Path) -> frozenset[str]:
    """Codes of a file, one a line, written with their dots."""
    codes = frozenset(read_label_file(path))
    if not codes:
        raise DataError("the file holds no code", where=str(path), fix="one code a line, with its dot")
    return codes


def restrict(splits: Splits, codes: frozenset[str], counts: Counter[str]) -> Splits:
    """Leave the documents only these codes; those without one go and are counted."""
    chosen: Splits = {}
    for split, documents in splits.items():
        chosen[split] = [
            replace(document, codes=document.codes & codes) for document in documents if document.codes & codes
        ]
        counts[f"{split}_without_a_code_of_the_subset"] = len(documents) - len(chosen[split])
    return chosen
