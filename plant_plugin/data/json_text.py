"""JSON as files of others hold it: each key once in an object, and whole characters."""

from __future__ import annotations

import json
import re
from typing import Any

from plant_plugin.errors import DataError

HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")  # as JSON spells it; two of them are a whole one
NUL = re.compile(r"(?<!\\)(\\\\)*\\u0000")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) < len(pairs):  # Python's own reader would keep the last value and lose the others
        raise ValueError("a key twice in an object")
    return content


DECODER = json.JSONDecoder(object_pairs_hook=_object)


def parsed_json(
    text: str, where: str, fix: str = "export it again as JSON (not CSV or JSON lines); the file may be cut off"
) -> Any:
    """Parse JSON; a ``DataError`` where it is none, has a key twice, or spells NUL or half a character."""
    try:
        content = DECODER.decode(text)
    except (ValueError, RecursionError):  # its message would show the text
        raise DataError("broken JSON, or a key twice in an object", where=where, fix=fix) from None
    if NUL.search(text):
        raise DataError("a NUL (\\u0000): this is no text", where=where, fix="take it out")
    if HALF_A_CHARACTER.search(text):
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            what = "half a character (a lone \\ud800 to \\udfff)"
            raise DataError(what, where=where, fix="write it again as UTF-8") from None
    return content
