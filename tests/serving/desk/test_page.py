"""The desk's page in three languages: which one a reader gets, and that nothing is left in English."""

from __future__ import annotations

import gzip
import html
import json
import re

import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from desk_sentences import DESK, PLACES, SCRIPTS, TAGGED, by_the_server, of_files, of_html, on_the_page, translated
from fastapi import FastAPI
from fastapi.testclient import TestClient

from plant_plugin.serving.desk.page import COOKIE, ENGLISH, OTHERS, accepted, page, router, texts
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.team_web import add_file
from plant_plugin.serving.desk.turns import Refused

SAID = {"page": on_the_page(), "server": by_the_server()}
THE_SAME = {  # in another language, too
    "Deutsch", "English", "Español", "Esc", "Enter", "Name", "NAME", "principal", "bilateral", "{0} {1}",
}  # fmt: skip


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
    said_of_files = of_files(own) if kind == "server" else set()
    assert SAID[kind] - own.keys() == set(), f"say these in {language}.json"
    assert own.keys() - SAID[kind] - said_of_files == set(), f"nobody says these of {language}.json"
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


BAD = [  # files that a lead may add by mistake
    ("a.txt", b""), ("a.csv", b"id,text\n"), ("a.csv", b"id,note\n1,fever\n"), ("a.csv", b"id,txt\n1,fever\n"),
    ("a.csv", b"id,text,text\n1,a,b\n"), ("a.csv", b"id,text\n1,a,b\n"), ("a.csv", b'id,text\n1,"a\n'),
    ("a.csv", b"fever,cough\n"), ("a.csv", b"text\ngr\xf6\xdfe\n"), ("a.txt", b"\xff\xfe\xff"), ("a.txt", b"a\0b"),
    ("a.txt", "a b".encode("utf-16-le")), ("a.jsonl", b'{"text": "a"\n'), ("a.jsonl", b'{"note": "a"}\n'),
    ("a.jsonl", b'{"text": 3}\n'), ("a.json", b'{"columns": [1], "index": [1], "data": [[1]]}'),
    ("a.json", b'{"a": {"text": "b"}}'), ("a.json", b'{"docs": [{"text": "b"}]}'),
    ("a.json", b'{"text": ["a", "b"]}'), ("a.jsonl", b'{"resourceType": "Bundle"}\n'),
    ("a.jsonl", b'{"data": {}, "annotations": []}\n'), ("a.jsonl", b'{"passages": []}\n'),
    ("a.jsonl", b'{"paragraphs": []}\n'), ("a.jsonl", b'{"tokens": [], "tags": []}\n'), ("a.pdf", b"%PDF-1.4"),
    ("a.docx", b"PK\x03\x04"), ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), ("a.txt", gzip.compress(b"a", mtime=0)),
    ("a.csv.gz", b"a"), ("a.rtf", b"{\\rtf1 a}"), ("a.png", b"\x89PNG"), ("a.7z", b"7z\xbc\xaf\x27\x1c"),
    ("a.bz2", b"BZh91AY&SY"), ("a.txt", b"PAR1\x15"), ("a.txt", b"ARROW1\0"), ("a.db", b"SQLite format 3\0"),
    ("a.h5", b"\x89HDF\r\n"), ("a.npy", b"\x93NUMPY"), ("a.pkl", b"\x80\x04"), ("a.txt", b"#FORMAT=WebAnno TSV 3\n"),
    ("a.html", b"<html><body></body></html>"), ("a.txt", b"1|t|a\n"), ("a.ann", b"T1\tDisease 0 4\tflu\n"),
    ("a.conll", b"flu B-D\nis O\n"), ("a.tsv", b"id,text\n1,a\n"), ("a.tsv", b"id\ttext\n1\ta\n"),
    ("a.txt", b"a\tb\nc\n"), ("a.txt", b"a\tb\tc\td\n"), ("a.txt", b"__label__ a\n"), ("a.txt", b'"__label__A a"\n'),
    ("a.txt", b"a b\t<http://a> <http://b>\n"), ("a.xlsx", b"a"), ("a.parquet", b"PAR1"),
]  # fmt: skip
VALUE = re.compile(
    r"a(\.\w+)+|\.\w+|\d+|'\w+'|id(, \w+)*|note|te?xt|\w+_column|int|le|gzip|bzip2|7z|HDF5|Parquet|UTF-8|[A-Z]\w+"
    r"|(plant prepare|jq -c|pdftotext|bunzip2) .*|to_json\(.*\)|\{.*\}"
)


@pytest.mark.parametrize(("name", "content"), BAD)
def test_what_is_wrong_with_a_file_is_in_the_catalogue(desk: Desk, name: str, content: bytes) -> None:
    """Of what is said nothing is left but values where sentences are taken away."""
    pytest.importorskip("openpyxl", reason="needs the extra: pip install 'plant-plugin[prepare]'")
    pytest.importorskip("pyarrow", reason="needs the extra: pip install 'plant-plugin[prepare]'")
    with pytest.raises(Refused) as refused:
        add_file(desk, name, content, 1)
    values = {english: "\n".join(PLACES.findall(english)) for english in texts("de")["server"]}
    left = [line for line in translated(str(refused.value), values).split("\n") if line]
    assert [line for line in left if not VALUE.fullmatch(line)] == []
    assert "How to fix it" not in translated(str(refused.value), texts("de")["server"])
    assert "--skip-bad" not in str(refused.value)  # the page has no flags


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
