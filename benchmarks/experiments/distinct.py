"""Leave out the documents of a file that repeat an earlier one, and their evidence with them.

    python benchmarks/experiments/distinct.py train.txt OUT/train.txt

BC5CDR's training file holds 500 abstracts twice: a validation split drawn from it holds texts that are trained on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from plant_plugin.data.evidence import evidence_beside, read_marks, write_evidence
from plant_plugin.data.tables import read_any


def main(source: Path, target: Path) -> None:
    """Write the text file and, where there is one, the evidence file beside it."""
    documents = read_any(source)
    first = dict(reversed([(text, row) for row, text in enumerate(documents.texts)]))
    rows = sorted(first.values())
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(
        "".join(f"{' '.join(documents.labels[row])}\t{documents.texts[row]}\n" for row in rows), encoding="utf-8"
    )
    if evidence_beside(source).is_file():
        marks = read_marks(evidence_beside(source), documents)
        write_evidence(evidence_beside(target), [marks[row] for row in rows])
    print(f"{len(rows)} of {len(documents.texts)} documents")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
