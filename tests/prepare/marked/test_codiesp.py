from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from made_up_codiesp import DIAGNOSES, KINDS, MARKS, OTHER, PROCEDURES, TEXT, write_codiesp, write_names
from marked_words import marked_words

from plant_plugin.cli import plant
from plant_plugin.data.evidence import evidence_beside, read_marks
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.codiesp import prepare_codiesp
from plant_plugin.prepare.output import PROVENANCE


def test_every_rule_by_hand(tmp_path: Path) -> None:
    made = prepare_codiesp(write_codiesp(tmp_path / "raw"), tmp_path / "out")
    text = "Mujer de 50 años con tos. Radiografía de tórax: neumonía del lóbulo inferior."
    for split in ("train", "valid", "test"):
        # Cases by name, codes as their table has them, in capitals; two line breaks are one space.
        diagnoses = tmp_path / "out" / "es_diagnoses" / f"{split}.txt"
        assert diagnoses.read_text(encoding="utf-8") == f"J45.909\t{OTHER}\nR05 J18.9\t{text}\n"
        assert marked_words(diagnoses) == [
            {"J45.909": ["asma"]},
            {"R05": ["tos"], "J18.9": ["neumonía", "del lóbulo", "lóbulo inferior."]},
        ]
        procedures = tmp_path / "out" / "es_procedures" / f"{split}.txt"
        assert procedures.read_text(encoding="utf-8") == f"BW03ZZZ\t{text}\n"
        assert marked_words(procedures) == [{"BW03ZZZ": ["Radiografía de tórax"]}]
        english = (tmp_path / "out" / "en_diagnoses" / f"{split}.txt").read_text(encoding="utf-8")
        assert english.startswith("J45.909\tA man with asthma.\nR05 J18.9\tA woman of 50 with a cough. Chest")
    assert not list((tmp_path / "out" / "en_diagnoses").glob("*evidence*"))
    assert made["sets"]["es_procedures"] == {
        "train": 1, "valid": 1, "test": 1, "documents_without_label_left_out": 3, "labels": 1,
        "labels_of_documents": 3, "labels_of_documents_with_evidence": 3, "spans": 3, "marks_in_several_parts": 0,
    }  # fmt: skip
    diagnoses_made = made["sets"]["es_diagnoses"]
    assert (diagnoses_made["spans"], diagnoses_made["marks_in_several_parts"]) == (3 * 5, 3 * 2)


def test_parts_of_one_row_are_one_mark(tmp_path: Path) -> None:
    prepare_codiesp(write_codiesp(tmp_path / "raw"), tmp_path / "out")
    path = tmp_path / "out" / "es_diagnoses" / "test.txt"
    documents = read_any(path)
    marks = read_marks(evidence_beside(path), documents)[1]
    words = [[documents.texts[1][start:end] for start, end in mark] for mark in marks["J18.9"]]
    assert words == [["neumonía", "del lóbulo"], ["neumonía", "lóbulo inferior."]]
    told = json.loads((tmp_path / "out" / "es_diagnoses" / PROVENANCE).read_text())
    assert [source["name"] for source in told["sources"]][:3] == ["trainD.tsv", "trainP.tsv", "trainX.tsv"]


def test_the_command_and_a_dry_run(tmp_path: Path) -> None:
    raw, out = write_codiesp(tmp_path / "raw"), tmp_path / "out"
    arguments = ["prepare", "codiesp", "--raw", str(raw), "--out", str(out)]
    dry, done = (CliRunner().invoke(plant, [*arguments, *more]) for more in (["--dry-run"], []))
    assert dry.exit_code == done.exit_code == 0, dry.output + done.output
    assert dry.output.replace("would be written", "written") == done.output
    assert sorted(path.name for path in out.iterdir()) == ["en_diagnoses", "es_diagnoses", "es_procedures"]
    assert "case-1" not in done.output
    assert "note: 2 tables of what codes stand for are missing" in done.output
    assert not list(out.glob("*/label_names.tsv"))


@pytest.mark.parametrize("beside", [True, False], ids=["beside the release", "elsewhere"])
def test_names_come_from_the_tasks_lists(beside: bool, tmp_path: Path) -> None:
    raw, out = write_codiesp(tmp_path / "raw"), tmp_path / "out"
    lists = write_names((raw if beside else tmp_path) / "codiesp_codes")
    arguments = ["prepare", "codiesp", "--raw", str(raw), "--out", str(out)]
    done = CliRunner().invoke(plant, [*arguments, *([] if beside else ["--names", str(lists)])])
    assert done.exit_code == 0, done.output
    names = {path.parent.name: path.read_text(encoding="utf-8") for path in out.glob("*/label_names.tsv")}
    assert names == {
        "es_diagnoses": "J18.9\tNeumonía, organismo no especificado\nR05\tTos\n",
        "es_procedures": "BW03ZZZ\tRadiografía simple de tórax\n",
        "en_diagnoses": "R05\tCough\n",
    }
    counts = [json.loads((out / name / PROVENANCE).read_text())["counts"] for name in names]
    assert sorted(count["labels_without_a_name"] for count in counts) == [0, 1, 2]
    assert "are missing" not in done.output


def changed(place: int, **parts: str) -> list[tuple[str, ...]]:
    """The marks, one of them with other columns."""
    names = ("case", "kind", "code", "words", "places")
    row = dict(zip(names, MARKS[place], strict=True)) | parts
    return [*MARKS[:place], tuple(row.values()), *MARKS[place + 1 :]]


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ({"marks": changed(2, words="fiebre")}, "trainX.tsv, line 3: the marked text is not what stands there"),
        ({"marks": changed(2, places="70 900")}, "trainX.tsv, line 3: a span is not inside the text of 79"),
        ({"marks": changed(2, places="5 6")}, "trainX.tsv, line 3: the mark holds no word"),
        ({"marks": changed(2, places="5-6")}, "trainX.tsv, line 3: neither a kind of code nor places"),
        ({"marks": changed(2, kind="OTRO")}, "trainX.tsv, line 3: neither a kind of code nor places"),
        ({"marks": changed(2, code="r06")}, "trainX.tsv, line 3: the case does not have this code"),
        ({"marks": changed(2, case="case-3")}, "trainX.tsv, line 3: there is no text of this case"),
        ({"marks": [*MARKS, ("case-1", KINDS["D"])]}, "trainX.tsv, line 6: not 5 columns"),
        ({"diagnoses": [*DIAGNOSES, ("case-1", "")]}, "trainD.tsv, line 4: not 2 columns, or an empty one"),
        ({"procedures": [*PROCEDURES, ("case-9", "x")]}, "trainP.tsv, line 2: there is no text of this case"),
        ({"diagnoses": [], "procedures": [], "marks": []}, "es_diagnoses: no document for training has a label"),
    ],
)  # fmt: skip
def test_mistakes(train: dict[str, Any], message: str, tmp_path: Path) -> None:
    raw = write_codiesp(tmp_path / "raw", **train)
    with pytest.raises(DataError, match=message.replace(".", r"\.")) as caught:
        prepare_codiesp(raw, tmp_path / "out")
    assert not any(word in str(caught.value) for word in ("tos.", "fiebre", "Mujer"))
    assert not (tmp_path / "out").exists()


def test_a_folder_without_the_release_or_with_two(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no trainX\.tsv in it"):
        prepare_codiesp(tmp_path / "nothing", tmp_path / "out")
    for name in ("v3", "v4"):
        write_codiesp(tmp_path / "raw" / name)
    with pytest.raises(DataError, match="2 releases in it"):
        prepare_codiesp(tmp_path / "raw", tmp_path / "out")


def test_texts_are_marked_with_the_line_ends_that_they_have(tmp_path: Path) -> None:
    text = TEXT.replace("\n", "\r\n")
    marks = [("case-1", KINDS["D"], "j18.9", "neumonía", f"{text.index('neum')} {text.index('neum') + 8}")]
    raw = write_codiesp(
        tmp_path / "raw", texts={"case-1": text}, english={"case-1": "x"}, diagnoses=[("case-1", "j18.9")],
        procedures=[], marks=marks,
    )  # fmt: skip
    with pytest.raises(DataError, match=r"es_procedures: no document for training"):
        prepare_codiesp(raw, tmp_path / "out")
    (raw / "final_dataset_v4_to_publish" / "train" / "trainP.tsv").write_text("case-1\tbw03zzz\n")
    prepare_codiesp(raw, tmp_path / "out")
    assert marked_words(tmp_path / "out" / "es_diagnoses" / "train.txt") == [{"J18.9": ["neumonía"]}]
