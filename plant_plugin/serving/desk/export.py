"""From decisions to files: what the next training plants from, and what other annotation tools read.

Which labels count, and with whose words, and in which order, says :mod:`.ranked`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.marked import Marked, write_beside, write_sets
from plant_plugin.prepare.output import staged, write_provenance
from plant_plugin.serving.desk.accepted import ids_table
from plant_plugin.serving.desk.ranked import ranked
from plant_plugin.serving.desk.store import Desk

CONTROL = "label"  # of Label Studio's spans
IDS = "documents.tsv"  # which line or number is which document


def export(desk: Desk, out: Path, form: str = "libmultilabel") -> dict[str, int | str]:
    """Write what coders have finished: ``train.txt`` with ``train_evidence.tsv``, ``tasks.json``, or brat's folder.

    Returns:
        What was written and what was left out, counted.

    Raises:
        DataError: Nobody has finished a document with a label.
        PlantError: The folder cannot be written.
    """
    counts = Counter[str]()
    documents = list(_agreed(desk, counts))
    if not any(document.labels for _, document in documents):
        fix = "finish documents at the desk first (the key n)"
        raise DataError("no finished document has a label", where=str(desk.path), fix=fix)
    beside = {IDS: ids_table(desk, form)}
    if form == "libmultilabel":
        content = {"command": "desk export", "options": {}, "counts": dict(counts)}
        provenance = write_sets(
            out, {"": {"train": [document for _, document in documents]}}, (), content, beside=beside
        )
        return {**provenance["counts"], **provenance["sets"][""]}
    with staged(out) as stage:
        write_beside(stage, beside)
        (_label_studio if form == "labelstudio" else _brat)(stage, documents, counts)
        write_provenance(stage, {"command": "desk export", "options": {"form": form}, "counts": dict(counts)})
    return {"documents": len(documents), **counts}


def _agreed(desk: Desk, counts: Counter[str]) -> Iterator[tuple[int, Marked]]:
    for number, text, labels in ranked(desk, counts):
        document, where = Marked(text), f"document {number}"
        for _, one in labels:
            document.label(one.label, where)
            for start, end in one.spans:
                if text[start:end].strip():
                    document.mark(one.label, [(start, end)], where)
        yield number, document


def _label_studio(out: Path, documents: list[tuple[int, Marked]], counts: Counter[str]) -> None:
    tasks = []
    for number, document in documents:
        result: list[dict[str, object]] = []
        for label, marks in document.labels.items():
            if not marks:
                value: dict[str, object] = {"choices": [label]}
                result.append({"from_name": "document", "to_name": "text", "type": "choices", "value": value})
            for [(start, end)] in marks:
                value = {"start": start, "end": end, "text": document.text[start:end], "labels": [label]}
                result.append({"from_name": CONTROL, "to_name": "text", "type": "labels", "value": value})
        tasks.append({"id": number, "data": {"text": document.text}, "annotations": [{"result": result}]})
    (out / "tasks.json").write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _brat(out: Path, documents: list[tuple[int, Marked]], counts: Counter[str]) -> None:
    for number, document in documents:
        lines, marked = [], 0
        for label, marks in document.labels.items():
            counts["labels_without_marked_words_left_out"] += not marks
            for [(start, end)] in marks:
                marked += 1
                words = re.sub(r"\s", " ", document.text[start:end])  # a line each, of as many characters
                lines.append(f"T{marked}\tCode {start} {end}\t{words}\nN{marked}\tReference T{marked} code:{label}\t\n")
        (out / f"{number}.txt").write_text(document.text, encoding="utf-8", newline="")
        (out / f"{number}.ann").write_text("".join(lines), encoding="utf-8")
