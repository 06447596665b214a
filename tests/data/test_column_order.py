from __future__ import annotations

import pytest

from plant_plugin.data.column_order import check_order
from plant_plugin.errors import DataError

TEXT = "patient with a fever and a dry cough since monday"


@pytest.mark.parametrize(
    ("ids", "labels", "texts", "what"),
    [
        ([TEXT], ["I10 E11.9"], ["17"], "the first of three columns"),
        ([TEXT], ["17"], ["I10 E11.9"], "the first of three columns"),
        (["17"], [TEXT], ["I10 E11.9"], "the labels seem to be texts"),
        ([], [TEXT], ["I10;E11.9"], "the labels seem to be texts"),
    ],
)
def test_another_order_is_refused_without_its_content(
    ids: list[str], labels: list[str], texts: list[str], what: str
) -> None:
    with pytest.raises(DataError, match=what) as error:
        check_order(ids, labels, texts, "t.txt")
    assert "cough" not in str(error.value)


@pytest.mark.parametrize(
    ("ids", "labels", "texts"),
    [
        (["17"], ["I10 E11.9"], [TEXT]),
        ([], ["I10 E11.9 R05 J81 K21.9 Z79"], ["cough"]),
        ([], ["I10 E11.9 R05 J81 K21.9 Z79"], ["I10 E11"]),
        (["my note of monday 17"], [""], [TEXT]),
        ([], [], []),
    ],
)
def test_what_may_be_in_order(ids: list[str], labels: list[str], texts: list[str]) -> None:
    check_order(ids, labels, texts, "t.txt")
