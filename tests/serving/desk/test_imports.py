"""Documents that were coded elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import coder

from plant_plugin.serving.desk.imports import add_coded
from plant_plugin.serving.desk.store import Decision, Desk


def test_labels_come_with_the_evidence_beside_the_file(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("R05 R50\tfever and cough\nR50\tfever\n", encoding="utf-8")
    (tmp_path / "train_evidence.tsv").write_text("0\tR05\t10-15\n", encoding="utf-8")
    who = coder(desk, "ana")
    assert add_coded(desk, tmp_path / "train.txt", who) == [1, 2]
    assert add_coded(desk, tmp_path / "train.txt", who) == [0, 0]
    [(_, text, [(_, _, decisions)]), _] = desk.finished()
    assert text == "fever and cough"
    assert decisions == {"R05": Decision("R05", "add", [(10, 15)]), "R50": Decision("R50", "add", [])}
