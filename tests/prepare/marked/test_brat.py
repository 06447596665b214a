from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from marked_words import marked_words

from plant_plugin.cli import plant
from plant_plugin.errors import DataError, PlantError
from plant_plugin.prepare.marked.annotations import Choices
from plant_plugin.prepare.marked.brat import prepare_brat

TEXT = "Known asthma.\nPain of the left\nknee since May, no fever."
MARKS = """\
T1\tDisease 6 12\tasthma
T2\tSymptom 14 21;31 35\tPain of knee
T3\tNegated 50 55\tfever
T4\tDate 42 45\tMay
N1\tReference T1 ICD10:J45.909\tUnspecified asthma
N2\tReference T2 ICD10:M25.562\tPain in left knee
N3\tReference T2 R52
#1\tAnnotatorNotes T4\twhich year
#2\tAnnotatorNotes R1\tnot read
R1\tSince Arg1:T2 Arg2:T4
E1\tDisease:T1
A1\tUncertain T2
*\tEquiv T1 T2
"""
CASE = {"case.txt": TEXT, "case.ann": MARKS}


def write(folder: Path, files: dict[str, str] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (files or CASE).items():
        (folder / name).write_bytes(content.encode())
    return folder


def prepare(raw: Path, out: Path, **options: Any) -> tuple[dict[str, int], list[dict[str, list[str]]]]:
    made = prepare_brat(raw, out, **options)
    return made["counts"], marked_words(out / "train.txt")


@pytest.mark.parametrize("counted", [0, 1])
def test_a_byte_order_mark_stays_in_the_file(counted: int, tmp_path: Path) -> None:
    marks = f"T1\tDisease {6 + counted} {12 + counted}\tasthma\nN1\tReference T1 ICD10:J45 \tasthma\n".replace(
        " \t", "\t"
    )
    _, marked = prepare(write(tmp_path / "raw", {"case.txt": f"\ufeff{TEXT}", "case.ann": marks}), tmp_path / "out",
                        choices=Choices(repair=True))  # fmt: skip
    assert (tmp_path / "out" / "train.txt").read_text() == f"J45\t{' '.join(TEXT.split())}\n"
    assert marked == [{"J45": ["asthma"]}]


def test_codes_of_normalisations(tmp_path: Path) -> None:
    counts, marked = prepare(write(tmp_path / "raw"), tmp_path / "out")
    assert (tmp_path / "out" / "train.txt").read_text() == (
        "J45.909 M25.562 R52\tKnown asthma. Pain of the left knee since May, no fever.\n"
    )
    assert marked == [{"J45.909": ["asthma"], "M25.562": ["Pain of", "knee"], "R52": ["Pain of", "knee"]}]
    assert counts == {
        "notes_taken_for_remarks": 1, "marks_without_code": 2, "relations_not_read": 1, "events_not_read": 1,
        "equivalences_not_read": 1, "attribute_Uncertain_not_read": 1, "notes_of_events_and_relations_not_read": 1,
        "codes_without_a_terminology": 1,
    }  # fmt: skip
    lines = (tmp_path / "out" / "train_evidence.tsv").read_text().splitlines()
    assert lines == ["0\tJ45.909\t6-12", "0\tM25.562\t14-21+31-35", "0\tR52\t14-21+31-35"]


def test_types(tmp_path: Path) -> None:
    counts, marked = prepare(write(tmp_path / "raw"), tmp_path / "out", types=("Disease", "Date"), types_as_labels=True)
    assert marked == [{"J45.909": ["asthma"], "Date": ["May"]}]
    assert counts["marks_of_other_types"] == 2


def test_codes_in_notes(tmp_path: Path) -> None:
    marks = "T1\tDisease 6 12\tasthma\n#1\tAnnotatorNotes T1\tJ45.909 J45\nT2\tDate 42 45\tMay\n#2\tAnnotatorNotes T2\n"
    counts, marked = prepare(write(tmp_path / "raw", {**CASE, "case.ann": marks}), tmp_path / "out")
    assert marked == [{"J45.909": ["asthma"], "J45": ["asthma"]}]
    assert counts == {"marks_without_code": 1}


def test_folders_are_splits_and_hold_folders(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    write(raw / "train" / "first")
    write(raw / "train" / "second", {"empty.txt": "Nothing here.", "empty.ann": ""})
    write(raw / "dev", {"a.txt": "asthma", "a.ann": "T1\tD 0 6\tasthma\nN1\tReference T1 ICD10:J45\n"})
    write(raw / "test")
    made = prepare_brat(raw, tmp_path / "out")["sets"][""]
    assert {name: made[name] for name in ("train", "valid", "test", "documents_without_label_left_out")} == {
        "train": 1, "valid": 1, "test": 1, "documents_without_label_left_out": 1,
    }  # fmt: skip
    assert marked_words(tmp_path / "out" / "valid.txt") == [{"J45": ["asthma"]}]


def test_line_ends_count_as_brat_counts_them(tmp_path: Path) -> None:
    text = "One\r\ntwo \t three"
    marks = "T1\tD 5 8\ttwo\nN1\tReference T1 X:1\nT2\tD 5 16\ttwo   three\nN2\tReference T2 X:2\n"
    _, marked = prepare(write(tmp_path / "raw", {"a.txt": text, "a.ann": marks}), tmp_path / "out")
    assert (tmp_path / "out" / "train.txt").read_text() == "1 2\tOne two three\n"
    assert marked == [{"1": ["two"], "2": ["two three"]}]


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ("T1\tD 6 12\tasthma\nT2\tD 14 18\tpain of\n", "line 2: the marked text is not what stands there"),
        ("T1\tD 6 99\tasthma\n", "line 1: a span is not inside the text of 56"),
        ("T1\tD 6 12\tasthma\nT1\tD 50 55\tfever\n", "line 2: two marks have one name"),
        ("T1\tD 5 6\t \n", "line 1: the mark holds no word"),
        ("T1 D 6 12 asthma\n", "line 1: this is no mark of brat's standoff format"),
        (f"T1\tD 6 {'9' * 5000}\tasthma\n", "line 1: this is no mark of brat's standoff format"),
        (f"E1\t{'x:T' * 50_000}\t\n", "line 1: this is no mark of brat's standoff format"),
        ("T1\tD 6 12\n", "line 1: this is no mark of brat's standoff format"),
        ("N1\tReference\n", "line 1: this is no mark of brat's standoff format"),
        ("N1\tReference T1 X:1\n", "line 1: it is about a mark that is not in this file"),
        ("T1\tD 6 12\tasthma\n#1\tAnnotatorNotes T2\tcode\n", "line 2: it is about a mark that is not in this file"),
    ],
)
def test_mistakes(marks: str, message: str, tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", {**CASE, "case.ann": marks})
    with pytest.raises(DataError, match=rf"case\.ann, {message}") as caught:
        prepare_brat(raw, tmp_path / "out", types_as_labels=True)
    assert "asthma" not in str(caught.value).replace(str(tmp_path), "")


def test_a_run_without_codes_says_so(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", {**CASE, "case.ann": "T1\tDisease 6 12\tasthma\n"})
    with pytest.raises(DataError, match="no document for training has a label"):
        prepare_brat(raw, tmp_path / "out")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a/b.txt": "x"}, r"a.b: a \.txt or an \.ann without the other \(1 in all\)"),
        ({"b.ann": ""}, r"b: a \.txt or an \.ann without the other"),
        ({"a/readme.md": "x"}, r"no \.txt with an \.ann beside it"),
        ({"dev/a.txt": "x", "test/a.txt": "x"}, "valid, test, but nothing called train"),
        ({"train/a.txt": "x", "dev/a.txt": "x", "valid/a.txt": "x"}, "dev and valid are both for valid"),
    ],
)
def test_folders_that_are_not_of_the_format(files: dict[str, str], message: str, tmp_path: Path) -> None:
    for name, content in files.items():
        write((tmp_path / "raw" / name).parent, {Path(name).name: content})
    with pytest.raises(DataError, match=message):
        prepare_brat(tmp_path / "raw", tmp_path / "out")


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        prepare_brat(tmp_path / "raw", tmp_path / "out")


def test_a_text_is_not_replaced_by_what_is_made_of_it(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", {"train.txt": TEXT, "train.ann": MARKS})
    with pytest.raises(PlantError, match=r"raw/train\.txt: this is read, and would be replaced"):
        prepare_brat(raw, raw)
    assert {path.name for path in raw.iterdir()} == {"train.txt", "train.ann"}
    assert (raw / "train.txt").read_bytes() == TEXT.encode()


def test_the_command(tmp_path: Path) -> None:
    arguments = ["prepare", "brat", "--raw", str(write(tmp_path / "raw")), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(plant, [*arguments, "--type", "Disease", "--type", "Date", "--types-as-labels"])
    assert done.exit_code == 0, done.output
    assert "labels of documents with evidence" in done.output
    assert "asthma" not in done.output
    assert marked_words(tmp_path / "out" / "train.txt") == [{"J45.909": ["asthma"], "Date": ["May"]}]


def test_attributes_of_marks_and_of_events_leave_out(tmp_path: Path) -> None:
    marks = "T1\tD 6 12\tasthma\nN1\tReference T1 ICD10:J45\nT2\tD 50 55\tfever\nN2\tReference T2 ICD10:R50\n"
    of_event = "E1\tD:T2 Theme:T1\nA1\tNegated E1\nM2\tCertainty T1 Low\n"
    raw = write(tmp_path / "raw", {**CASE, "case.ann": marks + of_event})
    counts, marked = prepare(raw, tmp_path / "out", choices=Choices(without=("Negated",)))
    assert marked == [{"J45": ["asthma"]}]
    assert counts == {"marks_left_out_with_Negated": 1, "events_not_read": 1, "attribute_Certainty_not_read": 1}
    counts, marked = prepare(raw, tmp_path / "out", choices=Choices(without=("Certainty=Low", "Certainty=High")))
    assert marked == [{"R50": ["fever"]}]


def test_terminologies(tmp_path: Path) -> None:
    marks = "T1\tD 6 12\tasthma\nN1\tReference T1 ICD9:493\nN2\tReference T1 MeSH:493\nN3\tReference T1 ICD9:4\n"
    raw = write(tmp_path / "raw", {**CASE, "case.ann": marks + "T2\tD 50 55\tfever\nN4\tReference T2 MeSH:5\n"})
    assert [list(labels) for labels in prepare(raw, tmp_path / "out")[1]] == [["ICD9:493", "MeSH:493", "4", "5"]]
    options = {"choices": Choices(terminologies=("icd-9",)), "types_as_labels": True}
    counts, marked = prepare(raw, tmp_path / "out", **options)
    assert [list(labels) for labels in marked] == [["493", "4", "D"]]
    assert counts == {"codes_of_other_terminologies_left_out": 2}


def test_a_note_in_words_makes_no_word_a_label(tmp_path: Path) -> None:
    marks = "T1\tD 6 12\tasthma\n#1\tAnnotatorNotes T1\tE11.9 main problem\n#2\tAnnotatorNotes T1\tR05, I10; x1\n"
    more = "T2\tD 50 55\tfever\n#3\tAnnotatorNotes T2\task him\n"
    raw = write(tmp_path / "raw", {**CASE, "case.ann": marks + more})
    counts, marked = prepare(raw, tmp_path / "out")
    assert marked == [{"E11.9": ["asthma"], "R05": ["asthma"], "I10": ["asthma"]}]
    assert counts == {"notes_without_a_code": 1, "marks_without_code": 1}
    assert [list(labels) for labels in prepare(raw, tmp_path / "out", code_pattern=r"\bx\d")[1]] == [["x1"]]


@pytest.mark.parametrize(("text", "ann"), [("a\r\n😀😀😀\r\nasthma\r\n", "T1\tD 9 15\tasthma\n"),
                                           ("a\nb\nasthma\n", "T1\tD 6 12\tasthma\r\n")])  # fmt: skip
def test_places_of_other_line_ends_are_found_by_their_words(text: str, ann: str, tmp_path: Path) -> None:
    ann += "N1\tReference T1 ICD10:J45\n"
    counts, marked = prepare(write(tmp_path / "raw", {"a.txt": text, "a.ann": ann}), tmp_path / "out")
    assert marked == [{"J45": ["asthma"]}]
    assert counts == {"marks_counted_in_other_characters_repaired": 1}


def test_bad_marks_and_texts_are_left_out_or_found_again(tmp_path: Path) -> None:
    bad = ["T1\tD 9 15\tasthma", "N1\tReference T1 X:1", "T2\tD 6 12\t", "N2\tReference T2 X:2", "T3\tD 6 12",
           "N3\tReference T3 X:3", "A1\tNegated T3", "N4\tReference", "N5\tReference T9 X:5",
           "T5\tD 16 23;33 37\tPain of knee", "N6\tReference T5 X:6",
           "T6\tD 50 55\tfever", "N7\tReference T6 X:7"]  # fmt: skip
    raw = write(tmp_path / "raw", {**CASE, "case.ann": "\n".join(bad)})
    write(raw, {"alone.txt": "x", "latin.ann": ""})
    (raw / "latin.txt").write_bytes(b"\xe9")
    with pytest.raises(DataError, match="--skip-bad"):
        prepare(raw, tmp_path / "out")
    counts, marked = prepare(raw, tmp_path / "out", choices=Choices(skip_bad=True))
    assert marked == [{"7": ["fever"]}]
    assert counts == {"bad_documents_left_out": 2, "bad_marks_left_out": 6}
    counts, marked = prepare(raw, tmp_path / "out", choices=Choices(skip_bad=True, repair=True))
    assert marked == [{"1": ["asthma"], "6": ["Pain of", "knee"], "7": ["fever"]}]
    assert counts == {"bad_documents_left_out": 2, "bad_marks_left_out": 4, "marks_found_again_nearby": 2}
