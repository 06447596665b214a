"""Names in thesauri: SKOS as Turtle, RDF/XML, N-Triples or JSON-LD, read by rdflib; nothing is fetched."""

from __future__ import annotations

import logging
import warnings
import xml.parsers.expat
from collections import Counter
from collections.abc import Callable, Collection
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from plant_plugin.data.json_text import parsed_json
from plant_plugin.data.name_rows import LANGUAGE
from plant_plugin.data.text import is_valid, one_label, plain_name, text_lines
from plant_plugin.data.vocabularies import LabelName
from plant_plugin.errors import DataError, needs_extra

if TYPE_CHECKING:
    from rdflib import Graph

# N-Triples are Turtle too, whose reader says the line of what is wrong.
FORMATS = {".ttl": "turtle", ".nt": "turtle", ".rdf": "xml", ".owl": "xml", ".jsonld": "json-ld"}
SKOS = "http://www.w3.org/2004/02/skos/core#"
XL = "http://www.w3.org/2008/05/skos-xl#"
DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
KINDS = ("prefLabel", "altLabel", "hiddenLabel")
BASE = "file:///"  # of relative names; rdflib would take the working folder
LONGEST_ENTITY = 1000  # characters; programs give namespaces short names by them
NO_FETCH = "save the thesaurus as Turtle (.ttl)"

Signs = dict[str, list[str]]  # concept -> labels that it may have
Named = dict[str, list[tuple[str, str]]]  # concept -> its names with their languages, preferred ones first


def skos_rows(path: Path, labels: Collection[str] = (), say: Callable[[str], object] | None = None) -> list[LabelName]:
    """Return the names of the concepts of a thesaurus; those that it calls deprecated are left out.

    Args:
        path: The file; its ending says the format.
        labels: Of the data. A concept's label is its URI, its notation, or what its URI ends in: whichever most of
            these are; the URI without them.
        say: Told which it is, and of which languages names are.

    Raises:
        DataError: The file is not of the format, wants something from elsewhere, or has no names of concepts.
        MissingExtraError: rdflib is not installed.
    """
    state = path.stat() if path.exists() else None
    named, notations, deprecated = _read(path, state and (state.st_mtime_ns, state.st_size))
    form, label_of = form_of(named, notations, frozenset(labels), path)
    rows = [
        LabelName(label, *name) for concept, names in named.items() for label in label_of[concept] for name in names
    ]
    if say is not None:
        known = len({row.label for row in rows} & frozenset(labels))
        languages = Counter(language or "no language" for _, _, language in rows).most_common()
        said = f"{path.name}: labels are {form}, of {known} of {len(labels)} labels of the data; names: "
        said += ", ".join(f"{language} {count}" for language, count in languages)
        say(said + (f"; {deprecated} deprecated concepts are left out" if deprecated else ""))
    return rows


@lru_cache(maxsize=1)  # a training asks at its beginning and at its end
def _read(path: Path, state: object) -> tuple[Named, Signs, int]:
    """Return the names and notations of each concept, and how many deprecated ones are left out."""
    graph = graph_of(path)
    named, deprecated = named_in(graph, path)
    return named, notations_in(graph), deprecated


def graph_of(path: Path) -> Graph:
    """Read a thesaurus; what :func:`skos_rows` says of errors holds for it, and for what follows."""
    with needs_extra("skos", "thesauri need rdflib", where=str(path), otherwise="or give a table of names"):
        from rdflib import Graph
    with text_lines(path) as lines:
        text = "".join(lines)
    form = FORMATS[plain_name(path).suffix]
    _refuse_fetching(text, form, path)
    log = logging.getLogger("rdflib")
    before, log.disabled = log.disabled, True  # it would print what it finds odd
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Graph().parse(data=text, format=form, publicID=BASE)
    except Exception as error:  # whatever a parser meets; `from None`: messages hold the content
        line = _line(error)
        where = f"{path}, line {line}" if line else str(path)
        raise DataError(f"no {form} that can be read", where=where, fix="export the thesaurus again") from None
    finally:
        log.disabled = before


def _line(error: Exception) -> int | None:
    """Return the line that one of rdflib's parsers, or Python's of XML, met its error in."""
    if (lines := getattr(error, "lines", None)) is not None:
        return int(lines) + 1
    number = getattr(error, "getLineNumber", lambda: None)()
    return None if number is None else int(number)


def _refuse_fetching(text: str, form: str, path: Path) -> None:
    """Refuse JSON-LD that names a context elsewhere, and XML whose entities lie elsewhere or grow."""
    if form == "json-ld":
        values = [parsed_json(text, str(path))]
        while values:
            value = values.pop()
            values += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            if isinstance(value, dict) and ("@import" in value or _elsewhere(value.get("@context"))):
                raise DataError("its @context lies elsewhere, and nothing is fetched", where=str(path), fix=NO_FETCH)
    elif form == "xml":
        parser = xml.parsers.expat.ParserCreate()

        def declared(name: str, _: object, value: str | None, *elsewhere: str | None) -> None:
            if value is None or "&" in value or "%" in value or len(value) > LONGEST_ENTITY:
                what, where = "an XML entity that is not a short text", f"{path}, line {parser.CurrentLineNumber}"
                raise DataError(what, where=where, fix=NO_FETCH)

        def begun(*_: object) -> None:
            raise StopIteration  # entities are declared before the first element

        parser.EntityDeclHandler, parser.StartElementHandler = declared, begun
        try:
            parser.Parse(text, True)
        except (StopIteration, xml.parsers.expat.ExpatError):
            pass  # the whole is read by rdflib


def _elsewhere(context: object) -> bool:
    contexts = context if isinstance(context, list) else [context]
    return any(isinstance(part, str) for part in contexts)


def named_in(graph: Graph, path: Path) -> tuple[Named, int]:
    """Return the names of each concept, and how many deprecated ones were left out."""
    from rdflib import Literal, URIRef

    gone = {concept for concept, value in graph.subject_objects(URIRef(DEPRECATED)) if str(value) in ("true", "1")}
    names_of: dict[str, set[tuple[int, str, str]]] = {}
    for rank, kind in enumerate(KINDS):
        pairs = list(graph.subject_objects(URIRef(SKOS + kind)))
        for concept, label in graph.subject_objects(URIRef(XL + kind)):
            pairs += ((concept, form) for form in graph.objects(label, URIRef(XL + "literalForm")))
        for concept, literal in pairs:
            if isinstance(concept, URIRef) and concept not in gone and isinstance(literal, Literal):
                name = " ".join(literal.split())
                if not is_valid(name):
                    raise DataError("half a character in a name", where=str(path), fix="export the thesaurus again")
                language = literal.language or ""
                if name:
                    names_of.setdefault(str(concept), set()).add(
                        (rank, language if LANGUAGE.fullmatch(language) else "", name)
                    )
    if not names_of:
        fix = "a concept's names are its skos:prefLabel, altLabel and hiddenLabel; else give a table of names"
        raise DataError("no concept has a name", where=str(path), fix=fix)
    main = Counter(language for names in names_of.values() for rank, language, _ in names if rank == 0)
    order = {language: place for place, (language, _) in enumerate(sorted(main.items(), key=lambda x: (-x[1], x[0])))}

    def place(name: tuple[int, str, str]) -> tuple[int, int, str, str]:
        return name[0], order.get(name[1], len(order)), *name[1:]

    named = {
        concept: [(name, language) for _, language, name in sorted(names_of[concept], key=place)]
        for concept in sorted(names_of)
    }
    return named, len(gone)


def notations_in(graph: Graph) -> Signs:
    """Return the notations of each concept that has any."""
    from rdflib import URIRef

    notations: dict[str, set[str]] = {}
    for concept, notation in graph.subject_objects(URIRef(SKOS + "notation")):
        notations.setdefault(str(concept), set()).add(str(notation))
    return {concept: sorted(those) for concept, those in notations.items()}


def form_of(named: Named, notations: Signs, labels: frozenset[str], path: Path) -> tuple[str, Signs]:
    """Return what the data's labels are of a concept, in words, and the labels of each concept."""
    forms: dict[str, Callable[[str], list[str]]] = {
        "URIs": lambda concept: [concept],
        "notations": lambda concept: notations.get(concept, []),
        "ends of URIs": lambda concept: [concept.rstrip("/#").replace("#", "/").rpartition("/")[2]],
    }
    best, best_of, most = "", Signs(), -1
    for form, signs in forms.items():
        label_of = {concept: [label for sign in signs(concept) if (label := one_label(sign))] for concept in named}
        known = len(labels.intersection(label for those in label_of.values() for label in those))
        if known > most:
            best, best_of, most = form, label_of, known
    counts = Counter(label for those in best_of.values() for label in those)
    if twice := sum(count > 1 for count in counts.values()):
        what = f"labels that stand for several concepts: {twice} ({best})"
        raise DataError(what, where=str(path), fix="write URIs as labels of the documents, or give a table of names")
    return best, best_of
