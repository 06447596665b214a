from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from plant_plugin.data.evidence import read_evidence
from plant_plugin.data.tables import read_any
from plant_plugin.data.unicode_forms import alike_line, composed, labels_alike, places_composed

TEXTS = ["plain", "artérielle œdème", "ạ̈bc é", "각 한국어", "কো", "नि", "Å ﬁ", "", "\u0301x", "e\u0301\u0301"]


@pytest.mark.parametrize("text", TEXTS)
def test_places_lead_to_the_same_letters(text: str) -> None:
    for form in ("NFC", "NFD"):
        written = unicodedata.normalize(form, text)
        places, whole = places_composed(written), composed(written)
        assert len(places) == len(written) + 1
        assert places[0] == 0
        assert places[-1] == len(whole)
        assert places == sorted(places)
        if form == "NFC":
            assert places == list(range(len(whole) + 1))


def test_a_word_in_two_forms_has_its_place() -> None:
    written = unicodedata.normalize("NFD", "née: fièvre")
    start = written.index("fie")
    places = places_composed(written)
    assert composed(written)[places[start] : places[len(written)]] == "fièvre"


def test_labels_that_look_alike_are_grouped() -> None:
    labels = ["E11.9", "E119", "e11.9", "E11.9\u200b", "café", "cafe\u0301", "I10", "40.19", "401.9", "A.1", "a.1"]
    assert labels_alike(labels) == [
        ["A.1", "a.1"], sorted(["E11.9", "E119", "e11.9", "E11.9\u200b"]), sorted(["café", "cafe\u0301"]),
    ]  # fmt: skip
    assert "'E11.9' and 'E11.9\\u200b' and 'E119'" in alike_line(labels)
    assert alike_line(["a", "b"]) == ""
    assert alike_line([f"{letter}{number}" for letter in "aA" for number in range(9)]).endswith("and 6 more groups")


def test_evidence_in_another_form_keeps_its_words(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, "née: fièvre depuis hier")
        word = unicodedata.normalize(form, "fièvre")
        (tmp_path / "a.txt").write_text(f"R50\t{text}\n")
        start = text.index(word)
        (tmp_path / "a_evidence.tsv").write_text(f"0\tR50\t{start}-{start + len(word)}\n")
        documents = read_any(tmp_path / "a.txt")
        [[(start, end)]] = [marks["R50"] for marks in read_evidence(tmp_path / "a_evidence.tsv", documents)]
        assert documents.texts[0][start:end] == "fièvre"
