"""``plant predict --promise-by``, from the held-out table to the labels that are listed."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant

WORDS = {"A": "fever cough chill", "B": "ankle cast bone"}


def rows(number: int, seed: int) -> list[dict[str, str]]:
    """Documents of two wards, of which one writes of other things too."""
    chance, made = random.Random(seed), []
    for place in range(number):
        label, other = chance.choice([("A", "B"), ("B", "A")])
        words = [chance.choice(WORDS[label].split()) for _ in range(1 + place % 5)]
        ward = chance.choice(["north", "south"])
        if ward == "south":
            words.append(chance.choice(WORDS[other].split()))
        made.append({"text": " ".join(words), "labels": label, "ward": ward, "id": f"p{place}"})
    return made


def table(path: Path, documents: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ["text", "labels", "ward", "id"])
        writer.writeheader()
        writer.writerows(documents)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(plant, [*map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and its tables: ``train.csv``, ``held.csv`` and ``new.csv``."""
    folder = tmp_path_factory.mktemp("groups")
    for name, number, seed in (("train", 120, 1), ("held", 90, 2), ("new", 30, 3)):
        table(folder / f"{name}.csv", rows(number, seed))
    flags = ["--strategy", "planted_scores", "--val_size", 60, "--result_dir", folder / "runs"]
    done = run("train", folder / "train.csv", *flags, "--cache_dir", folder / "cache")
    assert done.exit_code == 0, done.output
    [made] = (folder / "runs").iterdir()
    made.rename(folder / "model")
    return folder


def predict(folder: Path, *arguments: object) -> Result:
    return run("predict", folder / "model", folder / "new.csv", *arguments)


def listed(outcome: Result) -> dict[str, int]:
    assert outcome.exit_code == 0, outcome.output
    return {row["id"]: len(row["labels"]) for row in map(json.loads, outcome.stdout.splitlines())}


def test_each_ward_has_its_promise_and_documents_keep_order_and_id(folder: Path) -> None:
    by_ward = ("--promise", "0.9", "--promise-by", "ward", "--held-out", folder / "held.csv")
    outcome = predict(folder, *by_ward)
    assert list(listed(outcome)) == [f"p{place}" for place in range(30)]
    said = [line.split(":")[0].strip() for line in outcome.stderr.splitlines() if "held-out document" in line]
    assert said == ["north", "south"]
    assert outcome.stdout == predict(folder, *by_ward, "--workers", "2").stdout
    assert outcome.stdout == predict(folder, *by_ward, "--batch-size", "1").stdout


def test_by_length_the_files_may_be_of_any_form(folder: Path, tmp_path: Path) -> None:
    held = tmp_path / "held.txt"
    held.write_text("".join(f"{row['labels']}\t{row['text']}\n" for row in rows(90, 2)), encoding="utf-8")
    outcome = predict(folder, "--promise", "0.8", "--promise-by", "length", "--held-out", held)
    assert len(listed(outcome)) == 30
    assert [word for word in ("short:", "middle:", "long:") if word in outcome.stderr] == ["short:", "middle:", "long:"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--promise 0.9 --promise-by ward", "one says little without the other"),
        ("--promise 0.9 --held-out held.csv", "one says little without the other"),
        ("--promise-by ward --held-out held.csv", "nothing is promised"),
        ("--promise 0.9 --promise-by floor --held-out held.csv", "there is no column 'floor'"),
        ("--promise 0.9 --promise-by id --held-out held.csv", "90 of 90 groups cannot be promised 0.9"),
        ("--promise 0.9 --promise-by ward --held-out train.csv", "the model was trained on this file"),
        ("--promise 0.9 --promise-by ward --held-out held.csv --ray", "workers of a cluster know no groups"),
        ("--promise 0.9 --promise-by ward --held-out held.txt", "a group is a column of one table"),
    ],
)
def test_what_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch, flags: str, message: str) -> None:
    monkeypatch.chdir(folder)
    (folder / "held.txt").write_text("A\tfever\n", encoding="utf-8")
    outcome = predict(folder, *flags.split())
    assert outcome.exit_code != 0
    assert message in outcome.output
    assert not outcome.stdout


def test_several_files_have_no_column(folder: Path) -> None:
    outcome = predict(
        folder, folder / "held.csv", "--promise", "0.9", "--promise-by", "ward", "--held-out", folder / "held.csv"
    )
    assert "a group is a column of one table" in outcome.output


def test_a_new_document_without_a_ward_is_refused_by_its_number(folder: Path, tmp_path: Path) -> None:
    (new := tmp_path / "new.jsonl").write_text(
        '{"text": "fever", "ward": "north"}\n{"text": "cast"}\n', encoding="utf-8"
    )
    flags = ("--promise", "0.9", "--promise-by", "ward", "--held-out", folder / "held.csv")
    outcome = run("predict", folder / "model", new, *flags)
    assert "document 2: no value under 'ward'" in outcome.output


def test_fhir_says_what_is_promised(folder: Path) -> None:
    flags = ("--output", "fhir", "--system", "urn:example:letters", "--promise", "0.9")
    by_ward = ("--promise-by", "ward", "--held-out", folder / "held.csv")
    for outcome in (predict(folder, *flags), predict(folder, *flags, *by_ward)):
        assert outcome.exit_code == 0, outcome.output
        [tag] = json.loads(outcome.stdout.splitlines()[0])["meta"]["tag"]
        assert (tag["system"], tag["code"]) == ("urn:plant-plugin:fhir:promise", "promise 0.9")
    assert "meta" not in json.loads(predict(folder, *flags[:4]).stdout.splitlines()[0])
