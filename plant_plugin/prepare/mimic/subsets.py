"""Label sets of the benchmarks: all codes, the 50 most frequent, 50 rare ones, those with few documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError
from plant_plugin.prepare.mimic.codes import as_caml_reads
from plant_plugin.prepare.mimic.notes import Admission

SUBSETS = ("full", "top50", "rare50", "few")
FOLDER_ENDINGS = {"full": "", "top50": "-50", "rare50": "-rare50", "few": "-few"}
TOP = 50
FEW = (1, 5)  # training documents of a code

Splits = dict[str, list[Admission]]


def code_counts(documents: Iterable[Admission]) -> Counter[str]:
    """How many documents have each code."""
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
    found = {code for code, number in counted.items() if FEW[0] <= number <= FEW[1]}
    return frozenset(found & code_counts(splits["test"]).keys() if in_test else found)


def rare50_codes(splits: Splits) -> frozenset[str]:
    """The 50 codes of the benchmark "rare50", under their right names.

    Its list is written as CAML's program reads codes: ``40.7`` in it is ``04.07``. So a code of the data belongs to it
    when CAML would read it as one that is listed; listed codes that the data lack stay as they are.

    Source: Yang et al. 2022, "Knowledge Injected Prompt Based Fine-tuning for Multi-label Few-shot ICD Coding".
    """
    text = resources.files("plant_plugin.prepare.mimic").joinpath("rare50_codes.txt").read_text(encoding="utf-8")
    listed = {line for line in text.splitlines() if line and not line.startswith("#")}
    read_as = {code: as_caml_reads(code) for code in code_counts(everywhere(splits))}
    present = {code for code, read in read_as.items() if read in listed}
    return frozenset(present | (listed - set(read_as.values())))


def listed_codes(path: Path) -> frozenset[str]:
    """Codes of a file, one a line, written with their dots.

    Raises:
        DataError: The file cannot be read or is empty.
    """
    with text_lines(path) as stream:
        codes = frozenset(line.strip() for line in stream) - {""}
    if not codes:
        raise DataError("the file holds no code", where=str(path), fix="one code a line, with its dot")
    return codes


def restrict(splits: Splits, codes: frozenset[str] | None, counts: Counter[str]) -> Splits:
    """The documents with these codes alone; those left without one go and are counted. None keeps everything."""
    if codes is None:
        return splits
    chosen: Splits = {}
    for split, documents in splits.items():
        chosen[split] = [
            Admission(document.patient, document.number, document.codes & codes, document.pieces)
            for document in documents
            if document.codes & codes
        ]
        counts[f"{split}_without_a_code_of_the_subset"] = len(documents) - len(chosen[split])
    return chosen
