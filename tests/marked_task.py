"""The made-up task in sentences, with evidence: what made somebody assign each label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from made_up_task import LABELS, made_config

from plant_plugin.config import Config
from plant_plugin.data.evidence import write_evidence
from plant_plugin.data.text import DocumentMarks

SPLITS = {"train": (90, 1), "valid": (25, 2), "test": (40, 3)}  # documents, seed


def write_marked_split(folder: Path, name: str, documents: int, seed: int) -> None:
    """Sentences of filler words, one a label with two signs of it, which are the evidence, together or apart."""
    random = np.random.default_rng(seed)
    lines, evidence = [], []
    for _ in range(documents):
        labels = random.choice(LABELS, size=random.integers(1, 4), replace=False)
        found: DocumentMarks = {}
        text = ""
        for label in random.permutation([*labels, -1, -1]):
            words = [f"filler{random.integers(30)}" for _ in range(5)]
            if label >= 0:
                words[1:3] = f"sign{label}x", f"mark{label}y"
            sentence = " ".join(words).capitalize() + ". "
            if label >= 0:
                first, last = (text + sentence).index(f"sign{label}x"), len(text) + sentence.index(f"mark{label}y")
                behind = last + len(f"mark{label}y")
                found[f"L{label}"] = [[(first, behind)]] if label % 2 else [[(first, last - 1)], [(last, behind)]]
            text += sentence
        lines.append(" ".join(f"L{label}" for label in labels) + f"\t{text.strip()}\n")
        evidence.append(found)
    (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    write_evidence(folder / f"{name}_evidence.tsv", evidence)


def write_marked_splits(folder: Path) -> None:
    for name, (documents, seed) in SPLITS.items():
        write_marked_split(folder, name, documents, seed)


def marked_config(folder: Path, **changes: Any) -> Config:
    """As :func:`made_config`, with evidence of training and validation documents."""
    files = {"training": "train", "val": "valid"}
    given: dict[str, Any] = {
        f"evidence__{key}_file": str(folder / f"{name}_evidence.tsv") for key, name in files.items()
    }
    given |= {"planted_scores__model": "ridge", "stage1__epochs": 1, "stage2__epochs": 2}
    return made_config(folder, **{**given, **changes})
