"""The desk's page in three languages: which one a reader gets, and that nothing is left in English."""

from __future__ import annotations

import html
import json
import re

import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from desk_sentences import DESK, SCRIPTS, TAGGED, by_the_server, of_html, on_the_page
from fastapi import FastAPI
from fastapi.testclient import TestClient

from plant_plugin.serving.desk.page import COOKIE, ENGLISH, OTHERS, accepted, page, router, texts

SAID = {"page": on_the_page(), "server": by_the_server()}
THE_SAME = {  # in another language, too
    "Deutsch", "English", "Español", "Esc", "Enter", "Name", "NAME", "principal", "bilateral", "{0} {1}",
}  # fmt: skip
PLACES = re.compile(r"\{\d\}")


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    app.include_router(router)
    return TestClient(app)


@pytest.mark.parametrize(
    ("header", "languages"),
    [
        ("", []),
        ("de", ["de"]),
        ("de-AT, de;q=0.9, en;q=0.8", ["de", "de", "en"]),
        ("en;q=0.5, ES-mx ; q=0.7", ["es", "en"]),
        ("fr, *;q=0.5", ["fr", "*"]),
        ("de;q=0, es;q=0.1", ["es"]),
        ("de;q=2, es;q=x, -, ;q=1, en", ["en"]),
        ("zh-Hans-CN,de-1996;q=1.000", ["zh", "de"]),
    ],
)
def test_what_a_browser_asks_for(header: str, languages: list[str]) -> None:
    assert accepted(header) == languages


@pytest.mark.parametrize(
    ("header", "language"),
    [("de-AT,de;q=0.9,en;q=0.8", "de"), ("es-419", "es"), ("fr-FR,fr;q=0.9,es;q=0.5", "es"), ("fr", "en"), ("", "en")],
)
def test_the_browser_chooses(client: TestClient, header: str, language: str) -> None:
    answer = client.get("/desk", headers={"accept-language": header})
    assert f'<html lang="{language}">' in answer.text
    assert answer.headers["content-language"] == language
    assert answer.headers["vary"] == "accept-language, cookie"
    assert "set-cookie" not in answer.headers


def test_a_choice_by_hand_beats_the_browser_and_is_remembered(client: TestClient) -> None:
    spanish = {"accept-language": "es"}
    answer = client.get("/desk?language=de", headers=spanish)
    assert '<html lang="de">' in answer.text
    assert {"httponly", "path=/desk", "samesite=strict"} <= set(answer.headers["set-cookie"].lower().split("; "))
    assert '<html lang="de">' in client.get("/desk", headers=spanish).text
    assert '<html lang="en">' in client.get("/desk?language=en", headers=spanish).text
    assert '<html lang="en">' in client.get("/desk", headers=spanish).text


@pytest.mark.parametrize("wrong", ["fr", "", "../../etc/passwd", "de\u0000", "page"])
def test_a_language_that_there_is_not_changes_nothing(client: TestClient, wrong: str) -> None:
    client.cookies.set(COOKIE, "fr")
    answer = client.get("/desk", params={"language": wrong}, headers={"accept-language": "es"})
    assert '<html lang="es">' in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("kind", ["page", "server"])
def test_every_sentence_has_an_entry_and_every_entry_a_sentence(language: str, kind: str) -> None:
    assert len(SAID[kind]) > 30
    own = texts(language)[kind]
    assert SAID[kind] - own.keys() == set(), f"say these in {language}.json"
    assert own.keys() - SAID[kind] == set(), f"nobody says these of {language}.json"
    for english, said in own.items():
        assert sorted(PLACES.findall(english)) == sorted(PLACES.findall(said)), english
        assert said.strip() == said != "", english
        assert english in THE_SAME or said != english
    assert [*texts("de")[kind]] == [*texts("es")[kind]]  # side by side, one is read beside the other


def test_a_sentence_of_the_server_has_words_of_its_own() -> None:
    """Else it would fit what another one says."""
    assert [one for one in SAID["server"] if not re.search(r"[^\W\d_]{2}", PLACES.sub("", one))] == []


@pytest.mark.parametrize("language", [ENGLISH, *OTHERS])
def test_the_page_is_in_one_language(language: str) -> None:
    shown = page(language)
    assert shown.startswith(f'<!DOCTYPE html>\n<html lang="{language}">')
    [block] = re.findall(r'<script type="application/json" id="texts">(.*?)</script>', shown, re.DOTALL)
    assert json.loads(block) == texts(language)
    assert "<" not in block
    rest = shown.replace(block, "")
    for english in of_html():
        own = texts(language)["page"].get(english, english)
        assert html.escape(own) == own.replace("'", "&#x27;")  # it stands in the page as it is
        assert re.search(rf'[>"]\s*{re.escape(own)}\s*[<"]', rest)
        if own != english and english not in texts(language)["page"].values():
            assert not re.search(rf'[>"]\s*{re.escape(english)}\s*[<"]', rest.replace(f'value="{english}"', "")), (
                english
            )
    options = re.findall(r'<option value="(\w+)" lang="(\w+)">', rest)
    assert options == [(one, one) for one in sorted((ENGLISH, *OTHERS))]


LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|(?<![\w$])`([^`]*)`')
WORDS = re.compile(r"[^\W\d_]{2,}[,;:]? [^\W\d_]{2,}|[^\W\d_]{2,}[.?!…]$")
NOT_SAID = {"use strict", "readings split", "has it", "was given it", "began it", "input, select, textarea"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_says_anything_past_the_catalogue(name: str) -> None:
    """A text of two words, or with a full stop, is handed to t or ``counted``, or is no sentence."""
    lines = [re.sub(r"\s//.*", "", line) for line in (DESK / name).read_text(encoding="utf-8").splitlines()]
    plain = [quoted or template for quoted, template in LITERAL.findall(TAGGED.sub("0", "\n".join(lines)))]
    loose = {one for one in plain if WORDS.search(re.sub(r"\$\{[^}]*\}|^[#.].*", "0", one))}
    assert loose - NOT_SAID - SAID["page"] == set()
    assert WORDS.search("the test itself")
