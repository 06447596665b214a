"""Files of names of labels, spoiled: tables and thesauri, of which rdflib and csv are the plain readers."""

from __future__ import annotations

import csv
import io
import random
from functools import partial
from pathlib import Path
from typing import Any

from mutated_data import decoded
from mutated_inputs import Answer, Subject, asked_and_read
from mutations import spoil_file

from plant_plugin.data.label_names import label_name_rows

NAMES = [(f"L{number}", name, language) for number in range(5)
         for name, language in ((f"sign {number}", "en"), (f"signo {number}, uno", "es"))]  # fmt: skip
SKOS = "http://www.w3.org/2004/02/skos/core#"
FORMATS = {"ttl": "turtle", "rdf": "xml", "nt": "nt", "jsonld": "json-ld"}


def write(ending: str, folder: Path) -> None:
    (folder / "train.txt").write_text("".join(f"L{number}\twords of {number}\n" for number in range(4)))
    path = folder / f"label_names.{ending}"
    if ending in FORMATS:
        from rdflib import Graph, Literal, URIRef

        graph = Graph()
        for label, name, language in NAMES:
            kind = "prefLabel" if language == "en" else "altLabel"
            graph.add((URIRef(f"http://x.org/{label}"), URIRef(SKOS + kind), Literal(name, lang=language)))
        graph.serialize(path, format=FORMATS[ending], encoding="utf-8")
        return
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter="," if ending == "csv" else "\t", lineterminator="\n").writerows(NAMES)


def ask(ending: str, folder: Path) -> Answer:
    path, labels = folder / f"label_names.{ending}", {f"L{number}" for number in range(4)}
    return asked_and_read(
        lambda: sorted(map(list, label_name_rows([str(path)], labels))), "stats", folder / "train.txt", "--names", path
    )


def plain(ending: str, folder: Path) -> Any:
    content = decoded((folder / f"label_names.{ending}").read_bytes())
    if ending in FORMATS:
        from rdflib import Graph, Literal, URIRef

        rows = []
        for kind in ("prefLabel", "altLabel", "hiddenLabel"):
            graph = Graph().parse(data=content, format=FORMATS[ending], publicID="file:///")
            for concept, literal in graph.subject_objects(URIRef(SKOS + kind)):
                if isinstance(literal, Literal) and isinstance(concept, URIRef):
                    rows.append([concept.rpartition("/")[2], " ".join(literal.split()), literal.language or ""])
        return sorted(map(list, {tuple(row) for row in rows}))
    lines = (line.split("\t") for line in content.split("\n"))
    read = csv.reader(io.StringIO(content, newline=""), strict=True) if ending == "csv" else lines
    rows = [[*map(str.strip, row), ""][:3] for row in read if any(cell.strip() for cell in row)]
    return sorted(
        map(list, {("_".join(label.split()), name, tag.replace("_", "-")) for label, name, tag in rows if name})
    )


def spoil(ending: str, folder: Path, chance: random.Random) -> object:
    return spoil_file(folder / f"label_names.{ending}", chance)


def subjects() -> list[Subject]:
    return [
        Subject(f"names of labels: {ending}", *(partial(each, ending) for each in (write, ask, plain)),
                spoil=partial(spoil, ending))
        for ending in ("tsv", "csv", *FORMATS)
    ]  # fmt: skip
