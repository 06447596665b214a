"""``plant desk export``: every form writes the documents' own ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.cli import plant
from plant_plugin.commands.desk_export import ACCEPTED, TRAINING


def run(*arguments: object) -> Result:
    return CliRunner().invoke(plant, ["desk", *map(str, arguments)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    desk, coded = tmp_path / "desk.sqlite", tmp_path / "coded.csv"
    coded.write_text("id,text,labels\nadmission-7,fever and cough,R50.9 R05.9\nadmission-8,a rash,R21\n")
    assert run("add-coder", desk, "ana").exit_code == 0
    done = run("add-documents", desk, coded, "--coded-by", "ana")
    assert done.exit_code == 0, done.output
    return desk


@pytest.mark.parametrize("form", [*TRAINING, *ACCEPTED])
def test_every_form_has_the_documents_own_ids(path: Path, tmp_path: Path, form: str) -> None:
    done = run("export", path, "--out", tmp_path / form, "--form", form)
    assert done.exit_code == 0, done.output
    assert "admission" not in done.output
    if form == "xlsx":
        openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl")
        rows = openpyxl.load_workbook(tmp_path / form / "accepted.xlsx").worksheets[0].iter_rows(values_only=True)
        content = str(list(rows))
    else:
        names = {"csv": "accepted.csv", "fhir": "accepted.ndjson"}
        content = (tmp_path / form / names.get(form, "documents.tsv")).read_text()
    assert "admission-7" in content
    assert "admission-8" in content


def test_only_fhir_takes_a_code_system(path: Path, tmp_path: Path) -> None:
    refused = run("export", path, "--out", tmp_path / "out", "--form", "csv", "--system", "urn:codes")
    assert refused.exit_code == 2
    assert "only FHIR names the code system" in refused.output
