"""What is seen of small files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plant_plugin.config import Config
from plant_plugin.data.tables import read_any
from plant_plugin.training.choose.facts import language_of, look
from plant_plugin.training.choose.settle import settle

Make = Callable[..., Config]


def test_labels_outside_a_label_file_are_not_counted(mine: Make, tmp_path: Path) -> None:
    labels = sorted({label for labels in read_any(tmp_path / "train.txt").labels for label in labels})
    (tmp_path / "labels.txt").write_text("\n".join(labels[:3]))
    config = mine(label_file=str(tmp_path / "labels.txt"))
    assert look(config, set(), network=False).labels == 3 < len(labels) - 2
    assert settle(config).val_metric == "nDCG@2"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The patient was admitted with a fever and a cough of three days.", "en"),
        ("Paciente de 67 años con hipertensión que acude por una fiebre de tres días.", "es"),
        ("Der Patient wurde mit Fieber und Husten in die Klinik gebracht.", "de"),
        ("xqz kvv wwx", "unknown"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert language_of([text] * 3) == language
