"""``plant predict --output fhir``, against the package that knows the specification."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.errors import ConfigError
from plant_plugin.model.fhir import ICD10CM, system_of

NOTES = "filler1 sign3x\nsign5x sign5x\n\n"
SYSTEM = "http://example.org/labels"


def predict(model: Path, *arguments: str) -> Result:
    return CliRunner().invoke(plant, ["predict", str(model), "--device", "cpu", "--output", "fhir", *arguments], NOTES)


@pytest.fixture(scope="module")
def lines(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    names = tmp_path_factory.mktemp("names") / "names.tsv"
    names.write_text("L3\tthe third\n", encoding="utf-8")
    outcome = predict(trained, "--system", SYSTEM, "--names", str(names), "--threshold", "0.5")
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout.splitlines()


def test_each_line_is_a_bundle_of_the_specification(lines: list[str]) -> None:
    bundle = pytest.importorskip("fhir.resources.R4B.bundle", reason="needs fhir.resources").Bundle
    for number, line in enumerate(lines, 1):
        read = bundle.model_validate_json(line)
        assert read.type == "collection"
        assert read.identifier.value == str(number)
        assert json.loads(read.model_dump_json()) == json.loads(line)  # nothing is passed over


def test_the_specification_is_asked(lines: list[str]) -> None:
    bundle = pytest.importorskip("fhir.resources.R4B.bundle", reason="needs fhir.resources").Bundle
    wrong = json.loads(lines[0])
    del wrong["entry"][0]["resource"]["subject"]
    with pytest.raises(ValueError, match="subject"):
        bundle.model_validate(wrong)


def test_conditions_are_suggestions_with_score_and_place(lines: list[str], trained: Path) -> None:
    (prediction,) = Predictor.load(trained, device="cpu").predict(["filler1 sign3x"], threshold=0.5)
    resources = [entry["resource"] for entry in json.loads(lines[0])["entry"]]
    assert [one["code"]["coding"][0]["code"] for one in resources] == [one.label for one in prediction.labels]
    third = resources[0]
    assert third["code"]["coding"] == [{"system": SYSTEM, "code": "L3", "display": "the third"}]
    assert third["verificationStatus"]["coding"][0]["code"] == "unconfirmed"
    assert third["meta"]["tag"][0]["code"] == "machine-suggestion"
    assert set(third["subject"]) == {"extension"}  # nobody is named
    probability, *evidence = third["extension"]
    assert probability["valueDecimal"] == pytest.approx(prediction.labels[0].probability, abs=1e-5)
    places = [{part["url"]: next(iter(reversed(part.values()))) for part in one["extension"]} for one in evidence]
    assert any(one["start"] <= len("filler1 ") and one["end"] == len("filler1 sign3x") for one in places)


def test_no_text_is_written(lines: list[str]) -> None:
    assert "sign" not in "".join(lines)
    assert "filler" not in "".join(lines)


def test_addresses_of_entries_differ(lines: list[str]) -> None:
    urls = [entry["fullUrl"] for line in lines for entry in json.loads(line).get("entry", [])]
    assert len(set(urls)) == len(urls) > 1


def test_a_document_without_labels_has_no_entries(trained: Path) -> None:
    outcome = predict(trained, "--system", SYSTEM, "--threshold", "0.999999999")
    assert [set(json.loads(line)) for line in outcome.stdout.splitlines()] == [
        {"resourceType", "identifier", "type"}
    ] * 3


def test_the_code_system_is_known_or_asked_for(trained: Path) -> None:
    assert system_of(["I10", "e11.9", "Z87.891"], None) == ICD10CM
    assert system_of(["anything"], SYSTEM) == SYSTEM
    with pytest.raises(ConfigError, match=r"'401\.9' is not written as ICD-10-CM's"):
        system_of(["I10", "401.9"], None)
    for wrong in ("not an address", "icd-9-cm"):
        with pytest.raises(ConfigError, match="no address of a code system"):
            system_of(["I10"], wrong)


def test_a_code_system_without_fhir_is_refused(trained: Path) -> None:
    outcome = CliRunner().invoke(plant, ["predict", str(trained), "--system", SYSTEM], NOTES)
    assert outcome.exit_code
    assert "--output fhir" in outcome.output
    outcome = predict(trained)
    assert outcome.exit_code == 2
    assert "--system" in outcome.output
