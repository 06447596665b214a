"""``plant explain``: on the terminal and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from plant_plugin.cli import plant


def explain(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(plant, ["explain", "--input", "text", *arguments, "--device", "cpu"], input=given)


def test_on_the_terminal(trained: Path) -> None:
    outcome = explain(str(trained), "--label", "L3", given="filler1 [bold] sign3x\nfiller2 sign5x")
    assert outcome.exit_code == 0, outcome.output
    assert "L3: " in outcome.output
    assert "= words " in outcome.output
    assert re.search(r"\+ planted scores [+-]\d", outcome.output)
    assert re.search(r"^  planted scores: .*sign3x [+-]\d", outcome.output, re.MULTILINE)
    assert "[bold]" in outcome.output
    assert "L5" not in outcome.output


def test_as_json(trained: Path) -> None:
    text = "filler1 sign3x\nfiller2"
    outcome = explain(str(trained), "--json", "--label", "L3", given=text)
    found = json.loads(outcome.stdout)
    [label] = found["labels"]
    total = sum(word["contribution"] for word in label["words"]) + label["bias"] + label["planted"] + label["elsewhere"]
    assert total == pytest.approx(label["logit"], abs=1e-3)
    assert {text[word["start"] : word["end"]] for word in label["words"]} == {"filler1", "sign3x", "filler2"}
    assert all(word["text"] == text[word["start"] : word["end"]] for word in label["words"])
    two = json.loads(explain(str(trained), "--json", "--beside", f"again={trained}", given=text).stdout)
    assert [one["model"] for one in two] == [trained.name, "again"]


def test_side_by_side_each_model_explains_what_any_predicts(trained: Path, untrained: Callable[..., Path]) -> None:
    torch.manual_seed(0)
    text, other = "filler1 sign3x filler2 sign1x", untrained()
    asked = ("--json", "--top", "1")
    alone = [json.loads(explain(str(model), *asked, given=text).stdout) for model in (trained, other)]
    best = {one["labels"][0]["label"] for one in alone}
    assert len(best) == 2
    two = json.loads(explain(str(trained), *asked, "--beside", str(other), given=text).stdout)
    assert [{label["label"] for label in one["labels"]} for one in two] == [best, best]


def test_one_of_many_documents(trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"id": "a", "text": "sign1x"}\n{"id": "b", "text": "sign2x"}\n')
    options = ("--input", "jsonl", "--json", "--top", "1")
    for document, label in (("a", "L1"), ("b", "L2")):
        found = json.loads(explain(str(trained), str(path), *options, "--document", document).stdout)
        assert found["labels"][0]["label"] == label
    for arguments, message in (((), "more than one document"), (("--document", "c"), "no document has this id")):
        outcome = explain(str(trained), str(path), *options, *arguments)
        assert outcome.exit_code == 2
        assert message in outcome.output
    whole = explain(str(trained), str(path), "--document", "a")
    assert "say with --input what it is" in whole.output
    path.write_text('{"id": "a", "text": "sign1x"}\n{"id": "a", "text": "sign2x"}\n')
    twice = explain(str(trained), str(path), *options, "--document", "a")
    assert "more than one document has this id" in twice.output
    empty = explain(str(trained), "--input", "lines", given="")
    assert "no document is here" in empty.output


def test_a_label_that_is_not_there(trained: Path) -> None:
    outcome = explain(str(trained), "--label", "L33", given="a")
    assert outcome.exit_code == 2
    assert "does not know the label 'L33'" in outcome.output
