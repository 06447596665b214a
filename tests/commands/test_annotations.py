from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant

TEXT = "no sugar but cough"
ROW = {"text": TEXT, "label": [[3, 8, "ICD10:E11.9"], [3, 8, "Negated"], [13, 18, "ICD10:R05"], [13, 99, "ICD10:R05"]]}


def prepare(tool: str, raw: Path, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(plant, ["prepare", tool, "--raw", str(raw), "--out", str(raw.parent / "out"), *options])
    return done.exit_code, done.output


def test_the_options_say_what_counts(tmp_path: Path) -> None:
    raw = tmp_path / "x.jsonl"
    raw.write_text(json.dumps(ROW))
    assert prepare("doccano", raw)[0] == 2
    options = ["--skip-bad", "--repair", "--without", "Negated", "--without", "Unsure", "--terminology", "ICD10"]
    code, shown = prepare("doccano", raw, *options)
    assert code == 0, shown
    for counted in ("bad marks left out", "marks left out with Negated", "marks left out with Unsure"):
        assert counted in shown
    assert (tmp_path / "out" / "train.txt").read_text() == f"R05\t{TEXT}\n"
    said = json.loads((tmp_path / "out" / "provenance.json").read_text())["options"]
    assert said == {
        "without": ["Negated", "Unsure"], "terminologies": ["ICD10"], "annotators": "union", "skip_bad": True,
        "repair": True,
    }  # fmt: skip


@pytest.mark.parametrize("tool", ["brat", "labelstudio", "doccano"])
def test_every_tool_has_them(tool: str, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    code, shown = prepare(tool, tmp_path / "raw", "--skip-bad", "--repair", "--without", "A", "--terminology", "B",
                          "--annotators", "majority")  # fmt: skip
    assert code == 2
    assert "No such option" not in shown
