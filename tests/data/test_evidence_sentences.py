"""Sentences of a text, and sentences with evidence as training documents behind the others."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.data.documents import Corpus, Split, with_sentences
from plant_plugin.data.evidence import sentences
from plant_plugin.data.text import DocumentEvidence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fiebre alta. Tos seca; Sin disnea", ["Fiebre alta.", "Tos seca;", "Sin disnea"]),
        ("Mejoró. ¿Tos? No! (ayer) 3 días", ["Mejoró.", "¿Tos?", "No!", "(ayer) 3 días"]),
        ("37.5 grados. Élla, aprox. una semana", ["37.5 grados.", "Élla, aprox. una semana"]),
        (" Tos.\n Fiebre. ", ["Tos.", "Fiebre."]),
        ("Tos   fiebre", ["Tos", "fiebre"]),
        ("Tos\tfiebre\nalta", ["Tos\tfiebre\nalta"]),
        ("sin punto", ["sin punto"]),
        (" ", []),
        ("\n \t", []),
        ("", []),
    ],
)
def test_sentences_by_hand(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=string.ascii_letters[:3] + "AÉ1.;!?( \n\t", max_size=40))
def test_nothing_but_white_space_is_in_no_sentence(text: str) -> None:
    found = sentences(text)
    inside = {place for start, end in found for place in range(start, end)}
    assert sum(end - start for start, end in found) == len(inside)
    assert found == sorted(found)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in found)
    assert {place for place, letter in enumerate(text) if not letter.isspace()} <= inside


TEXT = "Fiebre alta. Tos seca. Sin disnea"


def split_of(*documents: tuple[str, list[str], DocumentEvidence]) -> Split:
    texts, labels, evidence = (list(column) for column in zip(*documents, strict=True))
    return Split(texts, labels, evidence=evidence, name="train")


def test_a_sentence_has_the_labels_of_the_spans_inside_it() -> None:
    evidence: DocumentEvidence = {"A": [(0, 6)], "B": [(13, 16), (27, 33)], "C": [(7, 16)], "D": [(12, 13)]}
    first = split_of(("sin más", [], {}), (TEXT, ["A", "B", "C", "D", "E"], evidence))
    found = with_sentences(first)
    assert found.texts[:2] == first.texts
    assert found.labels[:2] == first.labels
    assert found.evidence is not None
    assert found.evidence[:2] == first.evidence
    assert found.texts[2:] == ["Fiebre alta.", "Tos seca.", "Sin disnea"]
    assert found.labels[2:] == [["A", "C"], ["B", "C"], ["B"]]  # C goes on behind the full stop; D marks a space
    assert found.evidence[2:] == [{"A": [(0, 6)], "C": [(7, 12)]}, {"B": [(0, 3)], "C": [(0, 3)]}, {"B": [(4, 10)]}]
    assert found.parents == [0, 1, 1, 1, 1]
    assert (len(first), first.parents) == (2, None)
    assert found.hash() != first.hash()


def test_sentences_without_evidence_are_no_documents() -> None:
    found = with_sentences(split_of((TEXT, ["B"], {"B": [(13, 16)]}), (TEXT, ["B"], {})))
    assert found.texts[2:] == ["Tos seca."]


def test_labels_outside_the_label_set_are_left_out_of_the_matrix() -> None:
    train = split_of((TEXT, ["A", "B"], {"A": [(0, 6)], "B": [(13, 16)]}))
    corpus = Corpus(train, None, None, ["B"])
    assert corpus.label_matrix(with_sentences(train)).toarray().tolist() == [[1], [0], [1]]
