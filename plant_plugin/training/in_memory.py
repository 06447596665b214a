"""Training in Python, on documents in memory or in files: what ``plant train`` does, by the same function."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from plant_plugin.config import load_config
from plant_plugin.data.documents import FILES
from plant_plugin.data.given_table import Table, file_of
from plant_plugin.model.predictor import Predictor
from plant_plugin.report.result import Result
from plant_plugin.training.run import train_in_folder


@dataclass(frozen=True)
class Trained:
    """A training that has ended.

    Attributes:
        folder: The run's folder, for every command that takes a RUN_FOLDER.
        result: The content of ``result.json``; empty without test documents.
        device: Where the predictor works.
    """

    folder: Path
    result: Result = field(repr=False)
    device: str | None = None

    @cached_property
    def predictor(self) -> Predictor:
        """Load what predicts and explains; a ``CheckpointError`` where LibMultiLabel trained."""
        return Predictor.load(self.folder, device=self.device, trust_code=True)  # whoever trained has named its code


def train(
    documents: str | Path | Table,
    test: str | Path | Table | None = None,
    *,
    config: str | Path | None = "plant.yml",
    options: Mapping[str, object] | None = None,
    device: str | None = None,
) -> Trained:
    """Train on documents, and test on others where they are given.

    Examples:
        >>> from plant_plugin import train
        >>> trained = train({"text": texts, "labels": labels}, options=options)
        >>> trained.predictor.predict(["filler1 sign3x filler2"], top=1)[0].labels[0].label
        'L3'

    Args:
        documents: A file, or a table whose column ``text`` holds texts, and ``labels`` lists of labels or one text of
            them. A table is written to a temporary folder, which is gone afterwards.
        test: The same of the documents to test on.
        config: As ``--config``: with the default the documents decide what ``options`` leave open.
        options: Keys of the configuration, dots reaching into blocks: ``{"stage2.epochs": 6, "result_dir": "runs"}``.
        device: Where the predictor works: ``cpu``, or None for a GPU where there is one.

    Raises:
        PlantError: What the configuration, the documents or the training cannot do.
    """
    with tempfile.TemporaryDirectory() as folder:
        given = {"train": documents, "test": test}
        files = {FILES[name]: file_of(each, Path(folder, name)) for name, each in given.items() if each is not None}
        none: dict[str, object] = dict.fromkeys(FILES.values())  # those of a packaged configuration
        trained, result = train_in_folder(
            load_config(config, {**none, "data_name": "given", **(options or {}), **files})
        )
    return Trained(trained, result, device)
