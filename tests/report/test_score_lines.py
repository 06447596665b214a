"""Scores of programs that know labels by number: Omikuji, Parabel, PECOS."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.report.score_lines import label_columns, labels_of_scores, matrix_labels, named_labels, scored_lines

NAMES = ["sepsis", "asthma", "fever"]  # in another order than sorted
TRUTH = [["sepsis"], ["fever", "asthma"]]
NAMED = "sepsis:0.9 asthma:0.2\nfever:0.8 asthma:0.3\n"
FORMS = {
    "by name": NAMED,
    "label:score by number": "0:0.9 1:0.2\n2:0.8 1:0.3\n",
    "with TABs": "0:0.9\t1:0.2\n2:0.8\t1:0.3\n",
    "Omikuji": "0 0.900\t1 0.200\n2 0.800\t1 0.300\n",
    "Parabel": "2 3\n0:0.9 1:0.2\n2:0.8 1:0.3\n",
    "a header with TABs": "2\t3\n0:0.9 1:0.2\n2:0.8 1:0.3\n",
}


def evaluate(folder: Path, scores: Path, *arguments: str, truth: list[list[str]] = TRUTH) -> Result:
    (folder / "test.txt").write_text("".join(f"{' '.join(labels)}\ttext\n" for labels in truth))
    (folder / "labels.txt").write_text("".join(f"{name}\n" for name in NAMES))
    call = ["evaluate", "--truth", str(folder / "test.txt"), "--scores", str(scores), *arguments]
    return CliRunner().invoke(plant, [*call, "--out", str(folder / "result.json")])


def metrics_of(folder: Path, content: str, *arguments: str) -> dict[str, float]:
    (folder / "scores.txt").write_text(content)
    outcome = evaluate(folder, folder / "scores.txt", "--label-file", str(folder / "labels.txt"), *arguments)
    assert outcome.exit_code == 0, outcome.output
    return json.loads((folder / "result.json").read_text())["metrics"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_metrics(form: str, tmp_path: Path) -> None:
    metrics = metrics_of(tmp_path, FORMS[form])
    assert metrics == metrics_of(tmp_path, NAMED)
    assert metrics["P@1"] == 1


def test_pecos_matrix_has_the_same_metrics(tmp_path: Path) -> None:
    scores = sp.csr_matrix(np.array([[0.9, 0.2, 0], [0, 0.3, 0.8]], np.float32))
    scores.indices[2:], scores.data[2:] = [2, 1], [0.8, 0.3]  # PECOS sorts by score
    scores.has_sorted_indices = False
    sp.save_npz(tmp_path / "P.npz", scores, compressed=False)
    outcome = evaluate(tmp_path, tmp_path / "P.npz", "--label-file", str(tmp_path / "labels.txt"))
    assert outcome.exit_code == 0, outcome.output
    metrics = json.loads((tmp_path / "result.json").read_text())["metrics"]
    assert metrics == metrics_of(tmp_path, NAMED)


def test_numbers_need_the_label_file(tmp_path: Path) -> None:
    (tmp_path / "scores.txt").write_text(FORMS["Omikuji"])
    outcome = evaluate(tmp_path, tmp_path / "scores.txt")
    assert outcome.exit_code == 2
    assert "none of them is a label of the truth" in outcome.output
    assert "--label-file" in outcome.output


def test_columns_of_numbered_labels_are_their_numbers(tmp_path: Path) -> None:
    scores = sp.csr_matrix(([0.9, 0.8], ([0, 1], [10, 2])), shape=(2, 12))
    sp.save_npz(tmp_path / "P.npz", scores)
    outcome = evaluate(tmp_path, tmp_path / "P.npz", truth=[["10"], ["2"]])
    assert outcome.exit_code == 0, outcome.output
    assert "columns of the scores are taken for the labels of their numbers" in outcome.stderr
    assert json.loads((tmp_path / "result.json").read_text())["metrics"]["P@1"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("2 3\n0:0.9\n3:0.8\n", "scores.txt, line 3: something that is no number of one of 3 labels"),
        ("3 3\n0:0.9\n1:0.8\n", "2 documents, the first line says 3"),
        ("0:0.9\n3:0.8\n", "label 3, and the label file has 3 lines, counted from 0"),
        ("0 0.9\t1 0.8\n1:0.7\n", "line 2: the line holds"),
        ("0 0.9\t1 x\n1 0.7\n", "line 1: the line holds"),
        ("0 0.9\t0 0.8\n1 0.7\n", "line 1: the line holds a label twice"),
        ("0 nan\n1 0.7\n", "line 1: the line holds"),
    ],
)
def test_lines_that_do_not_fit(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "scores.txt").write_text(content)
    outcome = evaluate(tmp_path, tmp_path / "scores.txt", "--label-file", str(tmp_path / "labels.txt"))
    assert outcome.exit_code == 2
    assert message in outcome.output
    assert not (tmp_path / "result.json").exists()


def test_the_first_line_says_how_all_are_written() -> None:
    lines = ["\n", "7 0.5\t8 0.2\n", "\n", "9 0.1\n"]
    assert list(scored_lines(iter(lines), Path("x"))) == [
        (1, []), (2, [("7", "0.5"), ("8", "0.2")]), (3, []), (4, [("9", "0.1")])
    ]  # fmt: skip
    assert list(scored_lines(iter(["a:b:0.5 c:1\n"]), Path("x"))) == [(1, [("a:b", "0.5"), ("c", "1")])]


def test_names_or_numbers() -> None:
    def labels(names: list[str], columns: list[str] | None, known: set[str], by: str | None = None) -> object:
        return named_labels(names, columns, known, by, where="scores")

    codes = ["401", "1", "0"]
    assert labels(["401"], codes, set(codes)) == (["401"], None)
    assert labels(["0"], codes, set(codes))[1] == (
        "labels of the scores are taken for names, though they could be lines of the label file: --scores-by number"
    )
    assert labels(["0"], codes, set(codes), "number")[0] == ["401"]
    assert labels(["0"], codes, set(codes), "name") == (["0"], None)
    assert labels(["7", "0"], codes, set(codes)) == (["7", "0"], None)  # the first is left out, and counted
    assert labels(["7"], None, {"1", "2"}) == (["7"], None)
    with pytest.raises(DataError, match="1 of 2 numbers are labels"):
        labels(["1", "2"], ["a", "1", "b"], {"a", "b", "1"})
    with pytest.raises(DataError, match="no numbers"):
        labels(["a"], ["a"], {"a"}, "number")
    with pytest.raises(DataError, match="without their lines"):
        labels(["1"], None, {"a"}, "number")
    for columns, what in ((["a", "a", "b"], "line 2: a label that another"), (["a", "", "b"], "line 2: an empty line")):
        with pytest.raises(DataError, match=what):
            labels(["1"], columns, {"a", "b"})


def test_columns_of_a_matrix() -> None:
    assert matrix_labels(2, ["a", "b"], where="x") == (
        ["a", "b"],
        "columns of the scores are taken for the labels in their order as texts; --label-file names another",
    )
    assert matrix_labels(2, ["0", "1"], where="x") == (["0", "1"], None)
    assert matrix_labels(3, ["0", "2"], where="x")[0] == ["0", "1", "2"]
    with pytest.raises(DataError, match="order of their numbers"):
        matrix_labels(11, sorted(map(str, range(11))), where="x")
    assert labels_of_scores(2, None, ["b", "a"], {"c"}, None, where="x") == (["b", "a"], ["a", "b"], None)


def test_labels_by_other_names_than_the_truth_has(tmp_path: Path) -> None:
    (tmp_path / "scores.txt").write_text("0:0.9\n1:0.8\n")
    (tmp_path / "table.tsv").write_text("0\tsepsis\n1\tasthma\n2\tfever\n")
    outcome = evaluate(tmp_path, tmp_path / "scores.txt", "--label-file", str(tmp_path / "table.tsv"))
    assert outcome.exit_code == 2
    assert "no label of the truth is in the label set" in outcome.output
    (tmp_path / "scores.txt").write_text("a:0.9\nb:0.8\n")
    outcome = evaluate(tmp_path, tmp_path / "scores.txt", "--label-file", str(tmp_path / "labels.txt"))
    assert outcome.exit_code == 2
    assert "no label of the scores is in the label set" in outcome.output


def test_label_files(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("0\tfirst name\n1\tsecond\n\n")
    assert label_columns(path) == ["0", "1"]
    path.write_text("\n")
    with pytest.raises(DataError, match="holds no label"):
        label_columns(path)
