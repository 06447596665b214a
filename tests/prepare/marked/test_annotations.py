"""What becomes of annotations, whatever tool they are from; and the cases that people brought."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from marked_words import marked_words

from plant_plugin.cli import plant
from plant_plugin.data.text import Spans
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotations import PATH, Annotated, Annotation, Annotations, Annotator, Choices
from plant_plugin.prepare.marked.codes import Code

CASES = Path(__file__).parents[4] / "shared" / "cases"
TEXT = "no sugar but cough"
SUGAR, COUGH = [(3, 8)], [(13, 18)]
Told = tuple[dict[str, list[list[str]]], dict[str, int]]


def said(label: str, spans: Spans | None = None, *, words: str | None = None, **more: object) -> Annotation:
    return Annotation((Code(label),), "export, line 1", spans, words, **{"region": str(spans), **more})  # type: ignore[arg-type]


def marked(*annotations: Annotation, text: str = TEXT, **choices: object) -> Told:
    return of_annotators(Annotator(annotations), text=text, **choices)


def of_annotators(*annotators: Annotator, text: str = TEXT, **choices: object) -> Told:
    made = Annotations(Choices(**choices))  # type: ignore[arg-type]
    documents = made.marked({"train": [Annotated(text, "export, line 1", annotators)]})["train"]
    labels = {
        label: [[text[start:end] for start, end in mark] for mark in marks]
        for document in documents
        for label, marks in document.labels.items()
    }
    return labels, dict(made.counts)


def test_an_attribute_leaves_out_what_has_it() -> None:
    negated = said("E11.9", SUGAR, attributes=frozenset({"Negated", "Certainty", "Certainty=Low"}))
    whole = Annotation((Code("Z00"), Code("Negated")), "line 1")
    for name in ("Negated", "negated", "Certainty=Low", "Certainty"):
        labels, counts = marked(negated, said("R05", COUGH), without=(name,))
        assert labels == {"R05": [["cough"]]}
        assert counts == {f"marks_left_out_with_{name}": 1}
    labels, counts = marked(negated, whole, without=("Certainty=High",))
    assert labels == {"E11.9": [["sugar"]], "Z00": [], "Negated": []}
    assert counts == {"marks_left_out_with_Certainty=High": 0}
    # Labels of one region are each other's attributes; of the whole document only the label goes.
    labels, counts = marked(
        said("E11.9", SUGAR), said("Negated", SUGAR), said("R05", COUGH), whole, without=("Negated",)
    )
    assert labels == {"R05": [["cough"]], "Z00": []}
    assert counts == {"marks_left_out_with_Negated": 2}


def test_terminologies() -> None:
    codes = Code("401", ("ICD9",)), Code("401", ("ICD-10",)), Code("I10", ("icd10",)), Code("ICD10:R05"), Code("x")
    annotation = Annotation(codes, "line 1", SUGAR)
    labels, counts = marked(annotation)
    assert list(labels) == ["ICD9:401", "ICD-10:401", "I10", "ICD10:R05", "x"]
    assert counts == {"codes_spelled_alike_in_several_terminologies": 1}
    labels, counts = marked(annotation, terminologies=("ICD10",))
    assert list(labels) == ["401", "I10", "R05"]
    assert counts == {"codes_of_other_terminologies_left_out": 2}
    with pytest.raises(
        DataError, match=r"--terminology: no code is of this terminology\n.*codes of ICD-10, ICD10, ICD9, i"
    ):
        marked(annotation, terminologies=("SNOMED",))


def test_several_annotators() -> None:
    one = Annotator([said("A", SUGAR), said("B", COUGH)], frozenset({"1", "ada"}))
    two = Annotator([said("A", SUGAR), said("B", SUGAR)], frozenset({"2"}))
    three = Annotator([said("A", COUGH), said("C", COUGH)], frozenset({"3"}))
    labels, counts = of_annotators(one, two, three)
    assert labels == {"A": [["sugar"], ["sugar"], ["cough"]], "B": [["cough"], ["sugar"]], "C": [["cough"]]}
    assert counts == {"documents_of_several_annotators": 1, "documents_whose_annotations_differ": 1}
    labels, counts = of_annotators(one, two, three, annotators="majority")
    assert list(labels) == ["A", "B"]
    assert counts["labels_without_majority_left_out"] == 1
    for name in ("ada", "1"):
        labels, counts = of_annotators(one, two, three, annotators=name)
        assert labels == {"A": [["sugar"]], "B": [["cough"]]}
        assert counts["annotations_beside_those_that_count_left_out"] == 2
    assert of_annotators(one, one)[1] == {"documents_of_several_annotators": 1}
    assert of_annotators(one, Annotator(two.annotations, truth=True))[0] == {"A": [["sugar"]], "B": [["sugar"]]}
    with pytest.raises(DataError, match=r"--annotators: nobody of this name.*\n.*: 1, 2$"):
        of_annotators(one, two, annotators="4")


def test_bad_marks_are_left_out_or_found_again() -> None:
    shifted, away = said("E11.9", [(1, 6)], words="sugar"), said("Z00", [(1, 6)], words="fever")
    empty = said("Z01", SUGAR, words=" ")
    for bad, what in (
        (shifted, "the marked text is not"),
        (away, "the marked text is not"),
        (empty, "does not say what"),
    ):
        with pytest.raises(DataError, match=rf"{what}[^\n]*\n.*--repair .*--skip-bad"):
            marked(bad)
        labels, counts = marked(bad, said("R05", COUGH), skip_bad=True)
        assert labels == {"R05": [["cough"]]}
        assert counts == {"bad_marks_left_out": 1}
    assert marked(shifted, repair=True) == ({"E11.9": [["sugar"]]}, {"marks_found_again_nearby": 1})
    for bad in (away, empty):
        with pytest.raises(DataError):
            marked(bad, repair=True)
    labels, counts = marked(shifted, away, empty, repair=True, skip_bad=True)
    assert labels == {"E11.9": [["sugar"]]}
    assert counts == {"marks_found_again_nearby": 1, "bad_marks_left_out": 2}


def test_marks_that_were_counted_otherwise() -> None:
    text = "😀😀 fever\r\ncough"
    repaired = {"marks_counted_in_other_characters_repaired": 1}
    assert marked(said("R05", [(11, 16)], words="cough"), text=text) == ({"R05": [["cough"]]}, repaired)
    labels, counts = marked(said("R50", [(3, 8)]), said("R05", [(9, 14)]), text="😀 fever cough")
    assert labels == {"R50": [["fever"]], "R05": [["cough"]]}
    assert counts == {"marks_counted_in_other_characters_repaired": 2}
    with pytest.raises(DataError, match="a mark that begins or ends inside a word, in a text whose characters"):
        marked(said("R50", [(4, 6)]), text="😀 fever cough")
    with pytest.raises(DataError, match="a span is not inside the text"):
        marked(said("R50", [(40, 60)]), text="😀 fever cough")
    assert marked(said("R50", [(1, 3)]), text="fever")[1] == {"marks_that_begin_or_end_inside_a_word": 1}


@pytest.mark.parametrize(
    "text",
    ["/data/upload/3/0a1b-case.txt", "https://example.org/a?b=c", "s3://bucket/my case.txt", "../a/b",
     "C:\\notes\\1.txt", "case_1.txt", " /data/a b/c.pdf\n", "file:///a", "notes/1.html", "\\\\server\\share\\1.docx",
     "/data/local-files/?d=notes/1.txt", "~/a", "notes/case 1.txt", "case 1 (2).TXT",
     "data:text/plain;base64,aGVsbG8="],
)  # fmt: skip
def test_a_path_is_no_text(text: str) -> None:
    with pytest.raises(
        DataError, match=r"line 1: the text is the path of a file or an address\n.*--skip-bad"
    ) as caught:
        marked(said("A"), text=text)
    assert text.strip() not in str(caught.value)
    assert marked(said("A"), text=text, skip_bad=True) == ({}, {"bad_documents_left_out": 1})


@pytest.mark.parametrize("text", ["fever", "and/or", "see https://example.org", "fever. See note.txt", "1/2", "",
                                  "a 38.5/39", "/ fever and cough", "fever.cough"])  # fmt: skip
def test_a_text_is_no_path(text: str) -> None:
    assert not PATH.fullmatch(text)


# What each case comes to: the labels and their words, and words of what is printed.
EXPECTED: dict[str, tuple[list[dict[str, list[str]]], str]] = {
    "brat_negated": ([{"E11.9": ["sugar"], "R05": ["cough"]}], "attribute Negated not read"),
    "brat_notes_punctuation": ([{"E11.9": ["sugar"], "R05": ["sugar"], "I10": ["sugar"]}], ""),
    "doccano_json_array": ([{}], "labels of documents                                      1"),
    "doccano_offsets_in_utf16": ([{"R50.9": ["fever"]}] * 2, "marks counted in other characters repaired"),
    "ls_hypertextlabels_lost": ([{"E11.9": ["sugar"]}, {"E11.9": ["sugar"], "R05": ["cough"]}], ""),
    "ls_several_annotators": (
        [{"E11.9": ["sugar"], "E10.9": ["sugar"]}],
        "note: 1 documents are annotated differently",
    ),
    "ls_text_is_a_path": ([], "task 1: the text is the path of a file"),
}
NAMES = sorted(path.name for tool in ("brat", "doccano", "ls") for path in CASES.glob(f"{tool}_*"))


def run(case: str, folder: Path, *options: str) -> tuple[list[dict[str, list[str]]], str]:
    shutil.copytree(CASES / case, folder, dirs_exist_ok=True)
    command = shlex.split((folder / "cmd").read_text().split("&&")[0])
    paths = [str(folder / word) if before in ("--raw", "--out") else word
             for before, word in zip(["", *command], command, strict=False)]  # fmt: skip
    done = CliRunner().invoke(plant, [*paths[1:], *options])
    written = folder / "out" / "train.txt"
    assert written.is_file() == (done.exit_code == 0)
    if not (folder / "out" / "train_evidence.tsv").is_file():
        return [{}] * written.is_file(), done.output
    return marked_words(written), done.output


@pytest.mark.skipif(not NAMES, reason="../shared/cases is not here")
@pytest.mark.parametrize("case", NAMES)
def test_cases(case: str, tmp_path: Path) -> None:
    assert case in EXPECTED, "say here what it comes to"
    documents, shown = run(case, tmp_path)
    assert documents == EXPECTED[case][0]
    assert EXPECTED[case][1] in shown


@pytest.mark.skipif(not NAMES, reason="../shared/cases is not here")
def test_cases_with_their_options(tmp_path: Path) -> None:
    negated = run("brat_negated", tmp_path / "a", "--without", "Negated", "--terminology", "ICD10")
    assert negated[0] == [{"R05": ["cough"]}]
    assert "marks left out with Negated" in negated[1]
    assert run("ls_several_annotators", tmp_path / "b", "--annotators", "2")[0] == [{"E10.9": ["sugar"]}]
    assert "no document for training has a label" in run("ls_text_is_a_path", tmp_path / "c", "--skip-bad")[1]
