from __future__ import annotations

import pytest

from plant_plugin.data.columns import Columns
from plant_plugin.data.first_documents import check_order, look_at, say_what_is_odd
from plant_plugin.data.label_column import Trained
from plant_plugin.errors import DataError

TEXT = "patient with a fever and a dry cough since monday"


@pytest.mark.parametrize(
    ("ids", "labels", "texts", "what"),
    [
        ([TEXT], ["I10 E11.9"], ["17"], "the first of three columns"),
        ([TEXT], ["17"], ["I10 E11.9"], "the first of three columns"),
        (["17"], [TEXT], ["I10 E11.9"], "the labels seem to be texts"),
        ([], [TEXT], ["I10;E11.9"], "the labels seem to be texts"),
    ],
)
def test_another_order_is_refused_without_its_content(
    ids: list[str], labels: list[str], texts: list[str], what: str
) -> None:
    with pytest.raises(DataError, match=what) as error:
        check_order(ids, labels, texts, "t.txt")
    assert "cough" not in str(error.value)


@pytest.mark.parametrize(
    ("ids", "labels", "texts"),
    [
        (["17"], ["I10 E11.9"], [TEXT]),
        ([], ["I10 E11.9 R05 J81 K21.9 Z79"], ["cough"]),
        ([], ["I10 E11.9 R05 J81 K21.9 Z79"], ["I10 E11"]),
        (["my note of monday 17"], [""], [TEXT]),
        ([], [], []),
    ],
)
def test_what_may_be_in_order(ids: list[str], labels: list[str], texts: list[str]) -> None:
    check_order(ids, labels, texts, "t.txt")


TEXTS = ["chest pain with zorblatt since monday", "two weeks of cough", "a fall at home in the garden"]
LABELS = [["I10", "E11.9"], ["J18.9"], ["S52.92XA"]]


@pytest.mark.parametrize(
    ("texts", "labels", "columns", "what"),
    [
        (["nan", "None", TEXTS[0]], LABELS, Columns(), "2 of 3 texts are empty"),
        (TEXTS, [["nan"], ["E11.9"], ["None"]], Columns(), "2 labels are words"),
        (TEXTS, [["I10", "and", "E11"], ["E11.9"], ["J18"]], Columns(), "1 labels are words"),
        (TEXTS, [["1001"], ["1002"], ["1003"]], Columns(), "are they ids"),
        (TEXTS, [["1"], ["0"], ["1"]], Columns(), "0 and 1"),
        (TEXTS, [["I10_E11"], ["E11"], ["J18"]], Columns(separator="|"), "no document has two labels"),
    ],
)
def test_what_is_odd_is_said(
    texts: list[str], labels: list[list[str]], columns: Columns, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    say_what_is_odd(texts, labels, "my.txt", columns)
    assert what in caplog.text
    assert "zorblatt" not in caplog.text


def test_documents_are_not_odd(caplog: pytest.LogCaptureFixture) -> None:
    look_at(TEXTS, LABELS, [], "my.txt", named=True, columns=Columns())
    assert not caplog.text
    look_at(["nan", *TEXTS[1:]], LABELS, [], "my.txt", named=True, columns=Columns())
    assert "1 of 3 texts are empty" in caplog.text


TEXTS = ["chest pain with zorblatt since monday", "two weeks of cough", "a fall at home in the garden"]
LABELS = [["I10", "E11.9"], ["J18.9"], ["S52.92XA"]]


def look(texts: list[str], labels: list[list[str]], *, named: bool = False, columns: Columns | None = None) -> None:
    look_at(texts, labels, [], "my.txt", named=named, columns=columns or Columns())


def problem(texts: list[str], labels: list[list[str]], *, named: bool = False) -> str:
    with pytest.raises(DataError, match=r"my\.txt") as error:
        look(texts, labels, named=named)
    assert "zorblatt" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        [["heart,lungs"], ["heart"], ["brain"]],
        [["Diabetes_mellitus,_type_2"], ["Fall,_at_home"], ["Cough,_dry"]],
        [['"Heroes"'], *[[f"song_{number}", f"album_{number}"] for number in range(9)]],
        [["neoplasms_(benign)"], ["(R)-limonene"], ["public_health"]],
        [["ICD9:401.9"], ["ICD9:250.0"], ["ICD9:486.0"]],
        [["http://example.org/100/200#x"], ["8140/3"], ["covid19"]],
        [[], [], []],
        [["1"], ["2", "3"], ["1"]],
    ],
)
def test_documents_pass(labels: list[list[str]]) -> None:
    look((TEXTS * 4)[: len(labels)], labels)
    look((TEXTS * 4)[: len(labels)], labels, named=True)


def test_nothing_is_needed() -> None:
    look([], [])
    look(["", ""], [["I10"], ["J18"]])
    look(["[Admission] pain", "[Discharge] none", "{sic} a note"], LABELS)
    look(["pressure", *TEXTS[1:]], [["art"], ["law"], ["food"]])


@pytest.mark.parametrize(
    ("label", "text"), [("y", "x"), ("etiketler", "metin"), ("ετικέτες", "κείμενο"), ("thing", "stuff")]
)
def test_a_first_line_unlike_all_others_is_a_header(label: str, text: str) -> None:
    assert "header" in problem([text, *TEXTS], [[label], *LABELS])
    look([text, *TEXTS], [[label], *LABELS], named=True)


@pytest.mark.parametrize(
    ("texts", "labels", "what"),
    [
        (TEXTS, [["0.0", "1.0", "0.0"]] * 3, "0 and 1"),
        (TEXTS, [["True", "False", "False"]] * 3, "true and false"),
        (["zorblatt", "fever", "and"], [["B-DIS"], ["I-DIS"], ["O"]], "CoNLL"),
        (['{"note": "zorblatt"}', '[{"a": "b"}]'], LABELS[:2], "JSON"),
        (["I10", "E11.9 J18.9"], [["17"], ["18"]], "codes"),
        (["I10;E11.9", "J18.9"], [text.split() for text in TEXTS[:2]], "codes"),
        (["public health"] * 3, [text.split() for text in TEXTS], "swapped"),
    ],
)
def test_other_shapes_of_few_rows_are_named(texts: list[str], labels: list[list[str]], what: str) -> None:
    for named in (False, True):
        assert what in problem(texts, labels, named=named)


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        ([["0::0.5", "3::1"], ["4"]], "labels with a weight: 2 of 3"),
        ([["0::1|3"], ["4"]], "labels with a weight: 1 of 2"),
        ([["0:0.5", "3:1.0"], ["1:0.2"]], "labels with a weight: all"),
        ([["I10=0.5", "E11=1.0"], ["J18=0.2"]], "labels with a weight: all"),
        ([["I10_(0.5)", "E11_(1.0)"], ["J18_(0.2)"]], "labels with a weight: all"),
        ([["0:0.5,3:1.0"], ["1:0.2"]], "labels with a weight: all"),
        ([['"I10"', '"E11.9"'], ["J18.9"]], "labels in quotation marks or brackets, or that begin or end with one: 2"),
        ([["{I10", "E11.9}"], ["{J18.9}"]], "brackets"),
        ([["Diabetes", "(type", "1)"], ["Fall"]], "brackets"),
        ([["('I10',)"], ["('E11.9',)"]], "brackets"),
        ([["I10/E11.9"], ["E11.9"]], "joined by a sign"),
        ([["I10+E11.9"], ["I10"]], "joined by a sign"),
        ([["I10；E11.9"], ["J18.9"]], "joined by a sign"),
        ([["I10\u200bE11.9"], ["J18.9"]], "joined by a sign"),
        ([["I10;E11.9"], ["J18.9"]], "joined by a sign"),
        ([["I10_E11.9"], ["I10"]], "joined by a sign"),
    ],
)
def test_labels_that_are_none_alone_are_refused(labels: list[list[str]], what: str) -> None:
    assert what in problem(TEXTS[: len(labels)], labels, named=True)
    look(TEXTS[: len(labels)], labels, columns=Columns(separator=" "))  # the user has said how they are separated


def test_what_training_knows_is_a_label() -> None:
    labels = [["I10/E11.9"], ["E11.9"]]
    look(TEXTS[:2], labels, columns=Columns(after=Trained(labels=frozenset({"I10/E11.9"}))))


def test_a_comma_in_every_label_of_a_text_file() -> None:
    assert "joined by a sign" in problem(TEXTS[:2], [["heart,lungs"], ["brain,skin"]])
    look(TEXTS[:2], [["heart,lungs"], ["brain,skin"]], named=True)


def test_a_header_in_the_midst_of_a_file_is_no_document() -> None:
    for named in (False, True):
        texts, labels = [*TEXTS, "text", *TEXTS], [*LABELS, ["labels"], *LABELS]
        assert "document 4 is a header again" in problem(texts, labels, named=named)
        look(["text", *TEXTS], [["food"], *LABELS], named=True)
