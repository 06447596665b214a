"""From an archive of the extreme classification repository to a table, by the packaged configurations."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click import Command
from click.testing import CliRunner
from made_up_xmc import Documents, text_lines, write_json

from plant_plugin.cli import libmultilabel, plant

pytestmark = pytest.mark.integration

TOPICS = 12
FIELD = ["P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5"]
SMALLER = {
    "eurlex4k": [],
    "amazon670k": ["--val_size", "20", "--shortlist.size", "8"],  # of 12 labels
}


def made_up(number: int, seed: int) -> Documents:
    """Documents that have the words of their one to three topics among others."""
    draw = random.Random(seed)
    found = []
    for _ in range(number):
        topics = sorted(draw.sample(range(TOPICS), draw.randint(1, 3)))
        words = [f"{part}{topic}" for topic in topics for part in ("heart", "lung")] + ["the", "a", f"w{draw.random()}"]
        found.append(([f"topic {topic:02}" for topic in topics], " ".join(draw.sample(words, len(words)))))
    return found


def invoke(command: Command, *arguments: str) -> str:
    done = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def result_of(kind: str) -> dict[str, Any]:
    (path,) = Path("runs").glob(f"*_{kind}_*/result.json")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SMALLER)
def test_from_the_archive_to_the_table(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("archive").mkdir()
    test = made_up(30, seed=2)
    write_json(Path("archive"), made_up(120, seed=1), test)
    own = [int(labels[0].split()[1]) for labels, _ in test]  # every document is the first of its labels
    text_lines(Path("archive/filter_labels_test.txt"), [f"{document} {label}" for document, label in enumerate(own)])
    invoke(plant, "prepare", "xmc", "archive", f"data/{name}")
    given = ["--test_filter_file", f"data/{name}/test_filter.txt"]
    invoke(libmultilabel, "--config", f"plant_{name}.yml", *given, *SMALLER[name])
    invoke(libmultilabel, "--config", f"linear_{name}.yml", *given)
    results = {kind: result_of(f"{kind}_{name}") for kind in ("plant", "linear")}
    left = sum(len(labels) - 1 for labels, _ in test) / len(test)
    for result in results.values():
        assert set(FIELD) < set(result["metrics"])
        assert result["counts"]["documents"] == len(test)
        # Of one label fewer a document no more hits are possible: unfiltered, P@5 of these easy texts is above it.
        assert left / 5 * 0.6 < result["metrics"]["P@5"] <= left / 5
    assert results["plant"]["hashes"]["test_filter"] == results["linear"]["hashes"]["test_filter"]
    folders = [str(path) for path in sorted(Path("runs").iterdir())]
    table = invoke(plant, "compare", *folders, "--baseline", "linear-tree", "--columns", "xmc", "--resamples", "20")
    head = next(line for line in table.splitlines() if line.startswith("|"))
    assert [cell.strip() for cell in head.split("|") if "P@" in cell] == FIELD
    invoke(libmultilabel, "--config", f"linear_{name}.yml", "--result_dir", "unfiltered")
    other = [str(path) for path in Path("unfiltered").iterdir()]
    refused = CliRunner().invoke(plant, ["compare", folders[-1], *other, "--baseline", "linear-tree"])
    assert refused.exit_code
    assert "filter" in refused.output
