"""Thesauri: four ways to write one, which sign of a concept is a label, and what is refused."""

from __future__ import annotations

import gzip
import json
import socket
import sys
from pathlib import Path

import pytest

from plant_plugin.data.label_names import label_name_rows, label_names
from plant_plugin.data.skos import skos_rows
from plant_plugin.errors import DataError, MissingExtraError

rdflib = pytest.importorskip("rdflib", reason="pip install 'plant-plugin[skos]'")

THESAURUS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <http://example.org/t#> .
:c1 a skos:Concept ; skos:notation "10" ; skos:prefLabel "heart"@en, "sydän"@fi ; skos:altLabel "cor"@la, "ticker"@en ;
    skos:hiddenLabel "hart" ; skos:broader :c2 .
:c2 a skos:Concept ; skos:notation "20" ; skos:prefLabel "organ"@en ; xl:altLabel [ xl:literalForm "part"@en ] .
:c3 a skos:Concept ; skos:notation "30" ; skos:prefLabel "vital spirits"@en ; owl:deprecated true .
[] skos:prefLabel "nobody's"@en .
"""
NAMES = {
    "c1": [("heart", "en"), ("sydän", "fi"), ("ticker", "en"), ("cor", "la"), ("hart", "")],
    "c2": [("organ", "en"), ("part", "en")],
}


def rows(label_of: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(label_of[concept], *name) for concept, names in NAMES.items() for name in names]


@pytest.fixture(params=["ttl", "rdf", "owl", "nt", "jsonld"])
def thesaurus(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    formats = {"ttl": "turtle", "nt": "nt", "jsonld": "json-ld"}
    text = rdflib.Graph().parse(data=THESAURUS, format="turtle").serialize(format=formats.get(request.param, "xml"))
    (path := tmp_path / f"names.{request.param}").write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("form", "label_of"),
    [
        ("URIs", {"c1": "http://example.org/t#c1", "c2": "http://example.org/t#c2"}),
        ("notations", {"c1": "10", "c2": "20"}),
        ("ends of URIs", {"c1": "c1", "c2": "c2"}),
    ],
)
def test_labels_are_the_signs_that_the_data_has(thesaurus: Path, form: str, label_of: dict[str, str]) -> None:
    lines: list[str] = []
    labels = {label_of["c2"], "other"}
    assert label_name_rows([str(thesaurus)], labels, lines.append) == rows(label_of)
    said = f"labels are {form}, of 1 of 2 labels of the data; names: en 4, fi 1, la 1, no language 1; 1 deprecated"
    assert len(lines) == 1
    assert said in lines[0]
    assert label_names([str(thesaurus)], labels=labels)(label_of["c1"]) == "heart"


def test_compressed_and_without_labels_of_the_data(tmp_path: Path) -> None:
    (path := tmp_path / "names.ttl.gz").write_bytes(gzip.compress(THESAURUS.encode()))
    assert skos_rows(path)[0] == ("http://example.org/t#c1", "heart", "en")


def test_relative_names_say_nothing_of_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "names.ttl"
    path.write_text('<c1> <http://www.w3.org/2004/02/skos/core#prefLabel> "heart" .')
    assert skos_rows(path) == [("file:///c1", "heart", "")]


PREFIX = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://www.w3.org/2004/02/skos/core#">'
CONCEPT = '<s:Concept rdf:about="http://x.org/1"><s:prefLabel>&n;</s:prefLabel></s:Concept></rdf:RDF>'


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("n.ttl", "L1\tsecret one\n", "line 1: no turtle that can be read"),
        ("n.ttl", PREFIX + '\n<http://x.org/1> skos:prefLabel "secret\n', "line 3: no turtle"),
        ("n.ttl", "", "no concept has a name"),
        ("n.ttl", PREFIX + '<http://x.org/1> skos:prefLabel "\\ud800" .', "half a character"),
        ("n.ttl", "[" * 100_000, "no turtle"),
        ("n.nt", '<http://x.org/1> <http://x.org/2> "secret" .\nsecret\n', "line 2: no turtle"),
        ("n.rdf", RDF + "\n<secret></rdf:RDF>", "line 2: no xml"),
        ("n.rdf", "<html/>", "no concept has a name"),
        ("n.rdf", f'<!DOCTYPE r [\n<!ENTITY n SYSTEM "file:///etc/hostname">]>{RDF}{CONCEPT}', "line 2: an XML entity"),
        ("n.rdf", f'<!DOCTYPE r [<!ENTITY a "secret"><!ENTITY n "&a;&a;&a;">]>{RDF}{CONCEPT}', "an XML entity"),
        ("n.rdf", f'<!DOCTYPE r [<!ENTITY n "{"x" * 2000}">]>{RDF}{CONCEPT}', "an XML entity"),
        ("n.jsonld", '{"@id": "secret', "broken JSON"),
        ("n.jsonld", "[" * 100_000, "broken JSON"),
        ("n.jsonld", '[{"a": {"@context": ["http://127.0.0.1:1/secret"]}}]', "its @context lies elsewhere"),
        ("n.jsonld", '{"@context": "file:///etc/hostname"}', "its @context lies elsewhere"),
        ("n.jsonld", '{"@context": {"@import": "http://127.0.0.1:1/secret"}}', "its @context lies elsewhere"),
    ],
)
def test_what_is_no_thesaurus(
    tmp_path: Path,
    name: str,
    content: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("something was fetched"))
    (path := tmp_path / name).write_text(content)
    with pytest.raises(DataError) as error:
        skos_rows(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert error.value.fix
    assert "secret" not in str(error.value) + "".join(capfd.readouterr())


def test_short_entities_are_read(tmp_path: Path) -> None:
    (path := tmp_path / "n.rdf").write_text(f'<!DOCTYPE r [<!ENTITY n "heart">]>{RDF}{CONCEPT}')
    assert skos_rows(path) == [("http://x.org/1", "heart", "")]


def test_a_sign_of_two_concepts(tmp_path: Path) -> None:
    path = tmp_path / "n.jsonld"
    key = "http://www.w3.org/2004/02/skos/core#prefLabel"
    concepts = [{"@id": f"http://x.org/{folder}/1", key: [{"@value": folder}]} for folder in "ab"]
    path.write_text(json.dumps(concepts))
    assert len(skos_rows(path)) == 2
    with pytest.raises(DataError, match=r"labels that stand for several concepts: 1 .ends of URIs."):
        skos_rows(path, {"1"})


def test_without_rdflib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[skos\]"):
        skos_rows(tmp_path / "n.ttl")
