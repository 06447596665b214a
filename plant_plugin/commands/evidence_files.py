"""Which text and evidence files a command measures a run on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plant_plugin.data.text import DocumentEvidence

SPLITS = {"test": "EVIDENCE and --text", "val": "--validation and --validation-text"}  # what a user can give


def marked_documents(
    run: Path, split: str, evidence: Path | None, text: Path | None
) -> tuple[list[str], list[DocumentEvidence]]:
    """Texts and what coders marked in them.

    Args:
        run: A run's folder.
        split: ``test`` or ``val``.
        evidence: The evidence file; None: the run's own, or the one beside its text file.
        text: The text file; None: the one beside ``evidence``, or the run's own.

    Raises:
        ConfigError: There is no such file.
        DataError: One cannot be read.
    """
    from plant_plugin.data.evidence import evidence_beside, read_evidence, text_beside
    from plant_plugin.data.text import packed, read_libmultilabel_text
    from plant_plugin.errors import ConfigError
    from plant_plugin.report.logs import logged_config

    key = f"{split}_file"
    config = {} if evidence is not None else logged_config(run)
    if text is None:
        own = config.get(key)
        text = text_beside(evidence) if evidence is not None else (Path(own) if own else None)
    if evidence is None and text is not None:
        own = (config.get("evidence") or {}).get(key)
        evidence = Path(own) if own else packed(evidence_beside(text))
    if text is None or evidence is None:
        missing = "text" if text is None else "evidence"
        raise ConfigError(f"there is no {missing} file", where=str(run), fix=f"give {SPLITS[split]}")
    documents = read_libmultilabel_text(text)
    return documents.texts, read_evidence(evidence, documents)
