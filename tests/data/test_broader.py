"""What stands above a label: a thesaurus's broader and narrower concepts, a table, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.data.broader import broader_in
from plant_plugin.errors import DataError

THESAURUS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/t#> .
:heart a skos:Concept ; skos:notation "10" ; skos:prefLabel "heart"@en ; skos:broader :organ, :pump .
:organ a skos:Concept ; skos:notation "20" ; skos:prefLabel "organ"@en ; skos:narrower :lung .
:pump a skos:Concept ; skos:notation "25" ; skos:prefLabel "pump"@en .
:lung a skos:Concept ; skos:notation "30" ; skos:prefLabel "lung"@en .
"""


@pytest.mark.parametrize(
    ("heart", "organ", "pump", "lung"), [("10", "20", "25", "30"), ("heart", "organ", "pump", "lung")]
)
def test_a_thesaurus_says_it_by_the_signs_of_the_data(
    tmp_path: Path, heart: str, organ: str, pump: str, lung: str
) -> None:
    pytest.importorskip("rdflib", reason="pip install 'plant-plugin[skos]'")
    (path := tmp_path / "t.ttl").write_text(THESAURUS, encoding="utf-8")
    assert broader_in(path, {heart, lung}) == {heart: [organ, pump], lung: [organ]}


def test_a_table_says_it_in_lines(tmp_path: Path) -> None:
    (path := tmp_path / "t.tsv").write_text("b\tB\na\tB\na\tA\nB\tB\n\n", encoding="utf-8")
    assert broader_in(path, {"a"}) == {"a": ["A", "B"], "b": ["B"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tA\nb\n", "line 2: not a label and a broader one"),
        ("a\tA\tx\n", "line 1: not a label and a broader one"),
        ("a\t \n", "line 1: not a label and a broader one"),
        ("c\tA\n", "no label of the data has a broader one"),
        ("a\tA\nA\tB\nB\ta\n", "labels stand above themselves: "),
    ],
)
def test_what_says_nothing_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (path := tmp_path / "t.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        broader_in(path, {"a", "b"})
