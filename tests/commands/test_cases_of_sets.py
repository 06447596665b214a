"""Sets and code systems that people brought, as files beside the checkout: each is read, or refused with what to do."""

from __future__ import annotations

import re
import shlex
import shutil
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant

CASES = Path(__file__).parents[3] / "shared" / "cases"
FOLDERS = sorted(path for kind in ("fhir_*", "xmc_*") for path in CASES.glob(kind))
WRITTEN = {
    "xmc_latin1_json": "0\tcafé\n",
    "xmc_raw_json": "0\tred\n",
    "xmc_small_sets_with_splits": "0 1\ta c\n2\tb\n1\tc\n",
}


@pytest.mark.skipif(not FOLDERS, reason="../shared/cases is absent: the cases are not beside this checkout")
def test_no_case_is_passed_over() -> None:
    assert {folder.name for folder in FOLDERS} >= {*WRITTEN, "fhir_icd10gm_called_cm"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_case_is_read_or_its_cure_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = tmp_path / "case"
    shutil.copytree(folder, case, copy_function=shutil.copy)
    case.chmod(0o755)
    monkeypatch.chdir(case)
    outcomes = []
    for call in re.split("; *", (folder / "cmd").read_text().partition("|")[0].strip()):
        words = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in shlex.split(call)[1:]]
        outcomes.append(CliRunner().invoke(plant, list(chain(*words))))
    outcome = outcomes[-1]
    assert "Traceback" not in outcome.output
    if folder.name.startswith("fhir"):
        assert outcome.exit_code == 2
        assert "--system" in outcome.output
        assert "resourceType" not in outcome.stdout
    else:
        assert outcome.exit_code == 0, outcome.output
        content = (case / "out" / "train.txt").read_text(encoding="utf-8")
        assert content == WRITTEN.get(folder.name, content)
