"""JSON whose documents lie deeper than a value each, and tables under a name of the text format: each with its cure."""

from __future__ import annotations

import re

from plant_plugin.data.header_names import is_header_name
from plant_plugin.data.row_formats import DELIMITERS
from plant_plugin.errors import DataError

RECORDS = "write a document a line; of pandas: to_json(FILE, orient='records', lines=True, force_ascii=False)"
AS_JSON = "let the name of the file end in .json"
JSON = re.compile(r"[{\[]|\[?\s*\{\s*\".*|\[\s*\{")


def deeper_documents(value: object, text: str) -> DataError | None:
    """Say where the documents of a JSON object lie that is none itself; ``text`` is the key of a document's text."""
    if not isinstance(value, dict):
        return None
    if text in value:
        columns = isinstance(value[text], list | dict) and all(
            isinstance(part, list | dict) and part for part in value.values()
        )
        return DataError("an object of columns, not a document", fix=RECORDS) if columns else None
    if {"columns", "data"} <= value.keys():
        return DataError("a table as pandas writes it with orient='split'", fix=RECORDS)
    if value and all(_is_document(part, text) for part in value.values()):
        return DataError("an object that holds a document under each key", fix="jq -c '.[]' FILE > NEW.jsonl")
    if any(
        isinstance(part, list) and part and all(_is_document(each, text) for each in part) for part in value.values()
    ):
        return DataError("an object that holds a list of documents", fix="jq -c '.KEY[]' FILE > NEW.jsonl, of its key")
    return None


def _is_document(value: object, text: str) -> bool:
    return isinstance(value, dict) and text in value


def named_table(first: str) -> DataError | None:
    """Name what a first line begins that is no line of the text format: JSON, or a header of CSV."""
    line = first.strip()
    if JSON.fullmatch(line):
        kind = "JSON lines" if line.startswith("{") and line.endswith("}") else "JSON"
        return DataError(f"this is another format: {kind}", fix=AS_JSON)
    for sign in DELIMITERS:
        cells = [cell.strip(' "') for cell in line.split(sign)]
        if sign != "\t" and len(cells) > 1 and "\t" not in line and all(map(is_header_name, cells)):
            return DataError("this is another format: a table with a header (CSV)", fix="let its name end in .csv")
    return None
