"""The desk's page, its scripts and its style, in the language of the reader.

English stands in the page, its scripts and the modules here, where it is said. A file for each other language has the
English sentences, with ``{0}``, ``{1}`` for values, and those of the language: what the page says, and what the server
says, which stays English on its way and is translated on the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response

PATH = "/desk"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
ENGLISH, OTHERS = "en", ("de", "es")
COOKIE, YEAR = "plant_desk_language", 365 * 24 * 3600  # what the reader chose, and for how many seconds it holds
WANTED = re.compile(r"\s*([a-z]{1,8}|\*)(?:-[\w-]*)?\s*(?:;\s*q=([01](?:\.\d*)?)\s*)?", re.IGNORECASE)
SHOWN = re.compile(r'(?<=>)[^<>]*[^\W\d_]{2}[^<>]*(?=<)|(?<=aria-label=")[^"]+')  # of the page, what somebody reads

router = APIRouter(prefix=PATH, include_in_schema=False)


@cache
def texts(language: str) -> dict[str, dict[str, str]]:
    """Return what ``page`` and ``server`` say: English sentences with those of a language. English has none."""
    if language == ENGLISH:
        return {"page": {}, "server": {}}
    found: dict[str, dict[str, str]] = json.loads(_content(f"{language}.json"))
    return found


def accepted(header: str) -> list[str]:
    """Return the languages of a header Accept-Language (RFC 9110), the most wanted first, without their regions."""
    ranges = [match for part in header.split(",") if (match := WANTED.fullmatch(part))]
    weights = [(float(match[2] or 1), match[1].lower()) for match in ranges]
    return [language for weight, language in sorted(weights, key=lambda one: -one[0]) if weight]


def language_of(request: Request) -> str:
    """Return the reader's language: chosen now, chosen before, or the first of the browser's that there is."""
    chosen = (request.query_params.get("language", ""), request.cookies.get(COOKIE, ""))
    wanted = (*chosen, *accepted(request.headers.get("accept-language", "")))
    return next((language for language in wanted if language in (ENGLISH, *OTHERS)), ENGLISH)


@cache
def page(language: str) -> str:
    """Return the page in a language, with all that its scripts say in it."""
    own = texts(language)
    html = SHOWN.sub(lambda shown: _like(shown[0], own["page"]), _content("desk.html"))
    return html % (language, json.dumps(own, ensure_ascii=False).replace("<", "\\u003c"))


def _like(shown: str, own: dict[str, str]) -> str:
    """Return a text of the page in a language, between the spaces that it stands between."""
    english = shown.strip()
    return shown.replace(english, own.get(english, english))


def _content(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@router.get("")
def answer_page(request: Request) -> Response:
    """Return the page, the same for everybody who reads the language."""
    language = language_of(request)
    headers = {"content-security-policy": POLICY, "content-language": language, "vary": "accept-language, cookie"}
    answer = Response(page(language), media_type="text/html", headers=headers)
    if request.query_params.get("language") == language:
        answer.set_cookie(COOKIE, language, max_age=YEAR, path=PATH, httponly=True, samesite="strict")
    return answer


def _file(name: str, media_type: str) -> Callable[[], Response]:
    def answer() -> Response:
        return Response(_content(name), media_type=media_type, headers={"content-security-policy": POLICY})

    return answer


for script in ("texts.js", "desk.js", "lead.js"):
    router.get(f"/{script}")(_file(script, "text/javascript"))
router.get("/desk.css")(_file("desk.css", "text/css"))
