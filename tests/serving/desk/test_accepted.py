"""Accepted codes as CSV, Excel and FHIR, by the documents' own ids."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import code, coder

from plant_plugin.errors import DataError
from plant_plugin.serving.desk.accepted import HEADER, as_bytes, ids_table, own_ids, write_accepted
from plant_plugin.serving.desk.store import Decision, Desk


def test_a_row_has_the_documents_own_id_code_coders_time_and_evidence(coded: Desk) -> None:
    counts = Counter[str]()
    rows = list(csv.DictReader(io.StringIO(as_bytes(coded, "csv", counts).decode())))
    assert [(row["document"], row["code"], row["coder"]) for row in rows] == [
        ("a", "R05", "ana, berta"),
        ("b", "R50", "lea"),  # the lead's word alone counts
    ]
    assert [row["evidence"] for row in rows] == ["cough", "fever"]
    assert [row["places"] for row in rows] == ["11-16", "0-5"]
    assert all(row["time"].startswith("20") and row["time"].endswith("+00:00") for row in rows)
    assert counts == {"documents": 2, "codes": 2, "codes_left_out_because_coders_are_split": 2}


def test_a_document_without_codes_is_not_lost_and_no_cell_is_a_formula(desk: Desk) -> None:
    one, two = desk.add_documents([("=1+1", "fever"), ("case\x02", "cough")])
    who = coder(desk, "ana")
    code(desk, who, one)
    code(desk, who, two, Decision("R05", "accept", []))
    rows = list(csv.reader(io.StringIO(as_bytes(desk, "csv", Counter()).decode())))
    assert rows[1] == ["'=1+1", "", "", "", "", "", "", ""]
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl")
    [sheet] = openpyxl.load_workbook(io.BytesIO(as_bytes(desk, "xlsx", Counter()))).worksheets
    cells = [[cell.value for cell in row] for row in sheet.iter_rows()]
    assert cells[0] == list(HEADER)
    assert cells[1][0] == "=1+1"
    assert sheet["A2"].data_type == "s"
    assert cells[2][:4] == ["case ", "R05", None, "ana"]


def test_a_code_that_the_desk_does_not_know_is_marked_and_no_code_of_a_system(desk: Desk) -> None:
    who, names = coder(desk, "ana"), [("a", "fever and cough")]
    desk.import_coded(
        who, [(*names[0], [Decision("R05", "add", []), Decision("fever!", "add", [])])], unknown={"fever!"}
    )
    counts = Counter[str]()
    rows = list(csv.DictReader(io.StringIO(as_bytes(desk, "csv", counts).decode())))
    assert [(row["code"], row["known"]) for row in rows] == [("R05", "yes"), ("fever!", "no")]
    assert counts["codes_that_the_desk_does_not_know"] == 1


def test_numbers_and_lines_of_other_exports_have_their_ids(coded: Desk) -> None:
    assert ids_table(coded, "libmultilabel") == "number\tdocument\tprincipal\n1\ta\t\n2\tb\t\n"
    numbers = {str(number): name for number, name in own_ids(coded)}
    written = [line.split("\t") for line in ids_table(coded, "brat").splitlines()[1:]]
    assert written == [[number, name, ""] for number, name in numbers.items() if name in "ab"]


def test_where_nothing_is_finished_nothing_is_written(desk: Desk, tmp_path: Path) -> None:
    desk.add_documents([("secretpatient", "fever")])
    with pytest.raises(DataError, match="no document is finished") as error:
        write_accepted(desk, tmp_path / "out", "csv")
    assert "secretpatient" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_codes_have_their_ranks_and_a_document_its_principal_code(desk: Desk) -> None:
    who, [document] = coder(desk, "ana"), desk.add_documents([("a", "fever and cough")])
    code(desk, who, document, Decision("R05", "add", []), Decision("R50", "add", []), order=["R50", "R05"])
    rows = list(csv.DictReader(io.StringIO(as_bytes(desk, "csv", Counter()).decode())))
    assert [(row["code"], row["rank"]) for row in rows] == [("R50", "1"), ("R05", "2")]
    for form in ("libmultilabel", "brat"):
        assert ids_table(desk, form) == "number\tdocument\tprincipal\n1\ta\tR50\n"
