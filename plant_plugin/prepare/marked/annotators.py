"""Several annotators, each with files or a folder of their own: the same text in each is one document of them all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotations import Annotated, Annotations, Annotator
from plant_plugin.prepare.marked.marked import SPLITS, found_splits
from plant_plugin.prepare.output import PROVENANCE

SPLIT_NAMES = frozenset(name for names in SPLITS.values() for name in names)
PARTS = re.compile(r"[^a-z]+")
ONE_VERSION = "give all annotators one version of the text, also of its line ends"
AT_THE_TOP = "put folders train, valid and test at the top, and those of annotators into them"

Copy = tuple[Hashable, Annotated]  # what copies of a document have in common besides their text, and one of them


def joined(by: Mapping[str, Sequence[Copy]], annotations: Annotations, where: str = "") -> list[Annotated]:
    """Join the copies of each document.

    Args:
        by: The documents of each file or folder; a path, whose parts name the annotator.
        annotations: To count with.
        where: The folder, if what shares no document with the others belongs to nobody there.

    Raises:
        DataError: Copies of one name have other texts, or somebody's documents are nobody else's; see ``where``.
    """
    idle = {who for who, copies in by.items() if not any(map(_says_something, copies))}
    documents: dict[tuple[Hashable, str], dict[str, Annotated]] = {}
    for who, copies in by.items():
        for key, document in copies:
            documents.setdefault((key, document.text), {})[who] = document
    together = {frozenset(pair) for of_all in documents.values() for pair in combinations(of_all, 2)}
    several = frozenset[str]().union(*together)
    if where and (alone := len(by.keys() - several)):
        what = f"{len(by)} files of no split, and {alone} of them have no document that another has too"
        fix = "call them train, valid and test, or join those of one split; files of several annotators share documents"
        raise DataError(what, where=where, fix=fix)
    annotations.count("annotators_who_marked_nothing", len(idle & several))
    result, people = list[Annotated](), dict[Hashable, list[str]]()
    for (key, _), of_all in documents.items():
        with annotations.tolerated("documents"):
            for who, document in of_all.items():
                if any(frozenset((who, other)) in together for other in people.get(key, [])):
                    what = "the text is not that of the same name by another annotator"
                    raise DataError(what, where=document.where, fix=ONE_VERSION)
            result.append(_of_all(of_all, idle))
        people.setdefault(key, []).extend(of_all)
    return result


def _says_something(copy: Copy) -> bool:
    return any(annotator.annotations for annotator in copy[1].annotators)


def _of_all(copies: Mapping[str, Annotated], idle: set[str]) -> Annotated:
    """A document with what all said of it, but for those who marked nothing anywhere."""
    active = [who for who in copies if who not in idle] or list(copies)[:1]
    annotators = [
        replace(annotator, names=annotator.names | {who, *Path(who).parts} - {"", "."})
        for who in active
        for annotator in copies[who].annotators or [Annotator([])]
    ]
    return replace(copies[active[0]], annotators=annotators)


def numbered(documents: Iterable[Annotated]) -> list[Copy]:
    """Tell documents of one text apart by counting them, for files that have them in one order."""
    seen = Counter[str]()
    copies = list[Copy]()
    for document in documents:
        copies.append(((document.text, seen[document.text]), document))
        seen[document.text] += 1
    return copies


def files_of_annotators(raw: Path, ending: str) -> dict[str, dict[str, Path]]:
    """Find the files of each split, and of each annotator where several have files or folders of their own.

    Raises:
        DataError: As of :func:`.marked.found_splits`.
    """
    if not raw.is_dir():
        return {split: {"": path} for split, path in found_splits(raw, ending).items()}
    files = _files(raw, ending)
    if len(files) > 1 and not any(map(_of_split, files)):
        return {"train": {path.stem: path for path in files}}
    folders = [path for path in sorted(raw.iterdir()) if path.is_dir() and _files(path, ending)]
    if files or not folders:
        return {split: {"": path} for split, path in found_splits(raw, ending).items()}
    if any(map(_of_split, folders)):
        people = {split: files_of_annotators(path, ending) for split, path in found_splits(raw, None).items()}
        if any(of_split.keys() != {"train"} for of_split in people.values()):
            raise DataError("train, valid or test lie in folders of these names", where=str(raw), fix=AT_THE_TOP)
        return {split: of_split["train"] for split, of_split in people.items()}
    by = {path.name: found_splits(path, ending) for path in folders}
    splits = [split for split in SPLITS if any(split in of_person for of_person in by.values())]
    return {split: {who: of_person[split] for who, of_person in by.items() if split in of_person} for split in splits}


def _files(folder: Path, ending: str) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.suffix == ending and path.name != PROVENANCE]


def _of_split(path: Path) -> bool:
    return not SPLIT_NAMES.isdisjoint(PARTS.split(path.name.lower()))


def texts_with_marks(folder: Path, annotations: Annotations) -> Iterator[tuple[Path, Path]]:
    """Yield each ``.ann`` and its ``.txt``: that beside it, or else the only one of its name that has none beside it.

    Raises:
        DataError: One lies without the other, or there is none, or splits lie within other folders.
    """
    texts, marks = ({path.with_suffix("") for path in folder.rglob(f"*{ending}")} for ending in (".txt", ".ann"))
    inside = {part.lower() for path in texts | marks for part in path.relative_to(folder).parts[:-1]}
    if len(inside & SPLIT_NAMES) > 1:
        raise DataError("train, valid or test lie in folders of other names", where=str(folder), fix=AT_THE_TOP)
    alone = dict[str, list[Path]]()
    for path in texts - marks:
        alone.setdefault(path.name, []).append(path)
    elsewhere = {path: alone[path.name][0] for path in marks - texts if len(alone.get(path.name, [])) == 1}
    lost = (texts ^ marks) - elsewhere.keys() - set(elsewhere.values())
    for path in sorted(lost):
        with annotations.tolerated("documents"):
            fix = "give each text its .ann, an empty one if nothing is marked, and take other files out"
            what = f"a .txt or an .ann without the other ({len(lost)} in all)"
            raise DataError(what, where=str(path), fix=fix)
    pairs = {**elsewhere, **{path: path for path in texts & marks}}
    if not pairs:
        raise DataError("no .txt with an .ann beside it", where=str(folder), fix="check --raw")
    for path in sorted(pairs):
        yield Path(f"{path}.ann"), Path(f"{pairs[path]}.txt")
