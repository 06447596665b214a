from __future__ import annotations

import pytest

from plant_plugin.data.label_cells import LabelColumn
from plant_plugin.data.mixed_labels import check_cells
from plant_plugin.errors import DataError


@pytest.mark.parametrize(
    ("cell", "separator"), [("a|b", ";"), ("I10,R05", ";"), ("I10 R05", ";"), ("a;b", " "), ("benign, old", ",")]
)
def test_another_separator_inside_is_refused(cell: str, separator: str) -> None:
    with pytest.raises(DataError, match=r"t\.csv"):
        check_cells({cell, "x"}, LabelColumn(separator), (), "t.csv", by_spaces=False)


def test_parts_that_training_knows_are_several_and_wholes_are_one() -> None:
    column = LabelColumn(";")
    check_cells({"heart,lungs"}, column, (), "t.csv", by_spaces=False)
    check_cells({"heart,lungs"}, column, {"heart,lungs", "heart"}, "t.csv", by_spaces=False)
    with pytest.raises(DataError, match="separated by commas"):
        check_cells({"heart,lungs"}, column, {"heart"}, "t.csv", by_spaces=False)
