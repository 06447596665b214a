"""Made-up notes of labels that have names: some labels are in validation and test only, and their names are not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plant_plugin.data.label_names import LabelName
from plant_plugin.data.text import DocumentEvidence

SITES = (
    "kidney",
    "liver",
    "heart",
    "spleen",
    "femur",
    "tibia",
    "retina",
    "colon",
    "larynx",
    "ovary",
    "thymus",
    "aorta",
)
FINDINGS = "abscess fracture stenosis calculus rupture prolapse neoplasm oedema".split()
OTHERS = [f"filler{number}" for number in range(60)]
SEEN_SHARE = 0.6


@dataclass(frozen=True)
class Notes:
    """Documents of a split."""

    texts: list[str]
    labels: list[list[str]]
    evidence: list[DocumentEvidence]


def names() -> list[LabelName]:
    """A label for each finding of each site, with a second name in another order."""
    return [
        LabelName(f"{site[:2].upper()}{number}", name, "en")
        for site in SITES
        for number, finding in enumerate(FINDINGS)
        for name in (f"{finding} of {site}", f"{site} {finding}, unspecified")
    ]


def seen_labels(seed: int = 0) -> list[str]:
    labels = sorted({row.label for row in names()})
    return sorted(random.Random(seed).sample(labels, int(SEEN_SHARE * len(labels))))


def notes(labels: Sequence[str], number: int, seed: int) -> Notes:
    """Notes with two labels each, said by words of their names among others."""
    drawn = random.Random(seed)
    first = {row.label: row.name for row in reversed(names())}
    texts, label_lists, evidence = [], [], []
    for _ in range(number):
        chosen = drawn.sample(list(labels), 2)
        text, marks = "", DocumentEvidence()
        for label in chosen:
            text += " ".join(drawn.choices(OTHERS, k=8)) + " "
            said = first[label] if drawn.random() < 0.5 else " ".join(reversed(first[label].split(" of ")))
            marks[label] = [(len(text), len(text) + len(said))]
            text += said + " "
        text += " ".join(drawn.choices(OTHERS, k=6))
        texts.append(text)
        label_lists.append(chosen)
        evidence.append(marks)
    return Notes(texts, label_lists, evidence)


def write(folder: Path, *, train: int = 120, tested: int = 40) -> dict[str, Path]:
    """Write the splits, the training documents' evidence and ``label_names.tsv``; return the files."""
    every = sorted({row.label for row in names()})
    files = {}
    for name, labels, number, seed in (
        ("train", seen_labels(), train, 1), ("valid", every, tested, 2), ("test", every, tested, 3)
    ):  # fmt: skip
        made = notes(labels, number, seed)
        files[name] = folder / f"{name}.txt"
        lines = [f"{' '.join(of)}\t{text}\n" for of, text in zip(made.labels, made.texts, strict=True)]
        files[name].write_text("".join(lines), encoding="utf-8")
        if name == "train":
            files["evidence"] = folder / "train_evidence.tsv"
            rows = [
                f"{row}\t{label}\t{';'.join(f'{start}-{end}' for start, end in spans)}\n"
                for row, marks in enumerate(made.evidence)
                for label, spans in marks.items()
            ]
            files["evidence"].write_text("".join(rows), encoding="utf-8")
    files["names"] = folder / "label_names.tsv"
    files["names"].write_text("".join("\t".join(row) + "\n" for row in names()), encoding="utf-8")
    return files
