"""Formats of other programs, told by their first lines or their keys, each with the command or the step that helps.

Lines of fastText are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from plant_plugin.data.header_names import is_header_name
from plant_plugin.data.json_shapes import named_table
from plant_plugin.errors import DataError

PREFIX = "__label__"
SUBJECTS = re.compile(r"\s*((<\S+:\S+>|https?://\S+|urn:\S+)\s*)+")
WIDTHS = (2, 3)  # columns of the text format
PEEKED = 200  # lines that are looked at where the first leaves a doubt
AS_DOCCANO = (
    'write a line {"text": "…", "label": [[start, end, "code"]]} for each document, places in characters, then: '
    "plant prepare doccano --raw FILE.jsonl --out FOLDER"
)
AS_LINES = "write a document a line, labels TAB text; or with the places of marks: " + AS_DOCCANO
BRAT = "plant prepare brat --raw FOLDER --out FOLDER reads the folder with the texts and marks"
PRODIGY = (
    """jq -c 'select(.answer == "accept") | {text, label: (.accept // (if .spans then [.spans[] | [.start, .end, """
    ".label]] else [.label | values] end))}' FILE > NEW.jsonl, then: plant prepare doccano --raw NEW.jsonl --out FOLDER"
)
DOCCANO = "plant prepare doccano --raw FILE --out FOLDER"
LABEL_STUDIO = "plant prepare labelstudio --raw FILE --out FOLDER"
ANNIF = "plant prepare annif FILE FOLDER writes the files that are read here"
XMC = "plant prepare xmc FOLDER OUT where texts lie beside it; features alone: --linear --data_format xmc"


class Lines(NamedTuple):
    """A format that its first line tells, and all others of those that are looked at, if ``others`` is given."""

    first: re.Pattern[str]
    name: str
    fix: str
    others: re.Pattern[str] | None = None


TAG = r"(O|[BIESUL]-\S+)"
PAIRS = r"(\d+(,\d+)*)?([ \t]+\d+:[-+.\deE]+)+\s*"
LINES = (
    Lines(re.compile(r"#FORMAT=WebAnno"), "WebAnno's TSV, as INCEpTION writes it", AS_DOCCANO),
    Lines(re.compile(r"\d+\|[ta]\|"), "PubTator", AS_DOCCANO),
    Lines(re.compile(r"T\d+\t\S+ \d+ \d+(;\d+ \d+)*\t"), "marks of brat without their text", BRAT),
    Lines(re.compile(r"-DOCSTART-|# ?(text|sent_id|newdoc id|global\.columns) ?="), "CoNLL, a word a line", AS_LINES),
    Lines(re.compile(rf"\S+([ \t]+\S+){{0,9}}[ \t]+{TAG}\s*$"), "CoNLL, a word a line", AS_LINES,
          re.compile(rf"\S+([ \t]+\S+){{0,9}}[ \t]+{TAG}\s*")),
    Lines(re.compile(r"<\?xml|<!DOCTYPE|<(html|collection|xmi:XMI|TEI)\b", re.IGNORECASE),
          "XML or HTML (such as BioC, UIMA CAS, TEI)", AS_LINES),
    Lines(re.compile(r"\d+[ \t]+\d+[ \t]+\d+\s*$"), "a sparse file of the extreme classification repository", XMC,
          re.compile(PAIRS)),
    Lines(re.compile(rf"{PAIRS}$"), "a sparse file of LIBSVM", "take it as it is with --linear --data_format svm",
          re.compile(PAIRS)),
    Lines(re.compile(r"(?P<prefix>__\w*?(?:label|class|tag|cat)\w*?__|#\w+#|labels?[:=])[^\s\t]+( [^\t]*)?$"),
          "fastText's lines, with labels that begin in another way",
          "name what begins labels: plant prepare fasttext FILE FOLDER --prefix PREFIX"),
)  # fmt: skip
# Keys that tell a format, those of one line of the table all together.
OBJECTS = (
    ({"_input_hash"}, "Prodigy's JSONL", PRODIGY),
    ({"text", "spans", "answer"}, "Prodigy's JSONL", PRODIGY),
    ({"text", "subjects"}, "Annif's JSONL", ANNIF),
    ({"text", "subject_uris"}, "a corpus of Annif", ANNIF),
    ({"data", "annotations"}, "Label Studio's JSON", LABEL_STUDIO),
    ({"data", "completions"}, "Label Studio's JSON", LABEL_STUDIO),
    ({"data", "predictions"}, "Label Studio's JSON", LABEL_STUDIO),
    ({"annotation_id", "annotator"}, "Label Studio's JSON-MIN or CSV", "export as JSON, then: " + LABEL_STUDIO),
    ({"documents", "source"}, "BioC's JSON", AS_DOCCANO),
    ({"passages"}, "BioC's JSON", AS_DOCCANO),
    ({"text", "denotations"}, "PubAnnotation", AS_DOCCANO),
    ({"paragraphs"}, "spaCy's or SQuAD's JSON", AS_DOCCANO),
    ({"tokens", "ner_tags"}, "words with tags, as of Hugging Face's data sets for names", AS_LINES),
    ({"tokens", "tags"}, "words with tags", AS_LINES),
    ({"%FEATURE_STRUCTURES"}, "UIMA CAS as JSON, as INCEpTION writes it", AS_DOCCANO),
    ({"target_ind"}, "JSON lines of the extreme classification repository", "plant prepare xmc FOLDER OUT"),
    ({"hadm_id", "notes"}, "MDACE", "plant prepare mimic3 … --mdace FOLDER"),
    ({"resourceType"}, "FHIR", "write texts and codes as CSV or JSON lines"),
    ({"text", "entities"}, "doccano's JSONL", DOCCANO),
    ({"data", "label"}, "doccano's CSV or JSONL", DOCCANO + " reads JSONL: export as that"),
)


def is_fasttext(line: str) -> bool:
    """Tell whether a line begins with a label of fastText, or has one elsewhere and no columns."""
    words = line.split()
    return any(word.lstrip('"').startswith(PREFIX) for word in (words[:1] if "\t" in line else words))


def fasttext_lines(lines: Iterator[str], name: str) -> Iterator[str]:
    """Yield lines of fastText as ``labels TAB text``; a ``DataError`` with file and line where one is none."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            yield line
            continue
        try:
            labels, text = fasttext_document(line)
        except DataError as error:
            raise DataError(error.what, where=f"{name}, line {number}", fix=error.fix) from None
        yield f"{' '.join(labels)}\t{text}\n"


def fasttext_document(line: str, prefix: str = PREFIX) -> tuple[list[str], str]:
    """Return the labels of a line, each once, and its text; a ``DataError`` where a label is none."""
    if line.startswith(f'"{prefix}'):
        fix = "write it without quotes: pandas' to_csv is given quoting=csv.QUOTE_NONE"
        raise DataError("the line is quoted as in CSV", fix=fix)
    labels, words = dict[str, None](), list[str]()
    for word in line.split():
        if not word.startswith(prefix):
            if word.lower().startswith(prefix.lower()):
                raise DataError("a label whose prefix has other capitals", fix=f"write {prefix}")
            words.append(word)
            continue
        label = word.removeprefix(prefix)
        if label.endswith(","):
            raise DataError("a comma after a label", fix="separate labels by spaces")
        if not label:
            raise DataError("a label without a name", fix="give it a name, or take it out")
        if prefix in label:
            raise DataError("two labels without a space between them", fix="separate labels by spaces")
        labels[label] = None
    return list(labels), " ".join(words)


def check_columns(cells: Sequence[str], where: str) -> None:
    """Raise a ``DataError`` where the first line has the columns of another format, or names them."""
    if all(map(is_header_name, cells)):
        raise DataError(
            "a header, not a document", where=where, fix="take this line out; in a file called .csv it may stay"
        )
    if SUBJECTS.fullmatch(cells[-1]):
        what = "URIs where the text should be, as in Annif's corpora (text TAB <uri> <uri>)"
        raise DataError(what, where=where, fix="plant prepare annif FILE FOLDER writes the files that are read here")


def foreign_object(value: object) -> DataError | None:
    """Name the format that a JSON value, or a row by its columns, is of; None where nothing is known of it."""
    if not isinstance(value, dict):
        return None
    for keys, name, fix in OBJECTS:
        if keys <= value.keys():
            return _error(name, fix)
    if any(isinstance(part, list | dict) for key in ("label", "labels") for part in listed_in(value.get(key))):
        return _error("places of marks where labels should be, as doccano has them", DOCCANO)
    return None


def as_row(value: object, columns: Sequence[str | None], fix: str) -> dict[str, object] | DataError:
    """Return a JSON object that has the columns, or what is wrong with it; of a known format its name and cure."""
    whole = isinstance(value, dict) and all(column is None or column in value for column in columns)
    marks = whole and columns[1] in ("label", "labels", "entities") and isinstance(value, dict)
    nested = marks and any(isinstance(part, list | dict) for part in listed_in(value[str(columns[1])]))  # type: ignore[index]
    if whole and not nested:
        return value  # type: ignore[return-value]
    return foreign_object(value) or (
        value if isinstance(value, dict) else DataError("no JSON object, or one with a key twice", fix=fix)
    )


def listed_in(value: object) -> list[object]:
    """Return what a list holds; of anything else nothing."""
    return value if isinstance(value, list) else []


def plain_cells(cells: Iterable[str], name: str) -> Iterator[str]:
    """Yield cells of labels.

    Raises:
        DataError: (while reading) One is a JSON object, or a list of such.
    """
    for cell in cells:
        if re.match(r"\s*(\[\s*)?\{\s*\"", cell):
            error = _error("labels as JSON objects, as Label Studio's CSV has them", "export as JSON: " + LABEL_STUDIO)
            raise DataError(error.what, where=name, fix=error.fix)
        yield cell


def as_text_format(lines: Iterator[str], name: str) -> Iterator[str]:
    """Return lines as they are; those of fastText, which the first that holds something tells, as ``labels TAB text``.

    Raises:
        DataError: They are of another format; or (while reading) a label of fastText has no name, or a line is quoted.
    """
    head = list[str]()
    for line in lines:
        head.append(line)
        if line.strip():
            break
    number = len(head)
    if not head or is_fasttext(head[-1]):
        return fasttext_lines(chain(head, lines), name) if head else lines
    first = head[-1].removeprefix("\ufeff")
    if any(each.others and each.first.match(first) for each in LINES):
        head += islice(lines, PEEKED)
    if error := foreign_lines([first, *(line for line in head[number:] if line.strip())]):
        raise DataError(error.what, where=f"{name}, line {number}", fix=error.fix)
    return chain(head, lines)


def foreign_lines(lines: Sequence[str]) -> DataError | None:
    """Name the format that lines are of, by the first and, where that leaves a doubt, by those that follow."""
    first, *others = lines
    for each in LINES:
        if not (match := each.first.match(first)):
            continue
        if each.others and not (others and all(map(each.others.fullmatch, others))):
            continue
        if each.fix is AS_LINES and each.others and not any(re.search(r"\s[BIESUL]-\S+\s*$", line) for line in lines):
            continue
        prefix = match.groupdict().get("prefix")
        return _error(each.name, each.fix.replace("PREFIX", prefix) if prefix else each.fix)
    try:
        content = json.loads(first)
    except (ValueError, RecursionError):
        content = None
    return foreign_object(content) or named_table(first)


def _error(name: str, fix: str) -> DataError:
    return DataError(f"this is another format: {name}", fix=fix)


def width_of(cells: Sequence[str], where: str) -> int:
    """Return how many columns the text format has, by its first line."""
    if len(cells) not in WIDTHS:
        fix = "replace every TAB inside a text by a space" if len(cells) > 1 else "separate labels and text by one TAB"
        what = f"expected 2 columns (labels TAB text) or 3 (id TAB labels TAB text), found {len(cells)}"
        raise DataError(what, where=where, fix=fix)
    check_columns(cells, where)
    return len(cells)
