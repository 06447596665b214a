"""Documents that were coded elsewhere: LibMultiLabel's text and the evidence file beside it.

``plant prepare brat`` and ``labelstudio`` write these from what the two tools export.
"""

from __future__ import annotations

from pathlib import Path

from plant_plugin.data.evidence import evidence_beside, read_evidence
from plant_plugin.data.tables import DEFAULT, Columns, read_columns
from plant_plugin.data.text import packed
from plant_plugin.serving.desk.listed import Check, unchecked
from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.store import Decision, Desk
from plant_plugin.serving.desk.tables import ADD


def add_coded(
    desk: Desk,
    path: Path,
    coder: Coder,
    date: str | None = None,
    wanted: int = 1,
    columns: Columns = DEFAULT,
    check: Check = unchecked,
) -> list[int]:
    """Put coded documents into the queue as finished by a coder.

    Args:
        desk: The desk.
        path: Of the documents.
        coder: Who coded them.
        date: Of all of them, YYYY-MM-DD; None: today.
        wanted: How many coders shall read each.
        columns: Of a table.
        check: Returns which of all labels are no known codes, or raises; see :func:`.listed.check_labels`.

    Returns:
        Their ids, 0 for those that were there; these keep what was decided on them.

    Raises:
        DataError: A file cannot be read, or a line is not of its format.
    """
    read = read_columns(path, columns)
    beside = packed(evidence_beside(path))
    evidence = read_evidence(beside, read) if beside else [{}] * len(read)
    coded = (
        (name, text, [Decision(label, ADD, spans.get(label, [])) for label in dict.fromkeys(labels)])
        for name, text, labels, spans in zip(
            read.ids or map(str, range(1, len(read) + 1)), read.texts, read.labels, evidence, strict=True
        )
    )
    unknown = check({label for labels in read.labels for label in labels})
    return desk.import_coded(coder, coded, date, wanted, unknown)
