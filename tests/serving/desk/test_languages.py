"""The desk in German and Spanish browsers: what they show, what is chosen by hand, and that no English is left."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from desk_coding import code, coder
from desk_robot import BROKEN, Robot, chromium
from desk_sentences import PLACES
from running_server import Running

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.model.coding_rules import CodingRules
from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.access import Limits, server_names
from plant_plugin.serving.app import create_app
from plant_plugin.serving.desk import document_page as page_of_a_document
from plant_plugin.serving.desk import page as page_in_languages
from plant_plugin.serving.desk.page import OTHERS, texts
from plant_plugin.serving.desk.store import Decision, Desk

pytestmark = pytest.mark.browser
LIMITS = Limits(drain_seconds=0)
LOCALES = {"de": "de-AT", "es": "es-MX"}
# Whatever somebody reads or hears: a line each, of what is seen, with values of fields and names of what has no text.
READ = """() => {
  const read = [document.title], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    if (node.parentElement.checkVisibility() && !node.parentElement.closest("#text, code")) read.push(node.data.trim());
  for (const one of document.querySelectorAll("[aria-label], [title]"))
    if (one.checkVisibility()) read.push(...[one.ariaLabel, one.title].filter(Boolean));
  return read.filter((one) => /\\p{L}{2}/u.test(one));
}"""
Look = Callable[[str], None]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def url(desk: Desk, predictor: Predictor, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A desk with a document on which ana and berta are split, and others; codes have hints and promises."""
    monkeypatch.setitem(predictor.thresholds, "accept 0.9", predictor.limit())
    monkeypatch.setattr(page_of_a_document, "rules_for", lambda labels: CodingRules())
    ana, berta = coder(desk, "ana"), coder(desk, "berta")
    [document] = desk.add_documents([("case 9", "sign3x and sign4x")], wanted=2)
    codes = [Decision("L3", "add", [(0, 6)]), Decision("L4", "add", []), Decision("E11.9", "add", [])]
    code(desk, ana, document, *codes, order=["L3", "L4"])
    code(desk, berta, document, codes[1], Decision("E10.9", "add", []), order=["L4"])
    desk.add_documents((f"case {number}", text) for number, text in enumerate(texts[:3]))
    app = create_app(predictor, LIMITS, server_names("127.0.0.1"), desk=desk)
    with Running(app, LIMITS, log_level="warning", access_log=False) as server:
        yield server.url


def sit(robot: Robot, look: Look) -> None:
    """Go through everything that a lead sees, and look at each."""
    page = robot.page
    page.wait_for_function("() => doc !== null")
    look("a split document")
    robot.press("n")
    look("a warning")
    robot.press("p")
    look("the principal code is not accepted")
    robot.press("e", "k", "q", "p", "m")
    look("marking")
    robot.press("Shift+ArrowRight", "Enter")
    look("marked")
    robot.press("Escape", "r", "k", "r")
    look("rejected")
    robot.press("a")
    for key in "?cow":
        robot.press(key)
        page.wait_for_selector("dialog[open]")
        page.wait_for_function("() => !at('why').open || at('why-told').querySelector('p') !== null")
        look(key)
        robot.press("Escape")
    robot.press("/")
    page.keyboard.type("X99")
    page.wait_for_selector("#found li")
    look("search")
    page.locator("#why-button").press("Enter")
    page.wait_for_function("() => at('why-told').querySelector('p') !== null")
    look("why a code is not known")
    robot.press("Escape")
    page.locator("#asked").press("Enter")
    page.wait_for_selector("#unknown[open]")
    look("a code that is not known")
    robot.press("Escape", "d")
    page.wait_for_selector("#documents-rows tr")
    page.locator("#documents summary").click()
    look("documents")
    for name in ("ana", "a b", "berta"):
        page.fill("#account-name", name)
        page.locator("#account button").click()
        page.wait_for_function("() => !at('team-told').textContent.endsWith('…')")
        look(f"an account for {name}")
        page.evaluate("at('team-told').textContent = '…'")
    robot.press("Escape", "g")
    page.wait_for_selector("#figures[open] table")
    look("figures")
    robot.press("Escape")
    for _ in range(20):
        robot.press("n")
        page.wait_for_function("() => waiting === 0")
        look("a next document, or none")
        if page.evaluate("doc === null"):
            break
    assert page.evaluate("doc === null")
    robot.press("u")
    page.wait_for_function("() => waiting === 0 && doc !== null")
    look("taken back")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("language", OTHERS)
def test_a_sitting_without_a_word_of_english(browser: Any, desk: Desk, url: str, language: str, width: int) -> None:
    """Nothing is left that is said otherwise in the language; nothing is too wide, no word broken, all accessible."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    own = {english: said for kind in texts(language).values() for english, said in kind.items()}
    left = [english for english in own if english not in own.values() and re.search(r"[^\W\d_]{2}", english)]
    forms = re.compile("|".join(re.sub(r"\\\{\d\\\}", ".+", re.escape(english)) for english in left))
    robot = Robot(browser, url, desk.people.add("lea", "lead"), width, LOCALES[language])
    seen = set[str]()

    def look(state: str) -> None:
        read = [one for one in robot.page.evaluate(READ) if not one.startswith(("case ", "sígn "))]
        assert [one for one in read if forms.fullmatch(one)] == [], state
        assert robot.page.evaluate("document.documentElement.scrollWidth") <= width, state
        assert robot.page.evaluate(BROKEN) == [], state
        if state in ("a split document", "marking", "documents", "figures"):
            found = axe.run(robot.page).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], state
        seen.update(read)

    assert robot.page.evaluate("document.documentElement.lang") == language
    sit(robot, look)
    assert {texts(language)["page"][one] for one in ("Accept", "Sign out", "Documents", "Agreement")} <= seen
    assert robot.errors == []


def test_everything_that_is_said_is_in_the_catalogue(
    browser: Any, desk: Desk, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a language that puts each sentence into brackets nothing is read that stands in none."""
    spanish = texts("es")
    marked = {kind: {english: f"⟦{english}⟧" for english in said} for kind, said in spanish.items()}
    monkeypatch.setattr(page_in_languages, "texts", lambda language: marked)
    page_in_languages.page.cache_clear()
    data = re.compile(r"case \d|ana|berta|lea|sígn number \d+|[LXEH]\d+[\d.]*|F1|κ|%")
    try:
        robot = Robot(browser, url, desk.people.add("lea", "lead"), 1280, "es")

        def look(state: str) -> None:
            for line in robot.page.evaluate(READ):
                rest = line
                while (fewer := re.sub(r"⟦[^⟦⟧]*⟧", "", rest)) != rest:
                    rest = fewer
                assert re.search(r"[^\W\d_]{2}", data.sub("", rest)) is None, (state, line)

        sit(robot, look)
        assert robot.errors == []
    finally:
        page_in_languages.page.cache_clear()


@pytest.mark.parametrize("language", OTHERS)
def test_what_the_server_says_is_found_again_with_its_values(browser: Any, url: str, language: str) -> None:
    page = browser.new_context(locale=LOCALES[language]).new_page()
    page.goto(f"{url}/desk")
    for english, said in texts(language)["server"].items():
        there, here = (PLACES.sub(lambda place: f"E1{place[0][1]}.9", one) for one in (english, said))
        assert page.evaluate("serverSaid", there) == here
    assert page.evaluate("serverSaid", "whatever nobody has translated") == "whatever nobody has translated"


def test_a_refusal_is_read_in_german(browser: Any, desk: Desk, url: str) -> None:
    robot = Robot(browser, url, desk.people.add("carla"), 390, "de")
    robot.look()
    robot.press("a")
    robot.rest()
    robot.page.evaluate("doc.last = 'another'")  # as if another tab had done more
    robot.press("u")
    robot.page.wait_for_function("() => document.querySelector('#said.wrong') !== null")
    assert "in einem anderen Tab geändert: Nichts wurde rückgängig gemacht" in robot.page.inner_text("#said")


def test_a_lead_reads_in_spanish_what_is_wrong_with_a_file(browser: Any, desk: Desk, url: str) -> None:
    robot = Robot(browser, url, desk.people.add("lea", "lead"), 390, "es-ES")
    page = robot.page
    robot.look()
    robot.press("d")
    page.locator("#documents summary").click()
    bad = {"name": "casos.csv", "mimeType": "text/csv", "buffer": b"id,text\nHC-9,sign3x,sign4x\n"}
    page.set_input_files("#upload-files", bad)
    page.locator("#upload button").click()
    page.wait_for_function("() => at('team-told').textContent.startsWith('casos.csv')")
    assert page.inner_text("#team-told") == (
        "casos.csv, línea 2: columnas: 3, y la cabecera tiene 2\n"
        "  Qué hacer: una celda por columna; ponga entre comillas los textos con comas"
    )


def test_numbers_are_written_as_the_reader_does(browser: Any, url: str) -> None:
    for language, written in (("en", "12,345.67"), ("de", "12.345,67"), ("es", "12.345,67")):
        page = browser.new_context(locale="fr").new_page()
        page.goto(f"{url}/desk?language={language}")
        assert page.evaluate("number(12345.67)") == written
        assert page.evaluate("counted(12345, '{0}', '{0}')") == written[:-3]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_language_is_chosen_by_hand_and_remembered(browser: Any, desk: Desk, url: str, width: int) -> None:
    robot = Robot(browser, url, desk.people.add("carla"), width, "fr-CA")
    page, shown = robot.page, robot.look()
    assert page.input_value("#language") == "en"
    with page.expect_navigation():
        page.get_by_label("Language").select_option("Español")
    page.wait_for_function("() => doc !== null")
    assert page.evaluate("document.documentElement.lang") == "es"
    assert page.evaluate("doc.id") == shown["id"]
    page.goto(f"{url}/desk")  # the address says nothing of it
    page.wait_for_function("() => doc !== null")
    assert page.inner_text("#out-button") == "Salir"
    assert page.input_value("#language") == "es"
    assert page.title() == "Codificación"
