"""What an evidence file marks, as words."""

from __future__ import annotations

from pathlib import Path

from plant_plugin.data.evidence import evidence_beside, read_evidence
from plant_plugin.data.tables import read_any


def marked_words(path: Path) -> list[dict[str, list[str]]]:
    """The words that each label of each document was given for, read as training reads them."""
    documents = read_any(path)
    evidence = read_evidence(evidence_beside(path), documents)
    return [
        {label: [text[start:end] for start, end in spans] for label, spans in labels.items()}
        for text, labels in zip(documents.texts, evidence, strict=True)
    ]
