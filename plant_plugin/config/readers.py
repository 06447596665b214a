"""What readers of documents offer, by their entries in the registry."""

from __future__ import annotations

from plant_plugin.config import registry

OF_FEATURES = "vocab_file"  # an argument of a reader that makes texts of features


def has_places(data_format: str) -> bool:
    """Tell whether a reader's texts are those of its files, so that evidence has places in them.

    They are of every reader but those of LibMultiLabel, which return features, and those that make texts of features
    with a ``vocab_file``. A reader that is not there is another problem.
    """
    reader = registry.entries("readers").get(data_format)
    return reader is None or (reader.ours and OF_FEATURES not in reader.signature())
