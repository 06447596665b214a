"""The desk in a real browser: sittings by keyboard, two coders at once, a server that is killed, accessibility."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desk_coding import code, coder
from desk_robot import BROKEN, Robot, Said, Server, chromium
from running_server import Running

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.model.coding_rules import CodingRules
from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.access import Limits, server_names
from plant_plugin.serving.app import create_app
from plant_plugin.serving.desk import document_page as page_of_a_document
from plant_plugin.serving.desk.order import orders_of
from plant_plugin.serving.desk.outcome import settled
from plant_plugin.serving.desk.ranked import ranked
from plant_plugin.serving.desk.store import Decision, Desk

pytestmark = pytest.mark.browser
LIMITS = Limits(drain_seconds=0)
GRAVE = ("serious", "critical")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def kept(desk: Desk, coder: str) -> tuple[dict[int, Said], Counter[int]]:
    """What the file holds of a coder: decisions that stand in finished documents, and lines of decisions."""
    number = desk.people.named(coder).id
    finished = {
        document: {label: (one.kind, [list(span) for span in one.spans]) for label, one in decisions.items()}
        for document, _, by in desk.finished()
        for who, _, decisions in by
        if who == number
    }
    with sqlite3.connect(desk.path) as plain:
        rows = plain.execute(
            "SELECT document FROM changes WHERE coder = ? AND kind IN ('accept', 'reject', 'add')", [number]
        )
        return finished, Counter(document for (document,) in rows)


def test_two_coders_and_a_server_that_is_killed_twice(
    browser: Any, desk: Desk, run_folder: Path, texts: list[str], tmp_path: Path
) -> None:
    """20 documents at 1280 px and 6 at 390 px, by keyboard alone; no decision is lost, none counts twice."""
    desk.add_documents((f"case {number}", text) for number, text in enumerate(texts[:30]))
    tokens = [desk.people.add(name) for name in ("ana", "berta")]
    server = Server(run_folder, desk.path, tmp_path / "server.log")
    server.start()
    try:
        ana, berta = (
            Robot(browser, server.url, token, width) for token, width in zip(tokens, (1280, 390), strict=True)
        )

        def die() -> None:
            server.kill()  # what ana pressed last may be on its way, written or answered
            berta.press("j", "a")  # and this finds no server
            berta.page.wait_for_function("() => document.querySelector('#said.wrong') !== null")
            server.start()

        for turn in range(20):
            if turn in (6, 13):
                berta.look()
                labels = berta.page.evaluate("[codes[1].label, doc.id]")
                ana.document(turn, die)
                berta.rest()
                berta.press("u")  # back to where the document was
                berta.rest()
                berta.presses[labels[1]] = 1
            else:
                ana.document(turn)
            if turn % 4 == 3:
                extra = berta.presses.get(berta.look()["id"], 0)
                berta.document(turn)
                berta.presses[berta.last or 0] += extra
        for robot in (ana, berta):
            robot.rest()
    finally:
        server.kill()
    assert len(ana.done) == 20
    assert len(berta.done) == 5
    assert not set(ana.done) & set(berta.done)
    for name, robot in (("ana", ana), ("berta", berta)):
        finished, lines = kept(desk, name)
        assert finished == robot.done
        assert {document: lines[document] for document in robot.done} == robot.presses
    log = (tmp_path / "server.log").read_text(encoding="utf-8")
    assert not any(word in log for word in texts[0].split())


@pytest.fixture
def url(desk: Desk, predictor: Predictor, texts: list[str]) -> Iterator[str]:
    desk.add_documents((f"case {number}", text) for number, text in enumerate(texts[:8]))
    app = create_app(predictor, LIMITS, server_names("127.0.0.1"), desk=desk)
    with Running(app, LIMITS, log_level="warning", access_log=False) as server:
        yield server.url


def test_a_change_whose_answer_is_lost_is_sent_again_and_counts_once(browser: Any, desk: Desk, url: str) -> None:
    robot = Robot(browser, url, desk.people.add("ana"), 1280)
    robot.look()
    lost = []

    def lose(route: Any) -> None:
        if len(lost) < 2:
            lost.append(route.fetch().status)  # the server has done it
            route.abort()
        else:
            route.continue_()

    robot.page.route("**/desk/decide", lose)
    robot.document(0)
    robot.rest()
    assert lost == [200, 200]
    finished, lines = kept(desk, "ana")
    assert finished == robot.done
    assert dict(lines) == robot.presses


@pytest.mark.parametrize("width", [1280, 390])
def test_accessible_in_every_state(browser: Any, desk: Desk, url: str, width: int) -> None:
    """axe-core finds nothing serious, and nothing is wider than the window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    token = desk.people.add("lea", "lead")
    page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    seen = []

    def check(state: str) -> None:
        found = axe.run(page).response["violations"]
        grave = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in GRAVE]
        assert grave == [], state
        assert page.evaluate("document.documentElement.scrollWidth") <= width, state
        seen.append(state)

    page.goto(f"{url}/desk")
    page.wait_for_selector("#sign-in:not([hidden])")
    check("sign-in")
    page.fill("#token", token)
    page.keyboard.press("Enter")
    page.wait_for_function("() => doc !== null")
    check("a document")
    page.keyboard.press("a")
    page.keyboard.press("r")
    page.keyboard.press("k")
    page.keyboard.press("m")
    page.keyboard.press("Shift+ArrowRight")
    check("marking")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    check("marked")
    for key, state in (("/", "search"), ("?", "help"), ("c", "comment"), ("o", "order"), ("w", "why")):
        page.keyboard.press(key)
        if key == "/":
            page.keyboard.type("number")
            page.wait_for_selector("#found li")
        check(state)
        page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.press("n")
    page.wait_for_function("() => waiting === 0 && doc !== null")
    page.keyboard.press("g")
    page.wait_for_selector("#figures[open] table")
    check("figures")
    page.emulate_media(color_scheme="dark")
    check("figures in the dark")
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    page.wait_for_selector("#documents-rows tr")
    page.locator("#documents summary").click()
    check("documents")
    page.keyboard.press("Escape")
    check("a document in the dark")
    assert len(seen) == 13


def test_words_are_marked_with_the_mouse_too(browser: Any, desk: Desk, url: str, texts: list[str]) -> None:
    robot = Robot(browser, url, desk.people.add("ana"), 1280)
    page, shown = robot.page, robot.look()
    boxes = [page.locator(f"[data-word='{place}']").bounding_box() for place in (2, 4)]
    page.mouse.move(boxes[0]["x"] + 3, boxes[0]["y"] + 8)
    page.mouse.down()
    page.mouse.move(boxes[1]["x"] + 6, boxes[1]["y"] + 8, steps=5)
    page.mouse.up()
    robot.rest()
    one = desk.opened(desk.people.named("ana"), shown["id"], "")
    assert one.decisions[shown["codes"][0]["label"]].spans == [(shown["words"][2][0], shown["words"][4][1])]
    page.mouse.move(boxes[0]["x"] - 2, boxes[0]["y"] + 8)  # from the space before a word to the space behind another
    page.mouse.down()
    page.mouse.move(boxes[1]["x"] + boxes[1]["width"] + 2, boxes[1]["y"] + 8, steps=5)
    page.mouse.up()
    robot.rest()
    one = desk.opened(desk.people.named("ana"), shown["id"], "")
    assert one.decisions[shown["codes"][0]["label"]].spans == [(shown["words"][2][0], shown["words"][4][1])]
    page.get_by_role("button", name="Reject " + shown["codes"][1]["label"]).click()
    robot.rest()
    assert desk.opened(desk.people.named("ana"), shown["id"], "").decisions[shown["codes"][1]["label"]].kind == "reject"


def test_markup_in_a_document_stays_text(browser: Any, desk: Desk, url: str) -> None:
    evil = "<img src=x onerror=document.title='owned'> </script><script>document.title='owned'</script> 😀 ünd mark"
    desk.add_documents([("<b>x</b>", evil)], "1999-01-01")
    robot = Robot(browser, url, desk.people.add("ana"), 1280)
    robot.look()
    robot.page.select_option("#order", "date")
    if robot.page.evaluate("doc.text") != evil:  # lent before there was an order
        robot.document(3)
        robot.look()
    assert robot.page.evaluate("doc.text") == evil
    assert robot.page.inner_text("#text") == evil
    assert robot.page.title() == "Desk"
    last = robot.page.evaluate("[words[words.length - 1].start, words[words.length - 1].end]")
    assert evil[slice(*last)] == "mark"  # places are characters as Python counts them, also behind an emoji
    assert robot.errors == []


def test_hints_of_the_chosen_code_stand_below_the_cards(
    browser: Any, desk: Desk, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_of_a_document, "rules_for", lambda labels: CodingRules())
    robot = Robot(browser, url, desk.people.add("ana"), 1280)
    robot.look()
    for label in ("E11.9", "E10.9"):
        robot.page.keyboard.press("/")
        robot.page.fill("#asked", label)
        robot.page.keyboard.press("Enter")
        robot.page.get_by_role("button", name="Take it all the same").click()
        robot.page.wait_for_function("label => codes.some((one) => one.label === label)", arg=label)
    robot.page.wait_for_selector("#hints li")
    assert "not beside E11.9, unless the two are unrelated" in robot.page.inner_text("#hints")
    states = robot.page.locator("#codes .state").all_inner_texts()
    assert sorted(state for state in states if "hint" in state) == ["added, 1 hint", "added, 2 hints"]
    assert robot.errors == []


def test_a_code_that_the_desk_does_not_know_is_taken_only_on_demand(browser: Any, desk: Desk, url: str) -> None:
    robot = Robot(browser, url, desk.people.add("ana"), 390)
    page, shown = robot.page, robot.look()

    def search(label: str) -> None:
        page.keyboard.press("/")
        page.keyboard.type(label)
        page.keyboard.press("Enter")

    search("X99")
    page.wait_for_selector("#unknown[open]")
    assert page.inner_text("#unknown-title") == "X99 is no code that this desk knows. Take it all the same?"
    page.keyboard.press("Enter")  # whoever hammers on it takes nothing
    page.wait_for_selector("#unknown", state="hidden")
    assert page.inner_text("#said") == "X99 was not taken."
    search("X99")
    page.get_by_role("button", name="Take it all the same").click()
    robot.rest()
    assert "a code that this desk does not know" in page.inner_text("#codes [aria-current=true]")
    page.reload()
    page.wait_for_function("() => doc !== null && codes.some((one) => one.label === 'X99' && one.known === false)")
    place = page.evaluate("codes.findIndex((one) => one.label === 'X99')")
    robot.press(*["j"] * place, "m", "Enter", "Escape")  # words for it are marked without a further question
    robot.rest()
    decisions = desk.opened(desk.people.named("ana"), shown["id"], "").decisions
    assert (decisions["X99"].kind, len(decisions["X99"].spans)) == ("add", 1)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_lead_finds_a_split_sees_both_sides_and_settles_it(browser: Any, desk: Desk, url: str, width: int) -> None:
    ana, berta = coder(desk, "ana"), coder(desk, "berta")
    [document] = desk.add_documents([("case 9", "sign3x and sign4x")], wanted=2)
    code(desk, ana, document, Decision("L3", "add", [(0, 6)]), Decision("L4", "add", []))
    code(desk, berta, document, Decision("L4", "add", []))
    robot = Robot(browser, url, desk.people.add("lea", "lead"), width)
    page = robot.page
    assert robot.look()["id"] == document  # splits come to the lead first
    first = page.locator("#codes > li").first
    assert "L3" in first.inner_text()
    assert "Split: ana added it · berta left it out" in first.inner_text()
    page.keyboard.press("n")
    assert "1 code is not settled" in page.inner_text("#said")
    page.keyboard.press("e")  # with the words that ana marked
    page.keyboard.press("n")
    robot.rest()
    [(_, _, labels)] = [one for one in settled(desk, Counter()) if one[0] == document]
    assert {one.label: (one.by[0][0], one.spans) for one in labels} == {"L3": ("lea", [(0, 6)]), "L4": ("ana", [])}
    page.get_by_role("button", name="Documents").click()
    page.wait_for_selector("#documents-rows tr")
    page.select_option("#documents-state", "done")
    page.wait_for_function("() => document.querySelectorAll('#documents-rows tr').length === 1")
    page.get_by_role("button", name="Open again for ana: case 9").click()
    robot.rest()
    page.select_option("#documents-state", "")
    page.fill("#documents-name", "case 3")
    page.wait_for_function("() => document.querySelectorAll('#documents-rows tr').length === 1")
    page.get_by_label("Coder for case 3").select_option("berta")
    page.get_by_role("button", name="Give case 3").click()
    page.wait_for_function("() => document.querySelector('#documents-rows').textContent.includes('berta was given it')")
    page.get_by_role("button", name="Read case 3").click()
    page.wait_for_function("() => doc !== null && doc.name === 'case 3'")
    assert [who for _, _, by in desk.finished(document) for who, _, _ in by] == [berta.id, desk.people.named("lea").id]
    assert robot.errors == []


CARDS = "[...document.querySelectorAll('#codes > li')].map((one) => [one.offsetTop, one.offsetHeight])"


@pytest.mark.parametrize("width", [1280, 390])
def test_cards_keep_their_places_and_words_are_whole(browser: Any, desk: Desk, url: str, width: int) -> None:
    robot = Robot(browser, url, desk.people.add("lea", "lead"), width)
    page, shown = robot.page, robot.look()
    page.evaluate("doc.hints[codes[1].label] = [{ text: 'a hint of several words' }]; draw()")
    before = page.evaluate(CARDS)
    assert len(before) == len(shown["codes"])
    for keys in (["a"], ["r"], ["k", "e"], ["m", "Shift+ArrowRight", "Enter", "Escape"], ["k"], ["k"], ["k"]):
        robot.press(*keys)
        assert page.evaluate(CARDS) == before, keys
    assert page.evaluate(BROKEN) == []
    assert page.inner_text("#left") == "8 documents wait"
    for key, ready in (("g", "#figures[open] table"), ("d", "#documents-rows tr"), ("?", "#help[open]")):
        page.keyboard.press(key)
        page.wait_for_selector(ready)
        assert page.evaluate(BROKEN) == [], key
        page.keyboard.press("Escape")
    page.evaluate("at('title').style.width = '2ch'")  # the test itself sees what is broken
    assert "Document" in page.evaluate(BROKEN)


@pytest.fixture
def promising(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(predictor.thresholds, "accept 0.9", predictor.limit())


@pytest.mark.parametrize("width", [1280, 390])
def test_cards_say_what_is_promised_of_their_codes(
    browser: Any, desk: Desk, promising: None, url: str, width: int
) -> None:
    robot = Robot(browser, url, desk.people.add("ana"), width)
    page, shown = robot.page, robot.look()
    cards = dict(zip(page.evaluate("codes.map((one) => one.label)"), page.locator("#codes .state").all(), strict=True))
    said = {label for label, card in cards.items() if "%, promised 90 %" in card.inner_text()}
    assert said == {one["label"] for one in page.evaluate("doc.suggested") if one["predicted"]}
    assert 0 < len(said) < len(shown["codes"])
    title = page.locator("#codes .promise").first.get_attribute("title")
    assert title is not None
    assert "of which 90 % are true" in title
    assert page.evaluate(BROKEN) == []
    assert robot.errors == []


def test_one_document_waits(browser: Any, desk: Desk, url: str) -> None:
    robot = Robot(browser, url, desk.people.add("ana"), 390)
    for turn in range(7):
        robot.document(4 if turn else 3)
    robot.look()
    assert robot.page.inner_text("#left") == "1 document waits"


def test_what_a_coder_remarks_reaches_the_lead(browser: Any, desk: Desk, url: str) -> None:
    robot = Robot(browser, url, desk.people.add("ana"), 390)
    page, shown = robot.page, robot.look()
    label = shown["codes"][0]["label"]
    robot.press("q", "c")
    page.keyboard.type("a q and <b>a</b> c")  # keys of the page are letters here
    page.get_by_role("button", name="Keep").click()
    robot.rest()
    assert page.locator("#codes .state").first.inner_text().startswith("unsure, ")
    page.reload()
    page.wait_for_function("() => doc !== null")
    assert page.inner_text("#remarks") == f"ana: a q and <b>a</b> c · unsure of {label}"
    lead = Robot(browser, url, desk.people.add("lea", "lead"), 1280)
    lead.look()
    lead.press("d")
    lead.page.wait_for_selector("#documents-rows .remark")
    assert lead.page.inner_text("#documents-rows .remark") == f"ana: a q and <b>a</b> c · unsure of {label}"
    assert robot.errors == lead.errors == []


def test_a_key_right_after_a_dialog_counts(browser: Any, desk: Desk, url: str) -> None:
    robot = Robot(browser, url, desk.people.add("lea", "lead"), 1280)
    robot.look()
    robot.press("d")
    robot.page.wait_for_selector("#documents-rows tr")
    robot.page.focus("#documents-state")
    robot.page.evaluate("""() => { // the next key comes before the close event, as of whoever types fast
      at("documents").close();
      const focused = document.querySelector("#documents-state");
      focused.dispatchEvent(new KeyboardEvent("keydown", { key: "g", bubbles: true, cancelable: true }));
    }""")
    robot.page.wait_for_selector("#figures[open]", timeout=5000)


def test_what_is_said_stays_when_an_earlier_change_is_saved(browser: Any, desk: Desk, url: str) -> None:
    robot = Robot(browser, url, desk.people.add("ana"), 1280)
    robot.look()
    held: list[Any] = []
    robot.page.route("**/desk/decide", lambda route: held.append(route))  # its answer comes late
    robot.press("a", "p")
    robot.page.wait_for_function("() => document.querySelector('#said').innerText.includes('only accepted codes')")
    held[0].continue_()
    robot.rest()
    assert "only accepted codes have an order" in robot.page.inner_text("#said")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_coder_says_which_code_is_the_principal_one(browser: Any, desk: Desk, url: str, width: int) -> None:
    robot = Robot(browser, url, desk.people.add("ana"), width)
    page, shown = robot.page, robot.look()
    first, second, third = (one["label"] for one in shown["codes"][:3])
    before = page.evaluate(CARDS)
    robot.press("a", "a", "p")
    assert page.inner_text("#said") == f"Accept {third} first: only accepted codes have an order."
    robot.press("k", "p")
    states = page.locator("#codes .state")
    assert [", principal" in states.nth(0).inner_text(), ", principal" in states.nth(1).inner_text()] == [False, True]
    assert ", no. 2" in states.nth(0).inner_text()
    robot.press("o")
    assert page.locator("#order-rows .code").all_inner_texts() == [second, first]
    page.get_by_role("button", name=f"{first} earlier").press("Enter")
    assert page.locator("#order-rows .code").all_inner_texts() == [first, second]
    robot.press("Escape")
    assert page.evaluate(CARDS) == before
    robot.rest()
    page.reload()
    page.wait_for_function("() => doc !== null")
    assert ", principal" in states.nth(0).inner_text()
    with desk.reads.begin() as connection:
        assert list(orders_of(connection)[shown["id"]].values()) == [[first, second]]
    robot.press("r")  # what is rejected has no rank
    assert ", principal" in states.nth(1).inner_text()
    robot.press("o")
    page.get_by_role("button", name="No order").click()
    robot.rest()
    assert "principal" not in page.inner_text("#codes")
    assert robot.errors == []


def test_a_lead_settles_the_principal_code(browser: Any, desk: Desk, url: str) -> None:
    ana, berta = coder(desk, "ana"), coder(desk, "berta")
    [document] = desk.add_documents([("case 9", "sign3x and sign4x")], wanted=2)
    for who, order in ((ana, ["L3", "L4"]), (berta, ["L4"])):
        code(desk, who, document, Decision("L3", "add", []), Decision("L4", "add", []), order=order)
    robot = Robot(browser, url, desk.people.add("lea", "lead"), 1280)
    page = robot.page
    assert robot.look()["id"] == document
    assert page.locator("#remarks li").all_inner_texts() == [
        "ana: principal code L3, then L4", "berta: principal code L4", "Split on the principal code.",
    ]  # fmt: skip
    robot.press("n")
    assert "The principal code is not settled" in page.inner_text("#said")
    robot.press(*["j"] * page.evaluate("codes.findIndex((one) => one.label === 'L4')"), "p", "n")
    robot.rest()
    found = {number: [(rank, one.label) for rank, one in labels] for number, _, labels in ranked(desk, Counter())}
    assert found == {document: [(1, "L4"), (2, "L3")]}
    robot.press("g")
    page.wait_for_selector("#figures table")
    assert "ana berta 1 0" in " ".join(page.inner_text("#figures").split())
    assert robot.errors == []


@pytest.mark.parametrize("width", [1280, 390])
def test_a_coder_asks_why_a_code_was_not_suggested(browser: Any, desk: Desk, url: str, width: int) -> None:
    robot = Robot(browser, url, desk.people.add("ana"), width)
    page = robot.page
    robot.look()

    def told() -> str:
        page.wait_for_function("() => at('why-told').querySelector('p') !== null")
        return str(page.inner_text("#why-told"))

    robot.press("w")
    first = told()
    assert "That is place 1 of the 12 codes that the model knows." in first
    [word] = {
        shown_word for shown_word in page.evaluate("codes[0].spans.map(([start, end]) => doc.text.slice(start, end))")
    }
    assert word in first
    robot.press("Escape", "/")
    page.keyboard.type("X99")
    page.wait_for_selector("#found li")
    page.get_by_role("button", name="Why was it not suggested?").press("Enter")
    assert told().startswith("The model does not know this code")
    robot.press("Escape")  # back to the search
    page.wait_for_selector("#search[open]")
    page.fill("#asked", "L11")
    page.wait_for_selector("#found li:has-text('L11')")
    page.get_by_role("button", name="Why was it not suggested?").press("Enter")
    assert " of the 12 codes that the model knows." in told()
    assert page.inner_text("#why-title").startswith("L11")
    assert robot.errors == []


def test_a_lead_adds_documents_and_makes_an_account(browser: Any, desk: Desk, url: str) -> None:
    robot = Robot(browser, url, desk.people.add("lea", "lead"), 390)
    page = robot.page
    robot.look()
    robot.press("d")
    page.locator("#documents summary").click()
    for content, told in (
        (b"id,note\n", "cases.csv"),
        (b"id,text\nHC-9,sign3x\n", "1 document added, 0 there before."),
    ):
        page.set_input_files("#upload-files", {"name": "cases.csv", "mimeType": "text/csv", "buffer": content})
        page.get_by_role("button", name="Add", exact=True).click()
        page.wait_for_function("told => at('team-told').textContent.startsWith(told)", arg=told)
    page.fill("#account-name", "ana")
    page.get_by_role("button", name="Make the account").click()
    page.wait_for_function("() => at('team-told').textContent.startsWith('Token of ana')")
    assert desk.people.sign_in(page.inner_text("#team-told").rpartition(" ")[2]) is not None
    assert robot.errors == []
