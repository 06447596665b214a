"""Documents that were coded elsewhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import coder

from plant_plugin.cli import plant
from plant_plugin.serving.desk.imports import add_coded
from plant_plugin.serving.desk.outcome import UNKNOWN, settled
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


def test_codes_without_a_name_are_refused_or_marked(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("R05 X1\tfever and cough\n", encoding="utf-8")
    (tmp_path / "names.tsv").write_text("R05\tcough\n", encoding="utf-8")
    coder(desk, "ana")
    command = ["desk", "add-documents", desk.path, tmp_path / "train.txt", "--coded-by", "ana"]

    def run(*options: object) -> Result:
        return CliRunner().invoke(plant, [*map(str, (*command, *options))])

    refused = run("--names", tmp_path / "names.tsv")
    assert refused.exit_code == 2
    assert "1 of 2 codes have no name ('X1')" in refused.output
    assert desk.size() == 0
    assert "--take-unknown: nothing says" in run("--take-unknown").output
    taken = run("--names", tmp_path / "names.tsv", "--take-unknown")
    assert taken.exit_code == 0, taken.output
    [(_, _, labels)] = settled(desk, counts := Counter[str]())
    assert [(one.label, one.known) for one in labels] == [("R05", True), ("X1", False)]
    assert counts[UNKNOWN] == 1


def test_where_nothing_was_looked_up_that_is_said(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("R05 X1\tfever and cough\n", encoding="utf-8")
    coder(desk, "ana")
    command = ["desk", "add-documents", str(desk.path), str(tmp_path / "train.txt")]
    done = CliRunner().invoke(plant, [*command, "--coded-by", "ana"])
    assert "Whether its codes exist was not looked up" in done.output
    [(_, _, labels)] = settled(desk, Counter())
    assert all(one.known for one in labels)
    alone = CliRunner().invoke(plant, [*command, "--names", "icd10"])
    assert "--names: only coded documents have codes" in alone.output
