"""Files as LibMultiLabel reads them: what it cannot read is written as text, with labels as this package reads them."""

from __future__ import annotations

from pathlib import Path

from plant_plugin.config import Config
from plant_plugin.config.rules import DATA_KEYS
from plant_plugin.config.values import Keys
from plant_plugin.data.documents import AS_TEXT, file_of, read_documents, reader_of, text_labels
from plant_plugin.data.label_separators import LabelColumn
from plant_plugin.data.text import Documents
from plant_plugin.errors import DataError
from plant_plugin.host.checks import cached_text

READ_BY_LIBMULTILABEL = ("svm", "xmc")  # formats, beside text whose labels white space separates


def files_as_text(config: Config) -> Keys:
    """Return the keys of the files of a run, all written as text where LibMultiLabel cannot read one of them.

    The training file is read first: what it says of labels holds for the others.

    Raises:
        DataError: A file cannot be read, or a label of a user's reader holds a space.
    """
    sources = {key: str(source) for key in DATA_KEYS if (source := getattr(config, key))}
    if not any(_is_foreign(source, config) for source in sources.values()):
        return {key: str(file_of(source, config)) for key, source in sources.items()}
    keys: Keys = {**AS_TEXT}
    after = None
    for key, source in sources.items():
        documents = read_documents(source, config, after)
        after = documents.trained if key == DATA_KEYS[0] else after
        keys[key] = str(_written(source, documents, config))
    return keys


def _is_foreign(source: str, config: Config) -> bool:
    """Tell whether LibMultiLabel cannot read a file as it is: a text whose labels white space separates, or sparse."""
    if (reader := reader_of(source, config)) != "txt":
        return reader not in READ_BY_LIBMULTILABEL
    return text_labels(source, config) != LabelColumn()


def _written(source: str, documents: Documents, config: Config) -> Path:
    """Write documents into the cache folder, in the text format that LibMultiLabel reads."""
    lines = []
    for text, labels in zip(documents.texts, documents.labels, strict=True):
        if spaced := next((label for label in labels if label != "".join(label.split())), None):
            fix = "write another character in its place"
            what = "a label with a space in it, which LibMultiLabel would take for two"
            raise DataError(what, where=f"{source}: {spaced!r}", fix=fix)
        lines.append(f"{' '.join(labels)}\t{' '.join(text.split())}\n")
    return cached_text("".join(lines), config)
