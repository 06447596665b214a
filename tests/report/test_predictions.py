"""``plant evaluate`` and what it reads."""

from __future__ import annotations

import gzip
import json
import locale
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.files import sha256
from plant_plugin.report.predictions import evaluate_predictions, read_score_lines, read_score_matrix
from plant_plugin.report.result import write_predictions

NUMBER, LABELS = 30, [f"{name}:{number}" for name in "ab" for number in range(5)]  # colons inside


def drawn() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.random((NUMBER, len(LABELS))) < 0.2
    truth[[3, 7]] = False
    return np.round(rng.standard_normal(truth.shape) + truth, 2).astype(np.float32), truth


def lines(truth: np.ndarray) -> str:
    return "".join(" ".join(np.array(LABELS)[row]) + "\tsecret text\n" for row in truth)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scores, truth = drawn()
    (tmp_path / "test.txt").write_text(lines(truth))
    (tmp_path / "train.txt").write_text(lines(np.roll(truth, 1, axis=1)))
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    order = np.argsort(-scores, axis=1, kind="stable")
    for name, k in (("all", len(LABELS)), ("top", 4)):
        rows = ((np.array(LABELS)[o[:k]], row[o[:k]]) for o, row in zip(order, scores, strict=True))
        write_predictions(str(tmp_path / f"{name}.txt"), rows)
    top = np.zeros_like(scores)
    np.put_along_axis(top, order[:, :4], 1, axis=1)
    sp.save_npz(tmp_path / "top.npz", sp.csr_matrix(scores * top))
    np.save(tmp_path / "all.npy", scores)
    return tmp_path


def test_predictions_are_utf_8_wherever_they_are_written(tmp_path: Path) -> None:
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, "C")
        write_predictions(str(tmp_path / "predictions.txt"), [(["Änderung"], [0.5])])
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
    assert read_score_lines(tmp_path / "predictions.txt")[1] == ["Änderung"]


def invoke(folder: Path, scores: str, *arguments: str) -> Result:
    out = str(folder / "out" / "result.json")
    call = ["evaluate", "--truth", str(folder / "test.txt"), "--scores", str(folder / scores), "--out", out]
    return CliRunner().invoke(plant, [*call, *arguments])


def result(folder: Path, scores: str, *arguments: str) -> dict:
    outcome = invoke(folder, scores, *arguments)
    assert outcome.exit_code == 0, outcome.output
    return json.loads((folder / "out" / "result.json").read_text())


def expected(**options) -> dict[str, float]:
    scores, truth = drawn()
    evaluator = Evaluator(len(LABELS), **options)
    evaluator.update(scores, truth)
    return evaluator.compute()


@pytest.mark.parametrize("scores", ["all.txt", "all.npy"])
def test_whole_rankings_have_every_metric(folder: Path, scores: str) -> None:
    found = result(folder, scores, "--train", str(folder / "train.txt"), "--label-file", str(folder / "labels.txt"))
    _, truth = drawn()
    counts = np.roll(truth, 1, axis=1).sum(axis=0)
    none = np.zeros(NUMBER, dtype=int)
    assert found["metrics"] == pytest.approx(expected(train_label_counts=counts, num_train=NUMBER, outside=none))
    assert found["metrics"]["MAP-gold"] == found["metrics"]["MAP"]
    assert {"AUC-macro", "AUC-micro", "MAP", "PSP@5", "Macro-F1@0.5:1-5"} <= set(found["metrics"])
    assert found["counts"]["documents"] == NUMBER
    assert found["counts"]["documents_without_labels"] >= 2
    assert found["notes"] == ["scores taken for logit values: not all lie between 0 and 1"]
    assert "secret" not in json.dumps(found)


@pytest.mark.parametrize("scores", ["top.txt", "top.npz"])
def test_top_scores_have_what_they_tell(folder: Path, scores: str) -> None:
    found = result(folder, scores, "--label-file", str(folder / "labels.txt"), "--scores-are", "logit")
    whole = expected()
    assert set(found["metrics"]) == {
        name for name in whole if not name.startswith(("AUC", "MAP")) and not name.endswith(("@5", "@8", "@10"))
    } | {"MAP-gold"}
    assert found["metrics"]["MAP-gold"] < whole["MAP"]  # true labels behind the four best are not found
    assert "MAP-gold counts true labels without a score as not found" in found["notes"][0]
    for name in ("P@1", "P@3", "R@3", "nDCG@3"):
        assert found["metrics"][name] == pytest.approx(whole[name])
    assert "AUCs and cut-offs above 4 are left out" in found["notes"][0]
    assert "no training file" in found["notes"][-1]
    documents = load_per_document(folder / "out" / "per_document.npz")
    assert documents.top.shape == (NUMBER, 4)
    assert documents.average_precision is None


def test_cut_off_predictions_are_said(folder: Path) -> None:
    (folder / "few.txt").write_text("a:1:0.9 a:2:0.8\n" + "\n" + "a:1:0.2\n" * (NUMBER - 2))
    found = result(folder, "few.txt")
    assert found["thresholds"] == {"0.5": 0.5}
    assert any("29 documents have fewer than 2" in note for note in found["notes"])
    assert any("F1@0.5: in 1 document every score exceeds" in note for note in found["notes"])


def test_label_set_without_a_file_is_the_union(folder: Path) -> None:
    (folder / "train.txt").write_text("z\tx\n")
    (folder / "few.txt").write_text("q:0.9\n" * NUMBER)
    found = result(folder, "few.txt", "--train", str(folder / "train.txt"), "--threshold", "micro=0.3")
    assert found["counts"]["labels"] == len(LABELS) + 2
    assert found["thresholds"] == {"0.5": 0.5, "micro": 0.3}
    assert load_per_document(folder / "out" / "per_document.npz").labels == sorted([*LABELS, "q", "z"])


def test_labels_outside_the_file_are_counted(folder: Path) -> None:
    (folder / "labels.txt").write_text("\n".join(LABELS[1:]))
    found = result(folder, "all.txt", "--label-file", str(folder / "labels.txt"))
    assert found["counts"]["dropped_labels"] == drawn()[1][:, 0].sum()
    assert f"{NUMBER} scores are of labels outside" in found["notes"][-1]
    scores, truth = drawn()
    evaluator = Evaluator(len(LABELS) - 1, metrics=["MAP-gold"], outside=truth[:, 0])
    evaluator.update(scores[:, 1:], truth[:, 1:])
    assert found["metrics"]["MAP-gold"] == pytest.approx(evaluator.compute()["MAP-gold"])


def test_columns_follow_the_label_file_and_ties_the_sorted_names(folder: Path) -> None:
    (folder / "labels.txt").write_text("\n".join(reversed(LABELS)))
    np.save(folder / "all.npy", drawn()[0][:, ::-1])
    assert result(folder, "all.npy", "--label-file", str(folder / "labels.txt"))["metrics"] == pytest.approx(
        expected(outside=np.zeros(NUMBER, dtype=int))
    )


def test_the_hash_of_the_split_is_that_of_a_run(folder: Path) -> None:

    read = read_any(folder / "test.txt")
    expected_hash = read.hash()
    assert result(folder, "all.txt")["hashes"]["test"] == expected_hash


def test_texts_need_not_be_kept(folder: Path) -> None:
    read = read_any(folder / "test.txt", keep_texts=False)
    assert read.texts == [""] * NUMBER
    assert read.labels == read_any(folder / "test.txt").labels


def test_wrong_number_of_documents(folder: Path) -> None:
    (folder / "few.txt").write_text("a:1:0.9\n")
    outcome = invoke(folder, "few.txt")
    assert outcome.exit_code == 2
    assert "scores of 1 documents and truth of 30" in outcome.output


def test_wrong_number_of_columns(folder: Path) -> None:
    np.save(folder / "all.npy", drawn()[0][:, 1:])
    outcome = invoke(folder, "all.npy")
    assert outcome.exit_code == 2
    assert "9 columns, and there are 10 labels" in outcome.output


@pytest.mark.parametrize("threshold", ["micro", "micro=high", "other=0.1", "macro=nan", "micro=inf", "0.5=0.1"])
def test_wrong_threshold(folder: Path, threshold: str) -> None:
    outcome = invoke(folder, "all.txt", "--threshold", threshold)
    assert outcome.exit_code == 2
    assert "--threshold" in outcome.output
    assert not (folder / "out").exists()


def test_a_threshold_twice(folder: Path) -> None:
    outcome = invoke(folder, "all.txt", "--threshold", "micro=0.3", "--threshold", "micro=0.4")
    assert outcome.exit_code == 2
    assert "micro is given twice" in outcome.output


@pytest.mark.parametrize("out", ["top.json", "top.npz", "test.txt"])
def test_what_is_read_is_not_written_over(folder: Path, out: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    call = ["evaluate", "--truth", str(folder / "test.txt"), "--scores", str(folder / "top.npz")]
    call += ["--label-file", str(folder / "labels.txt"), "--out", str(folder / out)]
    outcome = CliRunner().invoke(plant, call)
    assert outcome.exit_code == 2
    assert ("does not end in .json" if out != "top.json" else "top.npz: this is read, and would be") in outcome.output
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_empty_label_file_is_refused(folder: Path) -> None:
    (folder / "labels.txt").write_text("\n")
    outcome = invoke(folder, "all.txt", "--label-file", str(folder / "labels.txt"))
    assert outcome.exit_code == 2
    assert "the label file holds no label" in outcome.output


def test_byte_order_marks_and_compressed_scores_change_nothing(folder: Path) -> None:
    plain = result(folder, "all.txt", "--label-file", str(folder / "labels.txt"))
    mark = b"\xef\xbb\xbf"
    (folder / "all.txt.gz").write_bytes(gzip.compress(mark + (folder / "all.txt").read_bytes()))
    (folder / "labels.txt").write_bytes(mark + (folder / "labels.txt").read_bytes())
    found = result(folder, "all.txt.gz", "--label-file", str(folder / "labels.txt"))
    assert (found["metrics"], found["hashes"]) == (plain["metrics"], plain["hashes"])


def test_entries_without_a_score_do_not_decide_the_unit(folder: Path) -> None:
    scores, _ = drawn()
    probabilities = 1 / (1 + np.exp(-scores))
    probabilities[:, 0] = -np.inf
    np.save(folder / "all.npy", probabilities)
    found = result(folder, "all.npy", "--label-file", str(folder / "labels.txt"))
    assert found["thresholds"] == {"0.5": 0.5}
    assert found["notes"][0].startswith(f"{NUMBER} entries are -inf")


def test_no_document_with_labels_has_no_average_precision() -> None:
    truth = sp.csr_matrix((2, 3), dtype=np.float32)
    found = evaluate_predictions(np.zeros((2, 3), np.float32), truth, ["a", "b", "c"], unit="logit")[0]
    assert "MAP" not in found["metrics"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a:1.0 b", "not label:score"),
        ("a:one", "not label:score"),
        (":1.0", "without a label"),
        ("a:nan", "no finite number"),
        ("a:1e39", "no finite number"),  # of float32
        ("a:1 a:2", "label twice"),
        ("a:0.9,b:0.4", "comma after a score"),
    ],
)
def test_bad_lines_are_named_by_number(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "scores.txt"
    path.write_text(f"a:1\n\n{line}\n")
    with pytest.raises(DataError, match=f"line 3: the line holds .*{message}"):
        read_score_lines(path)


@pytest.mark.parametrize("name", ["scores.npz", "scores.npy"])
def test_pickles_torn_and_missing_files_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(DataError, match="no such file"):
        read_score_matrix(path)
    path.write_bytes(b"torn")
    with pytest.raises(DataError, match="not a matrix of scores"):
        read_score_matrix(path)
    harmful = np.array([[{"a": 1}]], dtype=object)
    with path.open("wb") as stream:
        np.savez(stream, data=harmful, format=harmful) if name.endswith("z") else np.save(stream, harmful)
    with pytest.raises(DataError, match="not a matrix of scores"):
        read_score_matrix(path)


def test_missing_lines_and_infinite_entries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_score_lines(tmp_path / "none.txt")
    sp.save_npz(tmp_path / "scores.npz", sp.csr_matrix([[np.inf, 1.0]]))
    with pytest.raises(DataError, match="no finite number"):
        read_score_matrix(tmp_path / "scores.npz")
    for bad in (np.nan, np.inf):
        np.save(tmp_path / "scores.npy", np.array([[-np.inf, 1.0], [1.0, bad]]))
        with pytest.raises(DataError, match=r"scores.npy, row 2: a score is no finite number"):
            read_score_matrix(tmp_path / "scores.npy")


def test_matrices_of_another_shape_than_they_say_are_refused(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "one.npz", sp.coo_array(np.array([1.0, 2.0])))
    beyond = sp.csr_matrix(np.ones((1, 2)))
    beyond.indices[1] = 7
    sp.save_npz(tmp_path / "beyond.npz", beyond)
    for name in ("one", "beyond"):
        with pytest.raises(DataError, match="not a matrix of scores"):
            read_score_matrix(tmp_path / f"{name}.npz")


def test_macro_f1_of_three_programs_on_one_fixture() -> None:
    # By hand: F1 of the three labels 1, 2/3 and 0/0; the third never occurs and is never predicted. Precision is
    # 1, 1/2, 0; recall 1, 1, 0. LibMultiLabel: (1 + 2/3 + 0) / 3; Edin: over the two that occur; CAML: harmonic mean.
    truth = sp.csr_matrix(np.array([[1, 1, 0], [1, 0, 0]]))
    scores = np.array([[1, 1, -1], [1, 1, -1]], dtype=np.float32)
    found = evaluate_predictions(scores, truth, ["a", "b", "c"], unit="logit")[0]["metrics"]
    assert found["Macro-F1@0.5"] == pytest.approx(5 / 9)
    assert found["Macro-F1-present@0.5"] == pytest.approx(5 / 6)
    assert found["Macro-F1-caml@0.5"] == pytest.approx(4 / 7)


def test_propensity_scored_precision_is_a_ratio_of_sums() -> None:
    # pyxclib divides sums over documents. Weights by hand for N = 10: 1 + (ln 10 - 1)·2.5^0.55·(N_l + 1.5)^-0.55.
    truth = sp.csr_matrix(np.array([[1, 0], [0, 1]]))
    scores = np.array([[2, 1], [2, 1]], dtype=np.float32)
    found = evaluate_predictions(scores, truth, ["a", "b"], train_counts=np.array([8, 1]), num_train=10, unit="logit")
    frequent, rare = (1 + (np.log(10) - 1) * 2.5**0.55 * (n + 1.5) ** -0.55 for n in (8, 1))
    assert found[0]["metrics"]["PSP@1"] == pytest.approx(frequent / (frequent + rare))  # the mean of ratios is 0.5


@pytest.mark.parametrize("scores", ["all.txt", "all.npy"])
def test_filtered_pairs_count_neither_way(folder: Path, scores: str) -> None:
    _, truth = drawn()
    rows, columns = np.nonzero(truth)
    chosen = sp.csr_matrix((np.ones(9), (rows[::3][:9], columns[::3][:9])), shape=truth.shape)
    pairs = zip(*chosen.nonzero(), strict=True)
    (folder / "filter.txt").write_text("".join(f"{row}\t{LABELS[column]}\n" for row, column in pairs))
    given = ["--label-file", str(folder / "labels.txt")]
    found = result(folder, scores, *given, "--test-filter", str(folder / "filter.txt"))
    none = np.zeros(NUMBER, dtype=int)
    assert found["metrics"] == pytest.approx(expected(outside=none, removed=chosen))
    assert found["hashes"]["test_filter"] == sha256(folder / "filter.txt")
    assert found["metrics"]["P@1"] != result(folder, scores, *given)["metrics"]["P@1"]
