"""Names of labels, one by one and all."""

from __future__ import annotations

from pathlib import Path

from plant_plugin.data.label_names import label_names
from plant_plugin.data.listed_names import ListedNames
from plant_plugin.data.vocabularies import LabelName


def test_the_first_source_that_knows_a_label_names_it_and_all_are_listed(tmp_path: Path) -> None:
    rows = [LabelName("L1", "one"), LabelName("L2", "two")]
    names = ListedNames([{"L1": "uno"}.get, {"L1": "one", "L2": "two"}.get], lambda: rows)
    assert [names(label) for label in ("L1", "L2", "L3")] == ["uno", "two", None]
    assert names.rows() == rows
    (tmp_path / "label_names.tsv").write_text("L1\tone\nL1\tuno\nL2\ttwo\n")
    of_files = label_names([], tmp_path)
    assert [(row.label, row.name) for row in of_files.rows()] == [("L1", "one"), ("L1", "uno"), ("L2", "two")]
