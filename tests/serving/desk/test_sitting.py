"""A whole sitting in Chromium, page and 20 cases in Spanish: two coders, a lead, and what the exports say of it."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from desk_robot import Robot, chromium
from running_server import Running

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.cli import plant
from plant_plugin.data.label_names import label_names
from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.access import Limits, server_names
from plant_plugin.serving.app import create_app
from plant_plugin.serving.desk.page import texts
from plant_plugin.serving.desk.store import Desk

pytestmark = pytest.mark.browser
MODEL = Path(__file__).resolve().parents[3] / "benchmarks" / "models" / "plant_plugin_models" / "codiesp-es"
SPANISH = texts("es")["page"]
CASES, LIMITS = 20, Limits(drain_seconds=0)
FINDINGS = (
    "hipertensión arterial", "diabetes mellitus tipo 2", "fiebre", "tos", "dolor torácico", "anemia", "dolor abdominal",
    "vómitos", "insuficiencia renal aguda", "fibrilación auricular", "asma", "cefalea", "neumonía", "diarrea", "disnea",
)  # fmt: skip
ADDED = "E66.9"  # which the model does not suggest for them; coders find it by its number
Words = dict[str, list[str]]  # label -> the words that prove it


def case(number: int) -> str:
    """Return a made-up case; no two are alike."""
    first, second, third, fourth = (FINDINGS[(number + 4 * part) % len(FINDINGS)] for part in range(4))
    who = f"{'Mujer' if number % 2 else 'Varón'} de {40 + number} años"
    return (
        f"{who} con {first} y {second}.\nAcude por {third}. En la exploración se objetiva {fourth}. Niega alergias.\n"
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def desk_command(*arguments: object) -> str:
    done = CliRunner().invoke(plant, ["desk", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def words_of(shown: dict[str, Any], label: str, text: str) -> list[str]:
    [code] = [one for one in shown["codes"] if one["label"] == label]
    return [text[start:end] for start, end in sorted(code["spans"])]


def look(robot: Robot) -> tuple[str, str, dict[str, Any]]:
    shown = robot.look()
    name, text = robot.page.evaluate("[doc.name, doc.text]")
    robot.press(*["k"] * robot.page.evaluate("current"))
    return name, text, shown


def go_on(robot: Robot, shown: dict[str, Any]) -> None:
    robot.press("n")
    robot.last = shown["id"]


def principal(robot: Robot, label: str) -> None:
    """Go to the code by keys, and say that it is the principal one."""
    here, there = robot.page.evaluate("label => [current, codes.findIndex((one) => one.label === label)]", label)
    robot.press(*("j" if there > here else "k") * abs(there - here), "p")


def by_ana(robot: Robot) -> dict[str, Words]:
    """All that is suggested, with the model's words; a code more, comments and doubts now and then."""
    said: dict[str, Words] = {}
    for _ in range(CASES):
        name, text, shown = look(robot)
        number, labels = int(name[-2:]), [one["label"] for one in shown["codes"] if one["predicted"]]
        assert labels, name
        if number % 5 == 3:
            robot.press("q")
        robot.press(*"e" * len(labels))
        said[name] = {label: words_of(shown, label, text) for label in labels}
        if number % 4 == 1:
            robot.press("/")
            robot.page.keyboard.type(ADDED.replace(".", "").lower())
            robot.page.wait_for_selector(f"#found li:has-text('{ADDED}')")
            robot.press("Enter")
            said[name][ADDED] = []
        if number % 2 == 0:
            principal(robot, labels[1])
        if number % 5 == 2:
            robot.press("c")
            robot.page.keyboard.type("¿Qué código es el principal?")
            robot.page.get_by_role("button", name=SPANISH["Keep"]).click()
        go_on(robot, shown)
    return said


def by_berta(robot: Robot) -> dict[str, Words]:
    """All that is suggested but the first code of each third case, without words."""
    said: dict[str, Words] = {}
    for _ in range(CASES):
        name, _, shown = look(robot)
        labels = [one["label"] for one in shown["codes"] if one["predicted"]]
        keys = ["a"] * len(labels)
        if int(name[-2:]) % 3 == 0:
            keys[0] = "r"
        robot.press(*keys)
        if int(name[-2:]) % 2 == 0:  # every second time another one than ana's
            principal(robot, labels[-1 if int(name[-2:]) % 4 else 1])
        said[name] = {label: [] for label, key in zip(labels, keys, strict=True) if key == "a"}
        go_on(robot, shown)
    return said


def by_lea(robot: Robot, splits: dict[str, set[str]], first: dict[str, str]) -> dict[str, dict[str, list[str] | None]]:
    """Each split code: taken with the coders' words in even cases, rejected (None) in odd ones; then the principal."""
    said: dict[str, dict[str, list[str] | None]] = {}
    for _ in splits:
        name, text, shown = look(robot)
        labels = [one["label"] for one in shown["codes"] if one.get("split")]
        assert set(labels) == splits[name], name
        yes = int(name[-2:]) % 2 == 0
        robot.press(*("e" if yes else "r") * len(labels))
        if int(name[-2:]) % 4 == 2:
            assert SPANISH["Split on the principal code."] in robot.page.inner_text("#remarks")
            principal(robot, first[name])
        said[name] = {label: words_of(shown, label, text) if yes else None for label in labels}
        go_on(robot, shown)
    return said


def test_twenty_cases_two_coders_a_lead_and_the_exports(browser: Any, tmp_path: Path) -> None:
    path, cases = tmp_path / "desk.sqlite", tmp_path / "cases.csv"
    with cases.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("id", "text"), *((f"HC-2026-{n:02}", case(n)) for n in range(CASES))])
    tokens = {
        name: desk_command("add-coder", path, name, "--role", role).split()[0]
        for name, role in (("ana", "coder"), ("berta", "coder"), ("lea", "lead"))
    }
    assert desk_command("add-documents", path, cases, "--coders", 2) == "20 documents added, 0 there before\n"
    predictor = Predictor.load(MODEL, device="cpu", names=label_names(("icd10",), MODEL, ()))
    desk = Desk(path)
    app = create_app(predictor, LIMITS, server_names("127.0.0.1"), desk=desk)
    with Running(app, LIMITS, log_level="warning", access_log=False) as server:
        ana, berta = (
            Robot(browser, server.url, tokens[name], at, "es-ES") for name, at in (("ana", 1280), ("berta", 390))
        )
        coders = by_ana(ana), by_berta(berta)
        for robot in (ana, berta):
            robot.page.wait_for_function(
                "said => waiting === 0 && document.querySelector('#title').innerText === said",
                arg=SPANISH["Nothing waits"],
            )
        assert all(each.keys() == {f"HC-2026-{n:02}" for n in range(CASES)} for each in coders)
        both = {name: (coders[0][name], coders[1][name]) for name in coders[0]}
        first = {name: [*one][1] for name, (one, _) in both.items() if int(name[-2:]) % 2 == 0}  # the principal codes
        splits = {name: set(one) ^ set(other) for name, (one, other) in both.items()}
        splits = {name: labels for name, labels in splits.items() if labels or int(name[-2:]) % 4 == 2}
        lead = Robot(browser, server.url, tokens["lea"], 1280, "es-ES")
        settled = by_lea(lead, splits, first)
        lead.rest()
        lead.press("d")
        lead.page.wait_for_selector("#documents-rows tr")
        assert (
            lead.page.inner_text("#documents-counts") == "pendiente: 0 · empezado: 0 · discrepante: 0 · terminado: 20"
        )
        remarks = lead.page.locator("#documents-rows .remark").all_inner_texts()
        assert sum("¿Qué código es el principal?" in one for one in remarks) == 4
        assert sum(SPANISH["unsure of {0}"].format("") in one for one in remarks) == 4
        lead.press("Escape", "g")
        lead.page.wait_for_selector("#figures[open]")
        lead.page.wait_for_selector("#figures table")
        agreement = lead.page.locator("#figures tr", has_text="ana").filter(has_text="berta").first.inner_text()
        for robot in (ana, berta, lead):
            assert robot.errors == []
    desk.close()
    gave = [sum(map(len, each.values())) for each in coders]
    agreed = sum(len(set(one) & set(other)) for one, other in both.values())
    assert SPANISH["{0} and {1}, both {2}"].format(*gave, agreed) in agreement

    expected = {
        (name, label, "ana, berta"): one[label]
        for name, (one, other) in both.items()
        for label in one
        if label in other
    }
    expected |= {
        (name, label, "lea"): words
        for name, said in settled.items()
        for label, words in said.items()
        if words is not None
    }
    assert len(settled) == 14
    assert {who for _, _, who in expected} == {"ana, berta", "lea"}
    read = {form: exported(path, tmp_path / form, form) for form in ("csv", "xlsx", "fhir")}
    codes = {form: {key: words for key, (_, words) in found.items()} for form, found in read.items()}
    assert codes == dict.fromkeys(read, expected)
    ranks = {form: {key: rank for key, (rank, _) in found.items() if rank} for form, found in read.items()}
    assert ranks["csv"] == ranks["xlsx"] == ranks["fhir"]
    assert {name: label for (name, label, _), rank in ranks["csv"].items() if rank == 1} == first
    assert {name for name, _, _ in ranks["csv"]} == set(first)
    assert set(ranks["csv"]) == {key for key in expected if key[0] in first}  # a document has an order of all its codes
    with sqlite3.connect(path) as plain:
        assert plain.execute("SELECT count(*) FROM changes WHERE kind = 'done'").fetchone() == (2 * CASES + 14,)


def exported(path: Path, out: Path, form: str) -> dict[tuple[str, str, str], tuple[int, list[str]]]:
    """Return what an export says: document, code and coders, with rank (0: none) and words."""
    arguments = ["--system", "http://hl7.org/fhir/sid/icd-10-cm"] if form == "fhir" else []
    desk_command("export", path, "--out", out, "--form", form, *arguments)
    if form == "fhir":
        return dict(conditions(out / "accepted.ndjson"))
    if form == "csv":
        with (out / "accepted.csv").open(encoding="utf-8", newline="") as stream:
            rows: list[tuple[Any, ...]] = [tuple(row) for row in csv.reader(stream)]
    else:
        openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl")
        rows = list(openpyxl.load_workbook(out / "accepted.xlsx").active.iter_rows(values_only=True))
    found = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert {row["known"] for row in found} == {"yes"}
    return {
        (row["document"], row["code"], row["coder"]): (
            int(row["rank"] or 0),
            row["evidence"].split(" … ") if row["evidence"] else [],
        )
        for row in found
    }


def conditions(path: Path) -> Iterator[tuple[tuple[str, str, str], tuple[int, list[str]]]]:
    bundle_type = pytest.importorskip("fhir.resources.R4B.bundle", reason="needs fhir.resources").Bundle
    for line in path.read_text(encoding="utf-8").splitlines():
        bundle = json.loads(line)
        bundle_type.model_validate(bundle)
        name = bundle["identifier"]["value"]
        text = case(int(name[-2:]))
        resources = {entry["fullUrl"]: entry["resource"] for entry in bundle["entry"]}
        ranks: dict[str, int] = {}
        for address in [address for address, one in resources.items() if one["resourceType"] == "Encounter"]:
            ranks = {each["condition"]["reference"]: each["rank"] for each in resources.pop(address)["diagnosis"]}
        for address, one in resources.items():
            assert one["verificationStatus"]["coding"][0]["code"] == "confirmed"
            [coding] = one["code"]["coding"]
            assert coding["system"] == "http://hl7.org/fhir/sid/icd-10-cm"
            places = [[part["valueInteger"] for part in each["extension"]] for each in one.get("extension", ())]
            yield (
                (name, coding["code"], one["recorder"]["display"]),
                (
                    ranks.get(address, 0),
                    [text[start:end] for start, end in places],
                ),
            )
