"""``plant desk``: from documents and decisions to training files, figures and other tools."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from made_up_task import made_config

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from sklearn.metrics import cohen_kappa_score

from plant_plugin.cli import plant
from plant_plugin.data.evidence import read_evidence
from plant_plugin.data.tables import read_any
from plant_plugin.serving.desk.figures import figures
from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.store import Decision, Desk, Suggestions

MODEL = "made-up-model"
TEXT = "Fever  and cough since Monday,\ta rash too"  # as somebody sent it: white space that a line cannot hold


def run(*arguments: object) -> Result:
    return CliRunner().invoke(plant, ["desk", *map(str, arguments)])


def coder(desk: Desk, name: str, role: str = "coder") -> Coder:
    desk.people.add(name, role)
    return desk.people.named(name)


def code(desk: Desk, who: Coder, document: int, *decisions: Decision) -> None:
    """Lend the document whatever the queue says, decide and finish."""
    with desk._write.begin() as connection:
        desk._lend(connection, who, document, MODEL, 0.0)
    for place, one in enumerate(decisions):
        desk.decide(who, f"key-{document}-{place}-x", document, one)
    desk.finish(who, f"key-{document}-done", document)


@pytest.fixture
def coded(desk: Desk) -> Desk:
    """Two documents that two coders and a lead have read, one that nobody has finished."""
    ana, berta, lea = coder(desk, "ana"), coder(desk, "berta"), coder(desk, "lea", "lead")
    one, two, three = desk.add_documents([("a", TEXT), ("b", "fever only"), ("c", "secretpatient")], wanted=3)
    suggested = [
        {"label": label, "probability": 0.9, "predicted": label != "R21", "spans": []}
        for label in ("R50", "R05", "R21")
    ]
    desk.suggest(MODEL, [(number, Suggestions(suggested, 1.0)) for number in (one, two, three)])  # type: ignore[arg-type]
    cough, fever = (TEXT.index("cough"), TEXT.index("cough") + 5), (0, 5)
    code(desk, ana, one, Decision("R05", "accept", [cough]), Decision("R50", "accept", [fever]))
    code(desk, berta, one, Decision("R05", "accept", []), Decision("R50", "reject", []), Decision("Z99.9", "add", []))
    code(desk, ana, two, Decision("R50", "accept", []), Decision("R05", "accept", []))
    code(desk, berta, two, Decision("R50", "accept", []), Decision("R05", "accept", []))
    code(desk, lea, two, Decision("R50", "accept", [(0, 5)]), Decision("R05", "reject", []))
    with desk._write.begin() as connection:
        desk._lend(connection, ana, three, MODEL, 0.0)
    desk.decide(ana, "key-unfinished", three, Decision("R50", "accept", []))
    return desk


def test_the_majority_and_a_leads_word_are_exported_with_evidence(coded: Desk, tmp_path: Path) -> None:
    done = run("export", coded.path, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    read = read_any(tmp_path / "out" / "train.txt")
    assert read.texts == ["Fever and cough since Monday, a rash too", "fever only"]
    assert [sorted(labels) for labels in read.labels] == [["R05"], ["R50"]]  # R50 and Z99.9: one of two
    evidence = read_evidence(tmp_path / "out" / "train_evidence.tsv", read)
    assert [read.texts[0][slice(*span)] for span in evidence[0]["R05"]] == ["cough"]
    assert evidence[1] == {"R50": [(0, 5)]}
    provenance = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert provenance["counts"]["labels_left_out_because_coders_are_split"] == 2


def test_a_training_plants_from_an_export(desk: Desk, marked_task: Path, tmp_path: Path) -> None:
    who = coder(desk, "ana")
    done = run("add-documents", desk.path, marked_task / "train.txt", "--coded-by", who.name)
    assert done.exit_code == 0, done.output
    assert "90 documents added" in done.output
    assert "0 documents added, 90 were there" in run("add-documents", desk.path, marked_task / "train.txt").output
    refused = run("add-documents", desk.path, marked_task / "train.txt", "--coded-by", who.name, "--input", "jsonl")
    assert "--input: --coded-by reads a file to train on, by its ending" in refused.output
    assert run("export", desk.path, "--out", tmp_path / "train").exit_code == 0
    sent, came = (read_any(folder / "train.txt") for folder in (marked_task, tmp_path / "train"))
    assert came.texts == sent.texts
    assert [set(labels) for labels in came.labels] == [set(labels) for labels in sent.labels]
    marks = [read_evidence(folder / "train_evidence.tsv", sent) for folder in (marked_task, tmp_path / "train")]
    assert marks[0] == marks[1]
    from plant_plugin.report.logs import logged_config
    from plant_plugin.training.run import run as train

    config = made_config(
        marked_task, training_file=str(tmp_path / "train" / "train.txt"), result_dir=str(tmp_path / "runs"),
        evidence__training_file=str(tmp_path / "train" / "train_evidence.tsv"), stage1__epochs=1, stage2__epochs=1,
        planted_scores__model="ridge",
    )  # fmt: skip
    train(config)
    assert logged_config(Path(config.checkpoint_dir))["evidence"]["training_file"].endswith("train_evidence.tsv")
    assert (Path(config.checkpoint_dir) / "model.safetensors").is_file()


@pytest.mark.parametrize("form", ["labelstudio", "brat"])
def test_other_tools_read_an_export_and_it_comes_back(coded: Desk, tmp_path: Path, form: str) -> None:
    done = run("export", coded.path, "--out", tmp_path / form, "--form", form)
    assert done.exit_code == 0, done.output
    back = CliRunner().invoke(plant, ["prepare", form, "--raw", str(tmp_path / form), "--out", str(tmp_path / "back")])
    assert back.exit_code == 0, back.output
    read = read_any(tmp_path / "back" / "train.txt")
    assert [sorted(labels) for labels in read.labels] == [["R05"], ["R50"]]
    evidence = read_evidence(tmp_path / "back" / "train_evidence.tsv", read)
    assert [read.texts[0][slice(*span)] for span in evidence[0]["R05"]] == ["cough"]
    again = run("add-documents", coded.path, tmp_path / "back" / "train.txt", "--coded-by", "ana")
    assert again.exit_code == 0, again.output


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


def test_accounts_documents_backup_and_restore(tmp_path: Path) -> None:
    path, file = tmp_path / "new" / "desk.sqlite", tmp_path / "texts.txt"
    file.write_text("first text\nsecond text\n", encoding="utf-8")
    assert run("export", path, "--out", tmp_path / "out").exit_code == 2
    token = run("add-coder", path, "ana").output.splitlines()[0]
    assert len(token) > 40
    assert run("add-coder", path, "ana").exit_code == 2
    assert run("add-coder", path, "lea", "--role", "lead").exit_code == 0
    assert run("new-token", path, "ana").output.strip() != token
    assert run("new-token", path, "ana", "--none").output.strip() == "closed"
    assert run("add-documents", path, file, "--date", "2026-01-02", "--coders", 2).exit_code == 0
    empty = run("export", path, "--out", tmp_path / "out")
    assert empty.exit_code == 2
    assert "no finished document" in empty.output
    assert not (tmp_path / "out").exists()
    assert run("backup", path, tmp_path / "backup.sqlite").exit_code == 0
    assert run("restore", tmp_path / "backup.sqlite", path).exit_code == 2
    assert run("restore", tmp_path / "backup.sqlite", tmp_path / "again.sqlite").exit_code == 0
    assert "0 of 2 documents" in run("agreement", tmp_path / "again.sqlite").output


@pytest.mark.parametrize(
    "arguments",
    [
        ["desk", "add-coder", "DESK", "berta"],
        ["desk", "new-token", "DESK", "ana"],
        ["desk", "add-documents", "DESK", "DESK", "--coded-by", "ana"],
        ["desk", "export", "DESK", "--out", "out"],
        ["desk", "agreement", "DESK"],
        ["desk", "backup", "DESK", "saved.sqlite"],
        ["desk", "restore", "DESK", "again.sqlite"],
        ["train", "DESK", "--from", "."],
    ],
    ids=lambda arguments: arguments[1],
)
def test_without_the_extra(desk: Desk, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    coder(desk, "ana")
    for name in [name for name in sys.modules if name.startswith("plant_plugin.serving.desk")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.chdir(desk.path.parent)
    done = CliRunner().invoke(plant, [desk.path.name if one == "DESK" else one for one in arguments])
    assert done.exit_code == 2, done.exception
    assert "a desk needs SQLAlchemy\n  How to fix it: pip install 'plant-plugin[serve]'" in done.output


def test_serve_refuses_a_desk_that_is_not_there(run_folder: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(plant, ["serve", str(run_folder), "--desk", str(tmp_path / "typo.sqlite")])
    assert done.exit_code == 2
    assert "add-coder" in done.output
    assert not (tmp_path / "typo.sqlite").exists()
