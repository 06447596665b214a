"""``plant compare``: grouping, refusals, tests, formats."""

from __future__ import annotations

import html.parser
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.report.compare import AVERAGE, FIELDS, compare
from plant_plugin.report.formats import as_json, markdown, page
from plant_plugin.report.published import published
from plant_plugin.report.read_systems import load_systems
from plant_plugin.report.result import plain, save_result

NUMBER, LABELS = 80, [f"l{number:02d}" for number in range(20)]
TRUTH = np.random.default_rng(1).random((NUMBER, len(LABELS))) < 0.15
METRICS = ["P@1", "P@5", "PSP@5", "MAP", "Micro-F1@micro", "Macro-F1@macro", "Macro-F1-present@macro"]


def write(
    path: Path,
    seed: int | None,
    quality: float,
    *,
    labels: int = len(LABELS),
    test: str = "split",
    per_document: bool = True,
    model: str = "M",
    counts: np.ndarray | None = None,
) -> None:
    counts = np.arange(len(LABELS)) if counts is None else counts
    scores = np.random.default_rng(seed).standard_normal(TRUTH.shape) + quality * (2 * TRUTH - 1)
    thresholds = {"0.5": 0.0, "micro": 0.5, "macro": 0.2}
    evaluator = Evaluator(
        labels,
        train_label_counts=counts[:labels],
        num_train=500,
        thresholds=thresholds,
        outside=TRUTH[:, labels:].sum(axis=1),
        keep_documents=True,
    )
    evaluator.update(scores[:, :labels], TRUTH[:, :labels])
    result = {
        "dataset": "made <up>",
        "model": model,
        "strategy": "plant",
        "seed": seed,
        "split": "test",
        "metrics": plain(evaluator.compute()),
        "counts": {**evaluator.counts, "dropped_labels": int(TRUTH[:, labels:].sum())},
        "hashes": {"test": test, "labels": f"{labels} labels", "train": "training"},
    }
    save_result(path, result, evaluator.per_document(LABELS[:labels]) if per_document else None)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for seed in (1, 2, 3):
        write(tmp_path / "good" / f"seed{seed}.json", seed, 2.0)
    for seed in (4, 5, 6):
        write(tmp_path / "bad_one" / f"seed{seed}.json", seed, 0.3)
    return tmp_path


def of(folder: Path) -> list[str]:
    """The results of a folder as the seeds of one system."""
    return [f"{folder.name}={path}" for path in sorted(folder.glob("seed*.json"))]


def both(results: Path) -> list[str]:
    return [*of(results / "good"), *of(results / "bad_one")]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(plant, ["compare", *arguments])


def test_marks_means_and_best(results: Path) -> None:
    table = compare(load_systems(both(results)), "bad_one", metrics=METRICS, resamples=50)
    values = [json.loads(path.read_text())["metrics"]["P@5"] for path in sorted((results / "good").glob("*.json"))]
    cell = table.cells["good", "P@5"]
    assert (cell.mean, cell.deviation) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    for metric in METRICS:
        found = table.cells["good", metric]
        assert found.mark == "▲", metric
        assert found.best
        assert found.test is not None
        assert found.test.gain == pytest.approx(found.mean - table.cells["bad_one", metric].mean, abs=1e-6)
        assert table.cells["bad_one", metric].mark == ""
        assert not table.cells["bad_one", metric].best
    assert (
        compare(load_systems(both(results)), "good", metrics=["MAP"], resamples=50).cells["bad_one", "MAP"].mark == "▼"
    )


def test_noise_gets_no_mark(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        write(tmp_path / "one" / f"seed{seed}.json", seed, 1.0)
        write(tmp_path / "two" / f"seed{seed + 3}.json", seed + 3, 1.0)
    table = compare(load_systems([*of(tmp_path / "one"), *of(tmp_path / "two")]), "two", metrics=["P@1"], resamples=200)
    assert (table.cells["one", "P@1"].mark, table.cells["one", "P@1"].test.verdict) == ("", "no difference")


def test_runs_of_one_seed_are_paired_and_too_few_get_no_mark(results: Path) -> None:
    """The gain is of the seeds that both have, the columns are of all."""
    for seed in (2, 3, 4):
        write(results / "other" / f"seed{seed}.json", seed, 0.1)
    systems = load_systems([*of(results / "good"), *of(results / "other")])
    cell = compare(systems, "other", metrics=["P@5"], resamples=50).cells["good", "P@5"]
    (_, second, third), (first_of_other, second_of_other, _) = (system.values("P@5") for system in systems)
    assert cell.test.gain == pytest.approx((second + third - first_of_other - second_of_other) / 2, abs=1e-6)
    assert (cell.test.seeds, cell.test.verdict, cell.mark) == (2, "too few seeds", "")


def test_without_per_document_values_there_are_means_only(results: Path) -> None:
    write(results / "bare" / "seed1.json", 1, 2.0, per_document=False)
    table = compare(load_systems([*both(results), *of(results / "bare")]), "bad_one", metrics=["P@1"], resamples=10)
    assert table.cells["bare", "P@1"].test is None
    assert table.cells["good", "P@1"].test is not None
    assert "bare: no tests, because bare came without per-document values" in table.notes


@pytest.mark.parametrize("per_document", [True, False])
def test_other_label_sets(results: Path, per_document: bool) -> None:
    write(results / "fewer" / "seed1.json", 1, 2.0, labels=18, per_document=per_document)
    table = compare(load_systems([*both(results), *of(results / "fewer")]), "bad_one", metrics=METRICS, resamples=20)
    assert table.cells["fewer", "P@1"].obstacle is None
    for metric in METRICS[2:]:
        assert table.cells["fewer", metric].obstacle, metric
        assert not table.cells["fewer", metric].best
    gold = compare(load_systems([*both(results), *of(results / "fewer")]), "bad_one", metrics=["MAP-gold"], resamples=9)
    cell = gold.cells["fewer", "MAP-gold"]
    assert cell.obstacle is None  # the true labels of the test split, whoever knows them
    assert (cell.test is not None) == per_document
    assert any("L = 18 against 20" in note for note in table.notes)
    assert table.cells["fewer", "PSP@5"].test is None
    if per_document:
        assert any("over the 20 labels that it or bad_one knows" in note for note in table.notes)
        assert table.cells["fewer", "Macro-F1@macro"].test is not None


@pytest.mark.parametrize("unseen", [True, False])
def test_common_ground_is_scoring_the_unknown_labels_as_never_found(tmp_path: Path, unseen: bool) -> None:
    counts = np.arange(20)
    if unseen:
        counts[18:] = 0  # what the smaller label set lacks has no training document
    write(tmp_path / "fewer" / "seed1.json", 1, 2.0, labels=18, counts=counts)
    write(tmp_path / "all" / "seed2.json", 2, 0.5, counts=counts)
    metrics = [*METRICS, "MAP-gold", "R@5", "nDCG@5", "Macro-F1@macro:1-5", "AUC-micro"]
    systems = load_systems([*of(tmp_path / "fewer"), *of(tmp_path / "all")])
    table = compare(systems, "all", metrics=metrics, resamples=5)
    scores = np.random.default_rng(1).standard_normal(TRUTH.shape) + 2.0 * (2 * TRUTH - 1)
    scores[:, 18:] = -np.inf
    evaluator = Evaluator(20, metrics=table.metrics, train_label_counts=counts, num_train=500,
                          thresholds={"micro": 0.5, "macro": 0.2}, outside=np.zeros(NUMBER))  # fmt: skip
    evaluator.update(scores, sp.csr_matrix(TRUTH))
    expected = evaluator.compute()
    tested = {metric for metric in table.metrics if table.cells["fewer", metric].test is not None}
    # Bins and propensities need the same training counts of every label that either knows.
    assert {*metrics} - tested == {"AUC-micro"} | (set() if unseen else {"PSP@5", "Macro-F1@macro:1-5"})
    for metric in tested:
        gain = expected[metric] - table.cells["all", metric].mean
        assert table.cells["fewer", metric].test.gain == pytest.approx(gain, abs=1e-6), metric


def test_the_same_labels_with_nothing_dropped_compare_present_labels(results: Path) -> None:
    systems = load_systems(both(results))
    larger = [f"l{number:02d}" for number in range(21)]
    for result in systems[0].results:
        result["hashes"]["labels"], result["counts"]["labels"] = "21 labels", 21
    systems[0].documents = [documents.under(larger) for documents in systems[0].documents]
    table = compare(systems, "bad_one", metrics=METRICS, resamples=20)
    assert table.cells["good", "Macro-F1-present@macro"].obstacle is None
    assert table.cells["good", "Micro-F1@micro"].obstacle is None
    assert "mean over all labels" in str(table.cells["good", "Macro-F1@macro"].obstacle)
    assert table.cells["good", "PSP@5"].obstacle


def test_other_training_counts_forbid_propensities_only(results: Path) -> None:
    systems = load_systems(both(results))
    systems[0].documents = [replace(documents, num_train=77) for documents in systems[0].documents]
    table = compare(systems, "bad_one", metrics=["PSP@5", "P@5"], resamples=5)
    assert "training counts" in str(table.cells["good", "PSP@5"].obstacle)
    assert table.cells["good", "P@5"].obstacle is None
    systems = load_systems(both(results))
    systems[0].documents[-1] = replace(systems[0].documents[-1], num_train=77)  # of one seed alone
    assert "training counts" in str(
        compare(systems, "bad_one", metrics=["PSP@5"], resamples=5).cells["good", "PSP@5"].obstacle
    )


def test_a_mean_over_pairs_that_cannot_be_compared_is_left_out_and_told(results: Path) -> None:
    write(results / "fair" / "seed6.json", 6, 1.0)
    write(results / "fine" / "seed7.json", 7, 2.0)
    systems = load_systems([path for name in ("fair", "fine") for path in of(results / name)])
    systems[0].documents = [replace(documents, num_train=77) for documents in systems[0].documents]
    table = compare(systems, "fine", metrics=["PSP@5"], pairs=[("fair", "fine")], resamples=5)
    assert (AVERAGE, "PSP@5") not in table.cells
    assert f"{AVERAGE}: no tests of PSP@5: not comparable, or not kept document by document" in table.notes


def test_other_test_splits_are_refused(results: Path) -> None:
    write(results / "other" / "seed1.json", 1, 2.0, test="another split")
    outcome = invoke(*both(results), *of(results / "other"), "--baseline", "good")
    assert outcome.exit_code == 2
    assert "different test splits" in outcome.output


@pytest.mark.parametrize("rows", [slice(None, None, -1), slice(1, None)], ids=["backwards", "one less"])
def test_documents_in_another_order_are_refused(results: Path, rows: slice) -> None:
    systems = load_systems(both(results))
    systems[0].documents = [replace(documents, truth=documents.truth[rows]) for documents in systems[0].documents]
    with pytest.raises(DataError, match="cannot be paired"):
        compare(systems, "bad_one", resamples=5)


def test_seeds_of_different_splits_or_labels_are_refused(results: Path) -> None:
    write(results / "good" / "seed9.json", 9, 2.0, labels=18)
    with pytest.raises(DataError, match="different label sets"):
        load_systems(both(results))
    write(results / "good" / "seed9.json", 9, 2.0, test="another split")
    with pytest.raises(DataError, match="different test splits"):
        load_systems(both(results))
    write(path := results / "good" / "seed9.json", 9, 2.0)
    result = json.loads(path.read_text())
    save_result(path, {**result, "hashes": {**result["hashes"], "test_filter": "a file"}})
    with pytest.raises(DataError, match="different filters"):
        load_systems(both(results))


def test_values_of_another_run_are_refused(results: Path) -> None:
    (results / "good" / "seed1.npz").write_bytes((results / "bad_one" / "seed4.npz").read_bytes())
    with pytest.raises(DataError, match="give another"):
        load_systems(both(results))


def test_names_of_systems(tmp_path: Path) -> None:
    for number, folder in enumerate(("run1", "run2")):
        write(tmp_path / folder / "result.json", number, 1.0)
    first, second = str(tmp_path / "run1"), str(tmp_path / "run2" / "result.json")
    assert [(system.name, len(system.results)) for system in load_systems([first, second])] == [("M plant", 2)]
    assert [system.name for system in load_systems([f"a={first}", second])] == ["a", "M plant"]
    with pytest.raises(DataError, match="two results of seed 0"):
        load_systems([first, first])


def test_files_of_other_names_are_called_by_their_model(tmp_path: Path) -> None:
    for model in ("good", "bad"):
        write(tmp_path / f"{model}.json", None, 1.0, model=model)
    files = [str(tmp_path / f"{model}.json") for model in ("good", "bad")]
    assert [system.name for system in load_systems(files)] == ["good plant", "bad plant"]


def test_without_tuned_thresholds_f1_is_that_at_a_half(results: Path) -> None:
    for path in results.glob("*/seed*.json"):
        result = json.loads(path.read_text())
        result["metrics"] = {n: v for n, v in result["metrics"].items() if "@micro" not in n and "@macro" not in n}
        save_result(path, result)
    table = compare(load_systems(both(results)), "good", resamples=5)
    assert {"Micro-F1@0.5", "Macro-F1@0.5", "Macro-F1-present@0.5"} <= set(table.metrics)


def test_metrics_are_asked_for_by_any_of_their_names(results: Path) -> None:
    assert compare(load_systems(both(results)), "good", metrics=["NDCG@5"], resamples=5).metrics == ["nDCG@5"]
    with pytest.raises(DataError, match=r"no result has Micro-F1@0.3\n.*Micro-F1@0.5, Micro-F1@macro, Micro-F1@micro"):
        compare(load_systems(both(results)), "good", metrics=["Micro-F1@0.3"])


@pytest.mark.parametrize(("content", "message"), [(None, "No such file"), ("{", "not a result"), ("{}", "no metrics")])
def test_what_is_no_result(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "result.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=message):
        load_systems([str(path)])


def test_a_folder_without_results(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        load_systems([str(tmp_path)])


def test_unknown_baseline_metric_and_ending(results: Path) -> None:
    with pytest.raises(ConfigError, match="no result is called 'x'"):
        compare(load_systems(both(results)), "x")
    with pytest.raises(ConfigError, match="no metric"):
        compare(load_systems(both(results)), "good", metrics=["P@0"])
    with pytest.raises(DataError, match="no result has P@7"):
        compare(load_systems(both(results)), "good", metrics=["P@7"])
    outcome = invoke(*both(results), "--baseline", "good", "--out", str(results / "table.doc"))
    assert outcome.exit_code == 2
    assert ".html" in outcome.output
    for read in (results / "good" / "seed1.json", results / "bad_one" / "seed4.json"):
        kept = read.read_bytes()
        outcome = invoke(*both(results), "--baseline", "good", "--out", str(read))
        assert f"{read.name}: this is read, and would be replaced" in outcome.output
        assert read.read_bytes() == kept


class Page(html.parser.HTMLParser):
    """Collects tags, in order to see that every one is closed and that nothing is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_formats(results: Path) -> None:
    write(results / "a<b&_$" / "seed1.json", 1, 2.0, labels=18)
    paths = [*both(results), *of(results / "a<b&_$")]
    table = compare(load_systems(paths), "bad_one", metrics=["P@5", "MAP"], resamples=50)
    text = markdown(table)
    cell = table.cells["good", "P@5"]
    assert f"| good | 3 | **{100 * cell.mean:.1f} ± {100 * cell.deviation:.1f}** ▲ |" in text
    assert f"{100 * cell.test.low:+.2f} to {100 * cell.test.high:+.2f} | 3 | better |" in text
    assert "| 1 | too few seeds |" in text  # of the system with one seed
    found = Page()
    found.feed(page(table, {"caption <x>": b"<svg/>"}))
    assert not found.open
    assert found.sources == ["data:image/svg+xml;base64,PHN2Zy8+"]
    assert "made <up>, test split" in found.text
    assert "a<b&_$" in found.text
    assert "caption <x>" in found.text


def test_published_rows_stand_in_every_format_and_in_no_test(results: Path) -> None:
    papers = published("mimic3_rare50")
    table = compare(load_systems(both(results)), "bad_one", published=papers, resamples=20)
    assert table.metrics == list(FIELDS["icd"])
    assert {system for system, _ in table.cells} == {"good", "bad_one"}
    text = markdown(table)
    row = next(line for line in text.splitlines() if line.startswith("| KEPTLongformer (published, 1, 2) | – |"))
    assert row == "| KEPTLongformer (published, 1, 2) | – | 82.7 | 83.3 | 30.4 | 32.6 | – | – | – | – | – |"
    told, below = text.split("Published of MIMIC-III, 50 rare codes (Yang et al. 2022): not run again and not tested")
    assert "KEPTLongformer" not in told.split("Gain over bad_one")[1]
    assert "Table 3; its own: PLANT, the others as it reports them" in below
    assert "counts relevance on all rows" in below
    found = Page()
    found.feed(page(table))
    assert not found.open
    assert "KEPTLongformer (published, 1, 2)" in found.text
    assert "counts relevance on all rows" in found.text
    content = json.loads(as_json(table))
    assert content["published"]["rows"][0]["values"] == {"Macro-F1": 0.228, "Micro-F1": 0.233}
    cell = next(cell for cell in content["cells"] if (cell["system"], cell["metric"]) == ("good", "P@5"))
    assert (cell["mean"], cell["mark"], cell["verdict"], cell["test"]["gain"]) == (
        table.cells["good", "P@5"].mean, "▲", "better", table.cells["good", "P@5"].test.gain,
    )  # fmt: skip


def test_published_results_of_another_number_of_test_documents_are_noticed(results: Path) -> None:
    line = f"published results are of 1,729 test documents, those compared here of {NUMBER}: not one benchmark"
    call = (*both(results), "--baseline", "good", "--metric", "P@5", "--resamples", "5", "--published")
    assert invoke(*call, "mimic3_50").output.count(line) == 1
    assert "not one benchmark" not in invoke(*call, "mimic3_rare50").output  # whose number no source tells
    papers = published("codiesp")
    papers.benchmark = replace(papers.benchmark, test=NUMBER)
    assert papers.other_documents(NUMBER) == []


def test_columns_are_those_of_a_field_as_far_as_results_have_them(results: Path) -> None:
    for path in results.glob("*/seed*.json"):
        result = json.loads(path.read_text())
        result["metrics"].pop("PSP@3")  # as in a result of before
        save_result(path, result)
    for field in FIELDS:
        printed = invoke(*both(results), "--baseline", "bad_one", "--columns", field, "--resamples", "5").output
        expected = [name for name in FIELDS[field] if name != "PSP@3"]
        assert f"| system | seeds | {' | '.join(expected)} |" in printed
    asked = invoke(
        *both(results), "--baseline", "good", "--published", "codiesp", "--metric", "MAP", "--resamples", "5"
    )
    assert "| system | seeds | MAP |" in asked.output
    assert "| best of the shared task (published, 1) | – | – |" in asked.output
    refused = invoke(*both(results), "--baseline", "good", "--published", "mimic5")
    assert refused.exit_code == 2
    assert "choose one of mimic3_full, mimic3_50" in refused.output


def test_the_average_gain_is_the_mean_of_what_pairs_gain(results: Path) -> None:
    for seed in (7, 8, 9):
        write(results / "fair" / f"seed{seed}.json", seed, 1.0)
        write(results / "fine" / f"seed{seed}.json", seed + 4, 2.0)
    paths = [path for name in ("bad_one", "fair", "fine") for path in of(results / name)]
    pairs = [("fine", "bad_one"), ("fair", "bad_one"), ("fine", "fair")]
    table = compare(load_systems(paths), "bad_one", metrics=METRICS, pairs=pairs, resamples=100)
    for metric in METRICS:
        mean = {name: table.cells[name, metric].mean for name in table.systems}
        expected = np.mean([mean[one] - mean[other] for one, other in pairs])
        test = table.cells[AVERAGE, metric].test
        assert test.gain == pytest.approx(expected, abs=1e-6)
        assert test.low < expected < test.high
    assert "average gain: the mean of fine over bad_one; fair over bad_one; fine over fair" in table.notes
    text = markdown(table)
    assert "| average gain | P@1 | +" in text
    assert text.split("Gain over")[0].count("average gain") == 0
    call = ("--baseline", "bad_one", "--metric", "P@5", "--resamples", "9")
    printed = invoke(*paths, *call, "--pair", "fine", "bad_one", "--pair", "fair", "bad_one")
    assert "| average gain | P@5 | +" in printed.output
    write(results / "bare" / "seed1.json", 1, 2.0, per_document=False)
    bare = invoke(*paths, *of(results / "bare"), *call, "--pair", "bare", "bad_one")
    assert "a mean over pairs needs per-document values" in bare.output
    unknown = invoke(*paths, *call, "--pair", "fine", "x")
    assert "--pair: no result is called 'x'" in unknown.output
    write(results / "fewer" / "seed1.json", 1, 2.0, labels=18)
    write(results / "fewer" / "seed2.json", 2, 2.0, labels=18)
    other = invoke(*paths, *of(results / "fewer"), *call, "--pair", "fewer", "bad_one")
    assert "the systems know different labels" in other.output


def test_the_command_prints_or_writes(results: Path) -> None:
    call = [*both(results), "--baseline", "bad_one", "--metric", "P@5", "--resamples", "20"]
    printed = invoke(*call)
    assert printed.exit_code == 0, printed.output
    assert "| good | 3 |" in printed.output
    outs = [results / f"table{ending}" for ending in (".md", ".html", ".json")]
    written = invoke(*call, *(argument for out in outs for argument in ("--out", str(out))))
    assert written.exit_code == 0, written.output
    assert outs[0].read_text() == printed.output
    assert outs[1].read_text().count("data:image/svg+xml") == 1  # gains
    assert json.loads(outs[2].read_text())["published"] is None


def test_without_matplotlib_the_page_has_no_picture(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    out = results / "table.html"
    outcome = invoke(*both(results), "--baseline", "good", "--metric", "P@5", "--resamples", "5", "--out", str(out))
    assert outcome.exit_code == 0
    assert "plant-plugin[pictures]" in outcome.output
    assert "<img" not in out.read_text()
