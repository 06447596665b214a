"""Predictions as FHIR R4."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.model.code_systems import ICD10CM

NOTES = "filler1 sign3x\nsign5x sign5x\n\n"
SYSTEM = "http://example.org/labels"


def predict_fhir(model: Path, *arguments: str, given: str = NOTES) -> Result:
    return CliRunner().invoke(plant, ["predict", str(model), "--device", "cpu", "--output", "fhir", *arguments], given)


@pytest.fixture(scope="module")
def lines(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    names = tmp_path_factory.mktemp("names") / "names.tsv"
    names.write_text("L3\tthe third\n", encoding="utf-8")
    outcome = predict_fhir(trained, "--system", SYSTEM, "--names", str(names), "--threshold", "0.5")
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
    outcome = predict_fhir(trained, "--system", SYSTEM, "--threshold", "0.999999999")
    *read, unknown = (set(json.loads(line)) for line in outcome.stdout.splitlines())
    assert read == [{"resourceType", "identifier", "type"}] * 2
    assert unknown == {"resourceType", "identifier", "type", "meta"}  # the model knows no word of it


def test_a_code_system_without_fhir_is_refused(trained: Path) -> None:
    outcome = CliRunner().invoke(plant, ["predict", str(trained), "--system", SYSTEM], NOTES)
    assert outcome.exit_code
    assert "--output fhir" in outcome.output
    outcome = predict_fhir(trained)
    assert outcome.exit_code == 2
    assert "--system" in outcome.output


def test_hints_stand_beside_their_codes(coded: Path, wrong_side: str) -> None:
    bundle = pytest.importorskip("fhir.resources.R4B.bundle", reason="needs fhir.resources").Bundle
    [line] = predict_fhir(coded, "--system", ICD10CM, "--top", "3", given=wrong_side).stdout.splitlines()
    assert json.loads(bundle.model_validate_json(line).model_dump_json()) == json.loads(line)
    hints = {}
    for entry in json.loads(line)["entry"]:
        found = [one["extension"] for one in entry["resource"]["extension"] if one["url"].endswith(":hint")]
        hints[entry["resource"]["code"]["coding"][0]["code"]] = found
    [[rule, text, start, end]] = hints["S72.001A"]
    assert (rule, start["valueInteger"]) == ({"url": "rule", "valueCode": "laterality"}, wrong_side.index("left"))
    assert "the words that speak for it say left" in text["valueString"]
    assert end["valueInteger"] == start["valueInteger"] + len("left")
    assert hints["E10.9"][0][2] == {"url": "code", "valueCode": "E11.9"}
