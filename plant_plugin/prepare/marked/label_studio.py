"""Label Studio's export (JSON), in which words of a text, or the whole, carry labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from plant_plugin.data.text import parsed_json, text_lines
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotation_tools import count_lists, listed, prepare_export
from plant_plugin.prepare.marked.annotations import EVERYTHING, Annotated, Annotation, Annotations, Annotator, Choices
from plant_plugin.prepare.marked.codes import Code
from plant_plugin.prepare.marked.entries import annotated_task
from plant_plugin.prepare.marked.marked import Provenance

TASKS_FIX = "export as JSON, not JSON-MIN: a list of tasks with data and annotations"
LABELS = ("labels", "choices", "hypertextlabels", "paragraphlabels")  # others are no text's
PLACES = {"start", "end", "startOffset", "endOffset", "globalOffsets", "text"}


def prepare_labelstudio(
    raw: Path,
    out: Path,
    text_key: str = "text",
    controls: tuple[str, ...] = (),
    dry_run: bool = False,
    choices: Choices = EVERYTHING,
) -> Provenance:
    """Write Label Studio's JSON as ``train.txt`` with evidence.

    Spans' ``labels`` (also of hypertext, where it tells characters, and of paragraphs), and ``choices`` and
    ``taxonomy`` of a span or of the whole document, are labels; of a taxonomy the deepest entry. Other results are
    counted by kind. Where a task is annotated several times, the annotations marked as ground truth count, else all
    that were not skipped, as ``choices`` says.

    Args:
        raw: A file, or a folder with ``train.json``, ``valid.json`` (or ``dev``) and ``test.json``.
        out: The folder to write.
        text_key: Where a task's ``data`` has the text, or a list of paragraphs with a ``text`` each.
        controls: Names (``from_name``) of the controls whose labels count; all if empty, others are counted.
        dry_run: Read everything, write nothing.
        choices: What of the annotations counts.

    Raises:
        DataError: A file is missing or not such an export, or a span does not hold the words that it says.
        PlantError: The folder cannot be written.
    """

    def read(path: Path, annotations: Annotations) -> Iterator[Annotated]:
        return _label_studio(path, text_key, controls, annotations)

    content = "prepare labelstudio", {"text_key": text_key, "controls": list(controls)}
    return prepare_export(raw, out, ".json", read, content, dry_run, choices)


def _label_studio(
    path: Path, text_key: str, controls: tuple[str, ...], annotations: Annotations
) -> Iterator[Annotated]:
    with text_lines(path) as lines:
        tasks = parsed_json("".join(lines), str(path))
    if not isinstance(tasks, list):
        raise DataError("not a list of tasks", where=str(path), fix=TASKS_FIX)
    for number, task in enumerate(tasks, 1):
        where = f"{path}, task {number}"
        with annotations.tolerated("documents"):
            task = annotated_task(task, where, TASKS_FIX)
            text, beginnings = _text(_object(task.get("data"), where).get(text_key), text_key, where)
            count_lists(task, ("annotations",), annotations)
            by = [_object(annotation, where) for annotation in listed(task["annotations"], where, TASKS_FIX)]
            done = [annotation for annotation in by if not annotation.get("was_cancelled")]
            annotations.count("annotations_skipped_by_their_annotator", len(by) - len(done))
            annotators = []
            for annotation in done:
                marks: list[Annotation] = []
                for result in listed(annotation.get("result"), where, TASKS_FIX):
                    if controls and _object(result, where).get("from_name") not in controls:
                        annotations.count("results_of_other_controls")
                        continue
                    with annotations.tolerated("marks"):
                        marks += _result(_object(result, where), beginnings, where, annotations)
                names = _names(annotation.get("completed_by"))
                annotators.append(Annotator(marks, names, bool(annotation.get("ground_truth"))))
            yield Annotated(text, where, annotators)


def _text(content: object, text_key: str, where: str) -> tuple[str, list[int]]:
    """A task's text, and where each of its paragraphs begins if it is a dialogue."""
    if isinstance(content, str):
        return content, []
    rows = content if isinstance(content, list) and content else [None]
    parts = [row.get("text") if isinstance(row, dict) else None for row in rows]
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) < len(parts):
        what, fix = f"data has no text called {text_key}", "name the text with --text_key"
        raise DataError(what, where=where, fix=fix)
    return "\n".join(texts), list(accumulate([0, *(len(text) + 1 for text in texts[:-1])]))


def _names(person: object) -> frozenset[str]:
    """What somebody who annotated can be called."""
    if isinstance(person, dict):
        first, last = (str(person.get(key) or "") for key in ("first_name", "last_name"))
        called = [*(person.get(key) for key in ("id", "email", "username")), first, last, f"{first} {last}".strip()]
    else:
        called = [person]
    return frozenset(str(name) for name in called if isinstance(name, str | int) and str(name))


def _result(
    result: dict[str, object], beginnings: list[int], where: str, annotations: Annotations
) -> Iterator[Annotation]:
    """Labels of a span, or of the whole document where the result has no place; of other results none."""
    value = _object(result.get("value"), where)
    annotations.count("notes_on_results_not_read", bool(result.get("meta")))
    if not value.keys() & {*LABELS, "taxonomy"}:
        kinds = [result.get("type"), *sorted(value.keys() - PLACES), "textarea"]
        annotations.not_read(next(kind for kind in kinds if kind))
        return
    names = [label for key in LABELS for label in listed(value.get(key), where, TASKS_FIX)]
    nested = [name for name in names if isinstance(name, list)]  # choices below choices
    names = [name for name in names if not isinstance(name, list)]
    paths = [listed(path, where, TASKS_FIX) for path in listed(value.get("taxonomy"), where, TASKS_FIX)] + nested
    if not all(isinstance(name, str) for name in (*names, *(name for path in paths for name in path))):
        raise DataError("a label that is no text", where=where, fix=TASKS_FIX)
    codes = (*map(Code, names), *(Code(path[-1], tuple(path[:-1])) for path in paths if path))
    spans, control = _places(value, beginnings), result.get("from_name")
    region = result["id"] if isinstance(result.get("id"), str) else spans and str(spans)
    attributes = frozenset((control, *(f"{control}={code.name}" for code in codes)) if isinstance(control, str) else ())
    if "start" not in value and spans is None:
        yield Annotation(codes, where, region=region, attributes=attributes)
        return
    if spans is None and codes:
        if others := value.keys() & {"hypertextlabels", "paragraphlabels"}:
            annotations.not_read(min(others))
            return
        fix = "label in a <Text> tag; places in <HyperText> are paths through its HTML"
        raise DataError("a span whose places are no numbers of characters", where=where, fix=fix)
    said = value.get("text")
    words = said.replace("\\n", " ") if isinstance(said, str) else None  # some versions write a line break so
    yield Annotation(codes, where, spans or [], words, region, attributes)


def _places(value: dict[str, object], beginnings: list[int]) -> list[tuple[int, int]] | None:
    """The characters of a span: as it says, after the beginning of its paragraphs, or of the text without HTML."""
    places = [value.get("start"), value.get("end")]
    of_all = value.get("globalOffsets")
    of_number = {str(number): beginning for number, beginning in enumerate(beginnings)}
    if all(str(part) in of_number for part in places):
        inside = [value.get("startOffset"), value.get("endOffset")]
        parts = [of_number[str(part)] for part in places]
        places = [part + offset if type(offset) is int else None for part, offset in zip(parts, inside, strict=True)]
    elif isinstance(of_all, dict) and any(type(place) is not int for place in places):
        places = [of_all.get("start"), of_all.get("end")]
    first, last = places
    return [(first, last)] if type(first) is int and type(last) is int else None


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict | None):
        raise DataError("not a task with data and annotations", where=where, fix=TASKS_FIX)
    return value or {}
