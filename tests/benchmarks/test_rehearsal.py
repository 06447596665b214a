"""The dress rehearsal at a small share of its size: its tables, its commands, its page."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from made_up_mimic import CODE_HEADER, NAME_HEADER, NOTE_HEADER
from test_mimic_iv import DIAGNOSES, DISCHARGE, PROCEDURES

ROOT = Path(__file__).resolve().parents[2]
REHEARSE = ROOT / "benchmarks" / "rehearsal" / "rehearse.py"
SHARE = 0.003
SMALL = ["--max_seq_length", "60", "--network_config.hidden_size", "16", "--network_config.pool_size", "8"]

pytestmark = pytest.mark.integration


def rehearse(what: str, folder: Path, *options: str) -> str:
    """What it prints."""
    command = [sys.executable, REHEARSE, what, folder, "--share", str(SHARE), "--page", folder / "page.md", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows(path: Path) -> tuple[list[str], int]:
    """Columns of a table whose rows are lines, and how many rows it has."""
    header, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    return header.replace('"', "").split(","), len(lines)


def test_mimic3_from_its_tables_to_the_page(tmp_path: Path) -> None:
    first = rehearse("mimic3", tmp_path, "--steps", "2", *SMALL)
    raw = tmp_path / "mimic3" / "mimic-iii"
    for kind, number, names in (("DIAGNOSES", 651_047, 14_567), ("PROCEDURES", 240_095, 3_882)):
        assert rows(raw / f"{kind}_ICD.csv.gz") == (CODE_HEADER, round(number * SHARE))
        assert rows(raw / f"D_ICD_{kind}.csv.gz") == (NAME_HEADER, round(names * SHARE))
    with gzip.open(raw / "NOTEEVENTS.csv.gz", "rt") as stream:
        assert stream.readline().replace('"', "").strip().split(",") == NOTE_HEADER
    records = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "mimic3" / "records").glob("*.json")}
    assert set(records) == {"tables", "prepare", "count", "relevance", "stages", "scores"}
    assert all(0 < record["cpu_s"] and record["peak_bytes"] > 2**24 for record in records.values())
    page = (tmp_path / "page.md").read_text()
    assert f"| note rows | 2,083,180 | {round(2_083_180 * SHARE):,} |" in page
    assert f"| train | 47,723 | {round(47_723 * SHARE):,} |" in page
    assert "| stage 1 | 2 of 5 |" in page  # 143 documents in batches of 32
    assert "| planted scores solved and weighed |" in page
    assert f"Shares of the true size: {SHARE}" in page
    assert first.count("s of processor") == len(records)
    assert "s of processor" not in rehearse("mimic3", tmp_path)  # all of it has its record
    assert (tmp_path / "page.md").read_text() == page


def test_mimic4_is_prepared_and_counted(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    other = "## 600,000 documents of the extreme classification repository's form\n\nmeasured elsewhere\n"
    (tmp_path / "page.md").write_text(f"# As it was\n\n## MIMIC-IV: `plant_mimic4.yml`\n\nof old\n\n{other}")
    rehearse("mimic4", tmp_path, "--only", "tables,prepare,count")
    hosp = tmp_path / "mimic4" / "mimic-iv" / "hosp"
    for kind, header, number in (("diagnoses", DIAGNOSES, 4_756_326), ("procedures", PROCEDURES, 669_186)):
        columns, found = rows(hosp / f"{kind}_icd.csv.gz")
        assert columns == header
        assert abs(found - number * SHARE) <= 1  # two versions, each rounded
    with gzip.open(tmp_path / "mimic4" / "mimic-iv-note" / "note" / "discharge.csv.gz", "rt") as stream:
        assert stream.readline().strip().split(",") == DISCHARGE
    page = (tmp_path / "page.md").read_text()
    assert f"| discharge summaries | 331,793 | {round(331_793 * SHARE):,} |" in page
    [documents] = re.findall(r"\| documents \| 122,279 \| ([\d,]+) \|", page)
    # of the few admissions of a tiny share one or two may have rare codes alone, which are left out
    assert 0.98 * 122_279 * SHARE <= int(documents) <= round(122_279 * SHARE)
    assert page.endswith(other)
    assert "of old" not in page
