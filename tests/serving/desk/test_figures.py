"""Agreement, times and counts of a team."""

from __future__ import annotations

import json
import sqlite3

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import code, coder
from sklearn.metrics import cohen_kappa_score

from plant_plugin.cli import plant
from plant_plugin.serving.desk.figures import figures
from plant_plugin.serving.desk.store import Decision, Desk


def run(*arguments: object) -> Result:
    return CliRunner().invoke(plant, ["desk", *map(str, arguments)])


def test_agreement_is_cohens_kappa(coded: Desk) -> None:
    found = figures(coded)
    pairs = {(pair["first"], pair["second"]): pair for pair in found["pairs"]}
    # Labels of document one: R05, R21, R50, Z99.9; of document two: R05, R21, R50. By hand, yes and no in that order.
    ana, berta = [1, 0, 1, 0, 1, 0, 1], [1, 0, 0, 1, 1, 0, 1]
    observed = 5 / 7
    expected = (4 / 7) * (4 / 7) + (3 / 7) * (3 / 7)
    assert pairs["ana", "berta"]["kappa"] == pytest.approx((observed - expected) / (1 - expected), abs=1e-4)
    assert pairs["ana", "berta"]["kappa"] == pytest.approx(cohen_kappa_score(ana, berta), abs=1e-4)
    assert (pairs["ana", "berta"]["documents"], pairs["ana", "berta"]["decisions"]) == (2, 7)
    assert (pairs["ana", "berta"]["agreed"], pairs["ana", "berta"]["percent"]) == (5, 71.4)
    assert [pairs["ana", "berta"][name] for name in ("first_gave", "second_gave", "both_gave", "f1")] == [4, 4, 3, 75.0]
    assert pairs["ana", "model"]["kappa"] == 1.0  # she took what was above the threshold
    assert pairs["berta", "model"]["kappa"] < 1.0
    codes = {one["label"]: one for one in found["codes"]}
    assert codes["R50"] == {"label": "R50", "suggested": 5, "accepted": 4, "rejected": 1, "added": 0}
    assert codes["Z99.9"] == {"label": "Z99.9", "suggested": 0, "accepted": 0, "rejected": 0, "added": 1}
    assert (found["documents"], found["finished"]) == (3, 2)
    told = run("agreement", coded.path)
    assert told.exit_code == 0, told.output
    assert "2 of 3 documents are finished" in told.output
    assert json.loads(run("agreement", coded.path, "--json").output) == json.loads(json.dumps(found))
    assert "secretpatient" not in told.output


def test_time_a_document_is_from_its_first_opening_to_its_end(desk: Desk) -> None:
    who = coder(desk, "ana")
    documents = desk.add_documents((str(number), f"text {number}") for number in range(3))
    for document, seconds in zip(documents, (10, 40, 20), strict=True):
        code(desk, who, document)
        with sqlite3.connect(desk.path) as plain:
            plain.execute("DROP TRIGGER IF EXISTS changes_are_not_changed")
            plain.execute("UPDATE changes SET at = ? WHERE kind = 'done' AND document = ?", [seconds, document])
    assert [one["seconds"] for one in figures(desk)["coders"]] == [20.0]


def test_coders_who_agree_on_nearly_all_that_they_give_have_a_small_kappa_and_a_large_f1(desk: Desk) -> None:
    """23 of 31 codes given by both, 4 by each alone: no agreed no, so that chance alone would agree on more."""
    ana, berta = coder(desk, "ana"), coder(desk, "berta")
    [document] = desk.add_documents([("a", "text")], wanted=2)
    code(desk, ana, document, *(Decision(f"C{number}", "add", []) for number in range(27)))
    code(desk, berta, document, *(Decision(f"C{number}", "add", []) for number in [*range(23), *range(27, 31)]))
    [pair] = figures(desk)["pairs"]
    assert (pair["agreed"], pair["decisions"], pair["percent"], pair["f1"]) == (23, 31, 74.2, 85.2)
    assert pair["kappa"] == pytest.approx(-0.148, abs=1e-3)
    told = run("agreement", desk.path).output
    assert "74.2" in told
    assert "85.2" in told


def test_where_nothing_is_shared_nothing_is_claimed(desk: Desk) -> None:
    for name in ("ana", "berta"):
        who = coder(desk, name)
        [document] = desk.add_documents([("a", "text")], wanted=2) if name == "ana" else [1]
        code(desk, who, document)
    [pair] = figures(desk)["pairs"]
    assert (pair["percent"], pair["f1"], pair["kappa"]) == (None, None, None)
