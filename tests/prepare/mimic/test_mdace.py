from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from made_up_mimic import NOTES, lines, write_lists, write_mimic3
from marked_words import marked_words

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.prepare.mimic.mimic import MimicOptions, mimic3_source, prepare_mimic
from plant_plugin.prepare.output import PROVENANCE

REPORT, ADDENDUM, NURSING, SECOND = 2, 1, 3, 7  # ROW_IDs of made-up notes: the first three of admission 100
DIAGNOSIS, PROCEDURE = "ICD-9-CM", "ICD-9-PCS"


def mark(row: int, words: str, code: str, system: str = DIAGNOSIS, **other: Any) -> dict[str, Any]:
    """An annotation of words of a note."""
    begin = NOTES[row - 1][-1].index(words)
    return {"begin": begin, "end": begin + len(words), "code": code, "code_system": system, "type": "Human", **other}


def write_mdace(folder: Path, charts: dict[int, dict[int, Sequence[dict[str, Any]]]]) -> Path:
    """Charts by admission: annotations by ROW_ID."""
    for admission, notes in charts.items():
        listed = [{"note_id": row, "category": "x", "annotations": list(marks)} for row, marks in notes.items()]
        path = folder / "Inpatient" / "ICD-9" / f"{admission}-ICD-9.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"hadm_id": admission, "comment": "", "notes": listed}))
    return folder


CHARTS = {
    100: {
        REPORT: [
            mark(REPORT, "Chest pain, 500 mg", "038.9"),
            mark(REPORT, "sick", "0389"),  # dots or not
            mark(REPORT, "sick", "03.31", PROCEDURE),
            mark(REPORT, "___", "038.9"),  # no word in CAML's style
            mark(REPORT, "home", "I10", "ICD-10-CM"),
            mark(REPORT, "home", "99232", "CPT"),
            mark(REPORT, "home", "401.9"),  # not a code of this admission
        ],
        ADDENDUM: [mark(ADDENDUM, "above", "v15.82")],
        NURSING: [mark(NURSING, "notes", "038.9")],  # no summary
    },
    200: {SECOND - 2: [mark(SECOND - 2, "shock", "311"), mark(SECOND - 2, "sepsis", "33.1", PROCEDURE)]},
}


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_mimic3(tmp_path / "raw")


def prepare(raw: Path, mdace: Path, **options: Any) -> dict[str, Any]:
    lists = write_lists(raw.parent / "lists")
    options = {"subsets": ("full",), "splits": lists, **options}
    return prepare_mimic(mimic3_source(raw), MimicOptions(raw.parent / "data", mdace=mdace, **options))


def test_every_rule_by_hand(raw: Path, tmp_path: Path) -> None:
    made = prepare(raw, write_mdace(tmp_path / "mdace", CHARTS))
    folder = tmp_path / "data" / "MIMIC"
    assert lines(folder / "train.txt")[0].endswith(
        "\tchest pain mg then 250mg said sick stays home addendum to the above"
    )
    assert marked_words(folder / "train.txt") == [
        # The addendum stands first in the table and last in the document.
        {"03.31": ["sick"], "038.9": ["chest pain mg", "sick"], "V15.82": ["above"]},
        {"311": ["shock"], "33.1": ["sepsis"]},
        {},
    ]  # fmt: skip
    assert marked_words(folder / "test.txt") == [{}]
    told = {name: number for name, number in made["counts"].items() if name.startswith("mdace")}
    assert told == {
        "mdace_annotations": 11,
        "mdace_annotations_of_other_code_systems": 2,
        "mdace_annotations_of_other_codes": 1,
        "mdace_annotations_without_a_word": 1,
        "mdace_annotations_of_other_notes": 1,
    }
    assert (made["sets"]["MIMIC"]["labels_of_documents_with_evidence"], made["sets"]["MIMIC"]["spans"]) == (5, 6)


@pytest.mark.parametrize(
    ("style", "words"),
    [("edin", ["chest pain mg", "sick"]), ("raw", ["Chest pain, 500 mg", "sick", "___"])],
)
def test_other_styles(style: str, words: list[str], raw: Path, tmp_path: Path) -> None:
    prepare(raw, write_mdace(tmp_path / "mdace", CHARTS), style=style)
    first, second, _ = marked_words(tmp_path / "data" / "MIMIC" / "train.txt")
    assert first["038.9"] == words
    assert first["V15.82"] == ["above"]
    assert second["311"] == ["shock"]


def test_subsets_and_caml_compatible_codes(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text("33.1\n")
    options = {"subsets": ("top50",), "codes": tmp_path / "codes.txt", "caml_compatible": True}
    made = prepare(raw, write_mdace(tmp_path / "mdace", CHARTS), **options)
    # CAML reads 03.31 as 33.1; of the other codes the set has none.
    assert marked_words(tmp_path / "data" / "MIMIC-50" / "train.txt") == [{"33.1": ["sick"]}, {"33.1": ["sepsis"]}]
    assert made["sets"]["MIMIC-50"]["spans"] == 2


def test_provenance_and_messages_hold_no_id(raw: Path, tmp_path: Path) -> None:
    mdace = write_mdace(tmp_path / "mdace", CHARTS)
    arguments = ["--raw", raw, "--out", tmp_path / "data", "--splits", write_lists(tmp_path / "lists")]
    done = CliRunner().invoke(plant, ["prepare", "mimic3", *map(str, arguments), "--mdace", str(mdace)])
    assert done.exit_code == 0, done.output
    assert "note: 1 annotations of MDACE, coded anew, are of codes" in done.output
    assert "note: 2 annotations of MDACE are of other code systems" in done.output
    text = (tmp_path / "data" / "MIMIC" / PROVENANCE).read_text()
    content = json.loads(text)
    assert content["sources"][-1]["files"] == 2
    assert content["options"]["mdace"] is True
    assert "100-ICD" not in text + done.output


def test_without_it_nothing_is_written_or_told(raw: Path, tmp_path: Path) -> None:
    made = prepare_mimic(mimic3_source(raw), MimicOptions(tmp_path / "data", subsets=("full",)))
    assert not list((tmp_path / "data").rglob("*evidence*"))
    assert "spans" not in made["sets"]["MIMIC"]


WHERE = r"mdace, file 1 of 1 by name, note 1, annotation 2"


@pytest.mark.parametrize(
    ("charts", "message"),
    [
        ({100: {REPORT: [mark(REPORT, "sick", "0389"), mark(REPORT, "sick", "0389", end=9999)]}},
         f"{WHERE}: a span outside its note"),
        ({100: {REPORT: [mark(REPORT, "sick", "0389"), mark(REPORT, "sick", "0389", begin=-1)]}},
         f"{WHERE}: a span outside its note"),
        ({100: {REPORT: [mark(REPORT, "sick", "0389"), mark(REPORT, "sick", "0389", begin=None)]}},
         rf"{WHERE}: not of MDACE's format \(TypeError\)"),
        ({100: {REPORT: [mark(REPORT, "sick", "0389"), mark(REPORT, "sick", "0389", end=float("inf"))]}},
         rf"{WHERE}: not of MDACE's format \(OverflowError\)"),
        ({100: {REPORT: [mark(REPORT, "sick", "0389"), {}]}}, rf"{WHERE}: not of MDACE's format \(KeyError\)"),
        ({200: {REPORT: [mark(REPORT, "sick", "0389")]}},
         "file 1 of 1 by name, note 1, annotation 1: the note is another"),
        ({100: {REPORT: [mark(REPORT, "sick", "I10", "ICD-10-CM")]}},
         r"mdace: 1 annotations in 1 files \*\.json, none with an ICD-9 code"),
        ({100: {NURSING: [mark(NURSING, "notes", "0389")]}}, "mdace: none of 1 annotations is evidence"),
        ({}, r"mdace: 0 annotations in 0 files"),
    ],
)  # fmt: skip
def test_mistakes(charts: Any, message: str, raw: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        prepare(raw, write_mdace(tmp_path / "mdace", charts))
    assert "sick" not in str(caught.value)
    assert not (tmp_path / "data").exists()


def test_broken_json(raw: Path, tmp_path: Path) -> None:
    (write_mdace(tmp_path / "mdace", CHARTS) / "0.json").write_text('{"hadm_id": 100')
    with pytest.raises(DataError, match=r"file 1 of 3 by name: not of MDACE's format \(JSONDecodeError\)"):
        prepare(raw, tmp_path / "mdace")
