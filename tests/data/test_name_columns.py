"""Which columns of a table of names are which; how tables are refused is tested with what is read of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.data.name_columns import HEADER, name_columns


@pytest.mark.parametrize("role", range(3))
def test_a_header_may_call_a_column_by_any_of_its_names(tmp_path: Path, role: int) -> None:
    usual = ["language", "code", "name"]
    for called in HEADER[role]:
        columns = [called if place == (role + 1) % 3 else name for place, name in enumerate(usual)]
        (path := tmp_path / "names.tsv").write_text("\t".join(columns).upper() + "\nen\tL1\tone\n")
        assert name_columns(path) == ([(f"{path}, line 2", ["L1", "one", "en"])], False)


def test_only_a_table_without_a_header_may_have_tabs_in_names(tmp_path: Path) -> None:
    for name, content, free in (("n.tsv", "L1\tone\n", True), ("n.csv", "L1,one\n", False), ("n.csv", "", False)):
        (path := tmp_path / name).write_text(content)
        assert name_columns(path)[1] is free
