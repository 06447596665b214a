"""Definitions of experiments, the runner, and the pages made of its results."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_from
import numpy as np
import pytest
import run as runner
import tables
import yaml
from attention import across_documents, across_seeds, cosine
from definitions import Planned, datasets_of, load_definitions, packaged, plan, results_folder
from experiment_pages import column, figures, gone, label_f1, processors, rising, rows_of
from kept_results import change_runs, files_of, read_results, read_runs
from made_up_runs import LABELS, words, write_run
from matplotlib.text import Text
from tiny_language_models import write_language_model, write_tokenizer

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.thresholds import Tuned
from plant_plugin.report import published
from plant_plugin.report.compare import FIELDS
from plant_plugin.report.label_statistics import write_label_statistics
from plant_plugin.report.systems import System

DATA_SETS = ("eurlex6k", "eurlex57k")
# Factors are for convolutions, and EURLEX57K's network is recurrent.
OF_ONE_DATA_SET = {
    "evidence_parts": ["codiesp"], "backbones": ["codiesp_en"], "claims": ["codiesp_en", "eurlex6k"],
    "clinical_defaults": ["codiesp_en", "eurlex6k"], "l2r": ["codiesp_en", "bc5cdr"],
}  # fmt: skip
PLANS = [(name, dataset) for name in load_definitions() for dataset in OF_ONE_DATA_SET.get(name, DATA_SETS)]
EVERYWHERE = {"plant", "laat", "multi_res_cnn", "bigru_lwan", "caml", "attention_xml", "linear"}


@pytest.mark.parametrize(("experiment", "dataset"), PLANS)
def test_every_run_names_flags_that_a_configuration_has(
    experiment: str, dataset: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("plant_plugin.config.rules._check_files", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    names = Path("data", dataset, "label_names.tsv")
    names.parent.mkdir(parents=True)
    names.touch()
    for name in ("train", "valid"):
        evidence = Path("data", "codiesp", "es_diagnoses", f"{name}_evidence.tsv")
        evidence.parent.mkdir(parents=True, exist_ok=True)
        evidence.touch()
    runs, missing = plan(experiment, dataset, [1])
    of_some = {"evidence", "text", "unplanted", "planted_laat"} if experiment == "coding" else set()
    assert set(missing) <= {"attention_xml"} | of_some
    assert len({planned.name for planned in runs}) == len(runs) > 1
    for planned in runs:
        assert planned.config.seed == 1
        assert planned.config.as_dict()["data_name"] == dataset


@pytest.mark.parametrize(
    ("dataset", "run"),
    [
        ("codiesp", EVERYWHERE | {"text", "unplanted", "planted_laat"}),
        ("codiesp_procedures", EVERYWHERE),
        ("codiesp_en", EVERYWHERE | {"planted_laat"}),
        ("bc5cdr", EVERYWHERE | {"evidence", "planted_laat"}),
    ],
)
def test_coding_runs_what_a_data_set_has(
    dataset: str, run: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("plant_plugin.config.rules._check_files", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    runs, _ = plan("coding", dataset, [1])
    assert {planned.variant for planned in runs} == run
    for planned in runs:
        for name in packaged(planned.config_name).get("evidence", {}).values():
            if str(name).startswith("data/"):
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).touch()
        assert planned.config.as_dict()["data_name"].startswith(dataset), planned.variant


def test_variants_train_as_long_as_the_packaged_configuration(tiny: Path) -> None:
    content = yaml.safe_load(Path("plant_tiny.yml").read_text()) | {"stage1": {"epochs": 1}}
    content["stage2"]["epochs"] = 3
    Path("plant_tiny.yml").write_text(yaml.safe_dump(content))
    ranked, single = plan("ablations", "tiny", [3], variants=["full", "single_stage_bce"])[0]
    assert (ranked.flags["stage2.epochs"], ranked.config.stage1.epochs) == (3, 1)
    assert (single.flags["strategy"], single.flags["stage2.epochs"], single.seed) == ("end_to_end", 4, 3)


def test_a_grid_runs_each_variant_with_each_value() -> None:
    runs, _ = plan("training_size", "demo", [1, 2], variants=["plant", "end_to_end"])
    assert len(runs) == 2 * 5 * 2
    assert {planned.share for planned in runs} == {0.05, 0.1, 0.25, 0.5, 1.0}
    assert runs[0].name == "plant_0.05"
    assert all("training_share" not in planned.flags for planned in runs)


def test_a_data_set_may_take_the_flags_of_another_experiment(tiny: Path) -> None:
    definitions = load_definitions()
    differs = {"seeds": 2, "flags_of": "claims", "flags": {"stage1.epochs": 3}, "both_stages": 7}
    definitions["ablations"]["datasets"] = {"tiny": differs}
    runs, _ = plan("ablations", "tiny", definitions=definitions)
    full, single = (next(one for one in runs if one.name == name) for name in ("full", "single_stage_focal"))
    of_claims = definitions["claims"]["flags"]
    assert {planned.seed for planned in runs} == {1, 2}
    assert full.flags["stage1.learning_rate"] == of_claims["stage1.learning_rate"]
    assert (full.flags["stage1.epochs"], full.flags["network_config.planted_prior"]) == (
        3,
        "none",
    )  # data set, ablations
    assert full.flags["stage2.epochs"] == of_claims["stage2.epochs"]
    assert single.flags["stage2.epochs"] == 7
    assert "refit" not in plan("ablations", "demo", [1], definitions=definitions)[0][0].flags


def test_parts_may_get_as_many_steps_as_all(tiny: Path) -> None:
    content = yaml.safe_load(Path("plant_tiny.yml").read_text()) | {"patience": 3}
    Path("plant_tiny.yml").write_text(yaml.safe_dump(content | {"stage1": {"epochs": 4, "patience": 2}}))
    runs, _ = plan("training_size_equal_steps", "tiny", [1], variants=["two_stages"])
    found = {planned.share: planned.config for planned in runs}
    for share, times in ((0.125, 8), (0.25, 4), (0.5, 2), (1.0, 1)):
        stage1, stage2 = found[share].stage1, found[share].stage2
        assert (stage1.epochs, stage1.patience) == (4 * times, 2 * times), share
        assert (stage2.epochs, found[share].patience) == (content["stage2"]["epochs"] * times, 3 * times), share
    assert "stage2.epochs" not in runs[-1].flags


def test_variants_without_chance_have_one_seed(tiny: Path) -> None:
    runs, _ = plan("main", "tiny", variants=["plant", "linear"])
    assert [(planned.variant, planned.seed) for planned in runs] == [
        ("plant", 1), ("linear", 1), ("plant", 2), ("plant", 3),
    ]  # fmt: skip
    assert len(plan("main", "tiny", [2], variants=["linear"])[0]) == 1  # who asks for it gets it


def test_what_is_wrong_in_a_definition_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no variant nothing"):
        plan("main", "demo", [1], variants=["nothing"])
    with pytest.raises(ConfigError, match=r"no variant closed_form, gone: queries by least squares gain no more"):
        plan("main", "demo", [1], variants=["closed_form"])
    for content, message in (
        ("a: {variant: 1}", "no key variant"),
        ("a: {question: b}", "no variants"),
        ("a: {variants: {b: {}}, gone: {b: no gain}}", "a: gone: b cannot be gone and among the variants"),
        ("a: {variants: {b: {}}, in_readme: [b, c]}", "a: in_readme: there is no variant c"),
        ("a: {variants: {b: {}}, datasets: {d: {seed: 1}}}", "a: datasets, d: there is no key seed"),
        ("a: {variants: {b: {}}, datasets: {d: {flags_of: c}}}", "a: datasets, d: there is no experiment c"),
    ):
        (tmp_path / "wrong.yml").write_text(content)
        with pytest.raises(ConfigError, match=message):
            load_definitions(tmp_path / "wrong.yml")


def test_a_variant_without_configuration_is_told(tiny: Path) -> None:
    runs, missing = plan("main", "tiny", [1], variants=["plant", "laat", "linear"])
    assert ([planned.variant for planned in runs], missing) == (["plant", "linear"], ["laat"])


def test_flags_on_the_command_line() -> None:
    flags = {"stage2.hard_negatives": None, "monitor_metrics": ["Loss", "P@5"], "strategy": "plant", "silent": True}
    found = runner.flags_of(Planned("main", "v", None, "plant_demo.yml", flags, 2))
    assert found == ["--config", "plant_demo.yml", "--seed", "2", "--silent", "--stage2.hard_negatives", "null",
                     "--monitor_metrics", "Loss", "P@5", "--strategy", "plant", "--silent", "true"]  # fmt: skip


def test_results_are_kept_with_their_epochs_and_not_made_again(tiny: Path, calls: list[list[str]]) -> None:
    runs, _ = plan("main", "tiny", [1], variants=["plant", "linear"])
    folder = results_folder(tiny / "results", "main", "tiny")
    for _ in range(2):
        assert runner.run_experiment(runs, folder, tiny / "work") == []
    assert [words[1] for words in calls] == ["plant_tiny.yml", "linear_tiny.yml"]
    run = read_runs(folder)["plant", 1]
    kept = run.result
    assert kept["experiment"] == {"name": "main", "variant": "plant", "value": None}
    assert kept["epochs"] == {"stage1": [{"attention-nDCG@20": 0.25}], "val": [{"P@5": 0.5}]}
    assert "secret" not in json.dumps(kept)
    assert run.documents is not None
    assert not list((tiny / "work").rglob("result.json"))


def test_an_interrupted_run_goes_on(tiny: Path, calls: list[list[str]]) -> None:
    (planned,), _ = plan("main", "tiny", [1], variants=["plant"])
    begun = tiny / "work" / "tiny" / "plant" / "seed1" / "run"
    begun.mkdir(parents=True)
    (begun / "run.json").write_text("{}")
    assert runner.run_experiment([planned], tiny / "results" / "tiny", tiny / "work") == []
    assert calls[0][-3:] == ["--resume", str(begun), "--trust-code"]
    assert ("plant", 1) in read_results(tiny / "results" / "tiny")


def test_language_models_are_made_once_for_the_directions_that_are_read(
    tiny: Path, calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = yaml.safe_load(Path("plant_tiny.yml").read_text())
    sizes = {"network_config": {"encoder": "awd_lstm", "embed_dim": 8, "language_model": "lm"}}
    Path("plant_tiny.yml").write_text(yaml.safe_dump(content | sizes))
    Path("lm").mkdir()
    Path("lm/forward.safetensors").touch()
    made: list[str] = []
    monkeypatch.setattr(runner, "pretrain", lambda config, _: made.append(config.network_config["directions"]))
    (planned,), _ = plan("main", "tiny", [1], variants=["plant"])
    runner.language_model(planned)
    planned.flags["network_config.directions"] = "both"
    runner.language_model(planned)
    assert made == ["backward"]


def test_a_failure_does_not_stop_the_others(
    tiny: Path, calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = runner.execute
    monkeypatch.setattr(
        runner, "execute", lambda words, trial: None if words[1].startswith("plant") else good(words, trial)
    )
    runs, _ = plan("main", "tiny", [1], variants=["plant", "linear"])
    failures = runner.run_experiment(runs, tiny / "results" / "tiny", tiny / "work")
    assert [(planned.variant, "no result.json" in how) for planned, how in failures] == [("plant", True)]
    assert list(read_results(tiny / "results" / "tiny")) == [("linear", 1)]


@pytest.mark.parametrize(
    ("experiment", "variant", "share", "from_experiment", "from_variant", "told"),
    [
        ("ablations", "with_prior", None, "main", "plant", {"value": None}),
        ("training_size", "plant", 1.0, "ablations", "full", {"value": 1.0, "training_documents": 150}),
    ],
    ids=["experiment", "all of the training split"],
)
def test_the_same_configuration_is_copied(
    tiny: Path, calls: list[list[str]], experiment: str, variant: str, share: float | None,
    from_experiment: str, from_variant: str, told: dict[str, Any],
) -> None:  # fmt: skip
    planned = next(one for one in plan(experiment, "tiny", [1], variants=[variant])[0] if one.share == share)
    write_run(tiny / "made", config_hash=planned.config.hash())
    (other,), _ = plan(from_experiment, "tiny", [1], variants=[from_variant])
    place = results_folder(tiny / "results", from_experiment, "tiny")
    runner.keep(other, tiny / "made", place, None)
    folder = results_folder(tiny / "results", experiment, "tiny")
    assert runner.run_experiment([planned], folder, tiny / "work") == []
    assert calls == []
    kept = read_results(folder)[planned.name, 1]
    assert kept["experiment"] == {"name": experiment, "variant": variant, **told}


def test_parts_of_the_training_split_are_nested(tiny: Path) -> None:
    runs, _ = plan("training_size", "tiny", [1, 2], variants=["plant"])
    texts: dict[tuple[int, float], set[str]] = {}
    for planned in runs:
        assert planned.share is not None
        flags, documents = runner.part_of_training(planned, tiny / planned.name)
        named = dict(zip(flags[::2], flags[1::2], strict=True))
        lines = Path(named["--training_file"]).read_text().splitlines()
        assert len(lines) == documents == round(150 * planned.share)
        assert Path(named["--val_file"]).read_text() == Path("valid.txt").read_text()
        assert len(Path(named["--label_file"]).read_text().split()) == 20
        texts[planned.seed, planned.share] = set(lines)
    assert texts[1, 0.05] < texts[1, 0.1] < texts[1, 0.25] < texts[1, 0.5] < texts[1, 1.0]
    assert texts[1, 1.0] == set(Path("train.txt").read_text().splitlines()) == texts[2, 1.0]
    assert texts[1, 0.1] != texts[2, 0.1]


def test_trials_do_not_go_among_the_results() -> None:
    with pytest.raises(SystemExit):
        runner.main(["main", "demo", "--set", "stage2.epochs=1"])


@pytest.mark.integration
def test_a_trial_runs_in_its_context_and_is_never_copied(tiny: Path, capfd: pytest.CaptureFixture[str]) -> None:
    choices = {planned.name: planned for planned in plan("ablations", "tiny", [1])[0]}
    folder, work = tiny / "results" / "tiny-ablations", tiny / "work"
    assert runner.run_experiment([choices["tf_idf"]], folder, work) == []
    kept = read_results(folder)["tf_idf", 1]
    assert kept["experiment"]["trial"] == "tf_idf"
    assert kept["hashes"]["config"] == choices["full"].config.hash()
    assert runner.run_experiment([choices["full"]], folder, work) == []
    plain = read_results(folder)["full", 1]
    assert "trial" not in plain["experiment"]
    assert plain["epochs"]["stage1"] != kept["epochs"]["stage1"]
    assert capfd.readouterr().err.count("libmultilabel --config") == 2


def test_list_and_dry_run(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    assert runner.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(load_definitions())
    assert runner.main(["main", "tiny", "--dry-run", "--seeds", "4", "--variants", "plant", "laat"]) == 0
    told = capsys.readouterr()
    assert told.out == "libmultilabel --config plant_tiny.yml --seed 4 --silent --planted_scores.model none\n"
    assert "laat has no configuration for tiny" in told.err


def test_cosine_over_the_words_that_both_have() -> None:
    nan = float("nan")
    one, other = np.array([3.0, nan, 4.0, 1.0]), np.array([4.0, 1.0, 3.0, nan])
    assert cosine(one, other) == pytest.approx(24 / 25)
    assert cosine(one, np.array([nan, nan, 1.0, nan])) is None
    assert cosine(one, np.zeros(4)) is None
    vectors = {(0, 1): one, (0, 2): other, (0, 5): one, (1, 1): one}
    assert across_documents(vectors) == {0: pytest.approx((1 + 2 * 24 / 25) / 3)}
    assert across_seeds([vectors, {(0, 1): other, (2, 2): one}]) == {0: pytest.approx(24 / 25)}


def test_f1_of_labels_is_their_mean_in_the_result(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    from plant_plugin.evaluation.per_document import load_per_document

    values = label_f1(load_per_document(tmp_path / "run" / "per_document.npz"))
    metrics = json.loads((tmp_path / "run" / "result.json").read_text())["metrics"]
    assert np.nanmean(values) == pytest.approx(metrics["Macro-F1-present@macro"])


def test_macro_f1_of_validation_comes_from_the_labels_statistics(tmp_path: Path) -> None:
    write_run(tmp_path / "made")
    tuned = Tuned({"macro": 0.1}, np.array([2, 0]), {"macro": np.array([0.5, 0.25])})
    write_label_statistics(tmp_path / "made", ['"a', "b"], None, tuned)
    planned = Planned("stage1_choices", "logit_within", None, "plant_demo.yml", {}, 1)
    runner.keep(planned, tmp_path / "made", tmp_path / "results", None)
    [system] = tables.load(tmp_path / "results", ["logit_within"])
    assert column(system, "validation-Macro-F1") == [0.375]


def test_the_readme_is_changed_between_its_marks_only(tmp_path: Path) -> None:
    write_run(tmp_path / "made")
    planned = Planned("main", "plant", None, "plant_demo.yml", {}, 1)
    runner.keep(planned, tmp_path / "made", tmp_path / "results", None)
    systems = tables.load(tmp_path / "results", ["plant"])
    before, after = tables.MARK.format("codiesp-coding"), tables.END
    text = tables.readme(f"above\n{before}| was here |\n{after}below\n", "codiesp-coding", systems)
    assert text.startswith(f"above\n{before}| system | seeds |")
    assert text.endswith(f"|\n\n- `plant` is `plant_codiesp.yml`.\n{after}below\n")
    assert "was here" not in text
    heading, row = (
        next(line for line in text.splitlines() if line.startswith(f"| {word} |")) for word in ("system", "plant")
    )
    cells = dict(zip(heading.split(" | "), row.split(" | "), strict=True))
    assert cells["P@1"] == f"{100 * systems[0].results[0]['metrics']['P@1']:.1f}"
    assert tables.readme(text, "codiesp-coding", systems) == text
    assert tables.readme("no marks\n", "codiesp-coding", systems) == "no marks\n"


def test_what_a_run_costs_stands_in_its_columns(tmp_path: Path) -> None:
    costs = {"cpu_s": {"train": 50.0, "libmultilabel_test": 3.0, "test": 2.0, "total": 65.0}}
    shared = {"counts": {"documents": 40}, "peak_memory_mb": {"total": 1536}, "time_s": {"total": 90.0}, "metrics": {}}
    systems = [System("new", [{**shared, **costs}]), System("old", [shared])]
    [new, old] = rows_of(systems, ["training CPU s", "CPU ms a case", "GiB", "minutes"], None)
    assert new == ["new", "1", "60.0", "50.0", "1.5", "1.5"]
    assert old == ["old", "1", "–", "–", "1.5", "1.5"]


def test_what_promises_reached_is_kept_and_stands_on_the_page(tmp_path: Path) -> None:
    run, results = tmp_path / "made", tmp_path / "results"
    write_run(run, 1.0)
    reached = {"promise 0.8": {"documents": 40, "listed": 0.825, "labels": 7.5}}
    (run / "promises.json").write_text(json.dumps({"val": {}, "test": reached}))
    runner.keep(Planned("coding", "text", None, "plant_demo.yml", {}, 1), run, results / "codiesp-coding", None)
    assert tables.write_pages(results, tmp_path / "tables") == []
    lines = (tmp_path / "tables" / "codiesp-coding.md").read_text().splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("Promises (`plant predict"))
    assert lines[at + 2].startswith("| variant | seeds | listed, 80% | listed, 90% | listed, 95% | labels, 80%")
    assert lines[at + 2].endswith("| labels, 95% | ECE | ECE, 0.5 and more |")
    assert lines[at + 4].startswith("| text | 1 | 82.5 | – | – | 7.5 | – | – | ")


def test_published_rows_stand_below_ours_with_their_source(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for name, quality in (("text", 2.0), ("linear", 1.0)):
        write_run(tmp_path / "made" / name, quality)
        for experiment in ("coding", "claims"):
            planned = Planned(experiment, name, None, "plant_demo.yml", {}, 1)
            runner.keep(planned, tmp_path / "made" / name, results / f"codiesp-{experiment}", None)
    assert tables.write_pages(results, tmp_path / "tables") == []
    lines = (tmp_path / "tables" / "codiesp-coding.md").read_text().splitlines()
    columns = next(line for line in lines if line.startswith("| variant")).split(" | ")
    theirs = next(line for line in lines if line.startswith("| best of the shared task (published, 1) | – |")).split(
        " | "
    )
    told = {name: value for name, value in zip(columns, theirs, strict=True) if value not in ("–", "– |")}
    assert list(told.values())[1:] == ["59.3"]
    assert list(told)[1:] == ["MAP-gold"]
    assert "- 1: Miranda-Escalada et al., Overview of automatic clinical coding, CLEF eHealth 2020." in lines
    assert any(line.startswith("- 1: the task's own script") for line in lines)
    assert any(line.startswith("Gain over text") for line in lines)
    assert "published" not in (tmp_path / "tables" / "codiesp-claims.md").read_text()


@pytest.mark.parametrize("dataset", ["eurlex57k", "other"])
def test_the_page_of_a_data_set_begins_with_the_columns_of_its_field(tmp_path: Path, dataset: str) -> None:
    columns = FIELDS["xmc"]
    lacking = columns[1]
    for name, quality in (("plant", 2.0), ("linear", 1.0)):
        write_run(tmp_path / "made" / name, quality)
        path = tmp_path / "made" / name / "result.json"
        result = json.loads(path.read_text())
        if name == "linear":
            del result["metrics"][lacking]  # as in a result of before
            path.write_text(json.dumps(result))
        planned = Planned("main", name, None, "plant_demo.yml", {}, 1)
        runner.keep(planned, tmp_path / "made" / name, tmp_path / "results" / dataset, None)
    assert tables.write_pages(tmp_path / "results", tmp_path / "tables") == []
    main, more, *_ = (tmp_path / "tables" / f"{dataset}.md").read_text().split("Other measures of the same runs")
    header, _, *rows = [line for line in main.splitlines() if line.startswith("|")]
    assert header == f"| system | seeds | L | {' | '.join(columns)} | minutes | GiB |"
    [linear] = [row.split(" | ") for row in rows if row.startswith("| linear ")]
    assert [linear[3 + place] == "–" for place, name in enumerate(columns)] == [name == lacking for name in columns]
    theirs = [row for row in rows if "(published" in row]
    assert (len(theirs), "LibMultiLabel's own table" in main) == ((4, True) if dataset == "eurlex57k" else (0, False))
    assert "| plant | 1 | " in more
    assert "PSP@5" not in more.split("Macro-F1@macro by")[0]


def test_pages_show_no_paper_that_selects_on_test() -> None:
    definitions = load_definitions()
    shown = {name for one in definitions.values() if one.get("published") for name in datasets_of(one)}
    sources = {table.source for table in published.content().tables if table.benchmark in shown}
    assert sources == {"codiesp", "codiesp_transformers", "libmultilabel"}


def test_pages_are_written_checked_and_found_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, pages = tmp_path / "results", tmp_path / "tables"
    for seed in (1, 2):
        for name, quality in (("full", 2.0), ("mse", 1.0), ("no_label_smoothing", 1.9)):
            write_run(tmp_path / "made", quality, seed)
            planned = Planned("ablations", name, None, "plant_demo.yml", {}, seed)
            runner.keep(planned, tmp_path / "made", results / "tiny-ablations", None)
            shutil.rmtree(tmp_path / "made")
    assert tables.write_pages(results, pages, check=True) == ["tiny-ablations.md"]
    assert tables.write_pages(results, pages) == []
    text = (pages / "tiny-ablations.md").read_text()
    assert [line.split(" |")[0] for line in text.splitlines() if line.startswith("| ")][2:5] == [
        "| full", "| no_label_smoothing", "| mse",
    ]  # fmt: skip
    assert "| mse | P@5 | -" in text
    assert "Pictures (gains): `python benchmarks/tables.py --pictures tiny-ablations`." in text
    assert {path.suffix for path in pages.iterdir()} == {".md", ".json"}
    assert tables.write_pages(results, pages, check=True) == []
    systems = tables.load(results / "tiny-ablations", ["full"])
    for on_validation, where in ((False, "test split"), (True, "validation documents")):
        picture = figures(systems, {**load_definitions()["ablations"], "on_validation": on_validation})["gains"]
        assert any(f"tiny, {where}" in text.get_text() for text in picture.findobj(Text))
    assert "Not run: single_stage_bce" in text
    for path in (pages / "tiny-ablations.md", *files_of(results / "tiny-ablations")):
        before = path.read_bytes()
        path.write_bytes(before + b"\n")
        assert tables.write_pages(results, pages, check=True) == ["tiny-ablations.md"]
        path.write_bytes(before)
        assert tables.write_pages(results, pages, check=True) == []
    monkeypatch.setattr(made_from, "CODE", ["benchmarks/tables.py"])
    assert tables.write_pages(results, pages, check=True) == ["tiny-ablations.md"]


def test_only_pages_that_are_out_of_date_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, pages, made = tmp_path / "results", tmp_path / "tables", list[str]()
    for name, quality in (("full", 2.0), ("mse", 1.0)):
        write_run(tmp_path / "made" / name, quality)
        for dataset in ("tiny", "small"):
            planned = Planned("ablations", name, None, "plant_demo.yml", {}, 1)
            runner.keep(planned, tmp_path / "made" / name, results / f"{dataset}-ablations", None)
    write = tables.write_page
    monkeypatch.setattr(tables, "write_page", lambda folder, into: made.append(folder.name) or write(folder, into))
    tables.write_pages(results, pages)
    assert sorted(made) == ["small-ablations", "tiny-ablations"]
    tables.write_pages(results, pages)
    assert len(made) == 2
    change_runs(results / "small-ablations", lambda runs: runs.pop(("mse", 1)))
    tables.write_pages(results, pages)
    assert made[2:] == ["small-ablations"]
    tables.write_pages(results, pages, everything=True)
    assert sorted(made[3:]) == ["small-ablations", "tiny-ablations"]


def test_pages_say_which_processors_the_runs_had() -> None:
    def system(name: str, *found: dict[str, object] | None) -> System:
        return System(name, [{"processor": one} if one else {} for one in found])

    one, two = {"name": "Maker X", "cores": 1}, {"name": "Maker X", "cores": 2}
    systems = [system("plant", one, two), system("linear", None), system("caml", one)]
    assert processors(systems)[0] == (
        "Processors: Maker X, 1 core: plant, caml; Maker X, 2 cores: plant; not noted: linear."
        " Times and memory of a system with runs on several are of the one that most of them had."
    )
    assert processors([system("linear", None)]) == []


def test_costs_are_of_runs_on_one_processor(tmp_path: Path) -> None:
    def run(name: str, seconds: float) -> dict[str, object]:
        shared = {"counts": {"documents": 40}, "peak_memory_mb": {"total": 1024}, "metrics": {}}
        return {**shared, "processor": {"name": name, "cores": 1}, "time_s": {"total": 60 * seconds}}

    systems = [
        System("plant", [run("X", 1.0), run("X", 3.0), run("Y", 90.0)]),
        System("linear", [run("X", 4.0)]),
        System("caml", [run("Y", 50.0)]),
    ]
    assert [row[2] for row in rows_of(systems, ["minutes"], None)] == ["2.0 ± 1.4", "4.0", "50.0"]
    told = " Times and memory of a system with runs on several are of the one that most of them had."
    assert processors(systems)[0].endswith(told)
    assert not processors(systems[1:])[0].endswith(told)
    on_gpu = System("laat", [{**run("X", 5.0), "device": "Maker's GPU", "cpu_s": {"total": 7.0, "test": 1.0}}])
    shown = ["minutes", "training CPU s", "CPU ms a case", "GiB"]
    assert rows_of([on_gpu], shown, None) == [["laat", "1", "5.0", "–", "–", "–"]]
    assert processors([on_gpu])[0] == "Processors: Maker's GPU: laat."


def test_pages_say_which_systems_were_still_rising() -> None:
    def system(name: str, *runs: list[float]) -> System:
        results = [{"epochs": {"val": [{"nDCG@5": value} for value in values]}} for values in runs]
        return System(name, results)

    systems = [
        system("caml", [0.1, 0.2], [0.1, 0.3], [0.2, 0.1]),
        system("laat", [0.1, 0.3, 0.2]),
        system("one_epoch", [0.1]),
        System("linear", [{}]),
    ]
    told = "Best on validation (nDCG@5) in the last of their epochs, so that more might gain: caml."
    assert rising(systems) == [told, ""]
    assert rising(systems[1:]) == []


def test_rows_of_what_is_gone_stay_and_say_why() -> None:
    definition = {"variants": {"plant": {}}, "gone": {"old": "no gain", "older": "no gain", "oldest": "a loss"}}
    assert tables.variants_of(definition) == ["plant", "old", "older", "oldest"]
    systems = [System(name, [{}]) for name in ("plant", "old", "older", "oldest")]
    told = "No longer in the package or its trials: old, older (no gain); oldest (a loss)."
    assert gone(systems, definition) == [told, ""]
    assert gone(systems[:1], definition) == []


def test_pages_of_results_that_are_gone_go_too(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for name, text in (("gone", tables.MADE), ("other", "Made by another script")):
        (tmp_path / f"{name}.md").write_text(text)
    assert tables.write_pages(tmp_path / "results", tmp_path, check=True) == ["gone.md"]
    assert tables.write_pages(tmp_path / "results", tmp_path) == []
    assert {path.name for path in tmp_path.glob("*.*")} == {"made_from.json", "other.md"}


def test_pages_of_speed_are_those_of_their_measurements(tmp_path: Path) -> None:
    assert tables.write_speed(tmp_path, check=True) == ["speed.md", "backbones.md"]
    tables.write_speed(tmp_path)
    for name in tables.SPEED:
        assert (tmp_path / name).read_text() == (tables.HERE / "tables" / name).read_text()
    (tmp_path / "speed.md").write_text("edited")
    assert tables.write_speed(tmp_path, check=True) == ["speed.md"]


@pytest.mark.integration
def test_a_network_is_trained_once_for_all_planted_scores(tiny: Path, in_this_process: list[list[str]]) -> None:
    few = {"limit_train_batches": 4}
    alone, scores = plan("main", "tiny", [1], variants=["plant", "plant_scores"], changes=few)[0]
    for kept, planned in (("shared", alone), ("shared", scores), ("apart", scores)):
        assert runner.run_experiment([planned], tiny / kept, tiny / "runs" / kept) == []
    assert [runner.TAKEN_OVER in " ".join(words) for words in in_this_process] == [False, True, False]
    results = [read_results(tiny / kept)["plant_scores", 1] for kept in ("shared", "apart")]
    taken, trained = results
    for key in ("metrics", "epochs", "thresholds", "hashes", "strategy", "experiment"):
        assert taken[key] == trained[key], key
    of_network = read_results(tiny / "shared")["plant", 1]
    assert taken["metrics"] != of_network["metrics"]
    for stage in runner.STAGES:
        assert taken["time_s"][stage] == of_network["time_s"][stage]
    assert taken["time_s"]["total"] > of_network["time_s"]["stage1"] + of_network["time_s"]["stage2"]


@pytest.mark.integration
def test_scores_alone_train_nothing_that_could_be_kept(tiny: Path, in_this_process: list[list[str]]) -> None:
    names = tiny / "data" / "tiny" / "label_names.tsv"
    names.parent.mkdir(parents=True)
    names.write_text("".join(f"{label}\tsign{label}x\n" for label in LABELS))
    runs = plan("main", "tiny", [1], variants=["plant_names", "scores_alone"])[0]
    assert runner.run_experiment(runs, tiny / "results", tiny / "work") == []
    assert [planned.trains for planned in runs] == [True, False]
    assert [path.name for path in (tiny / "work" / "networks").iterdir()] == [runs[0].training]
    whole, alone = (read_results(tiny / "results")[planned.name, 1] for planned in runs)
    assert "stage2" in whole["time_s"]
    assert not {"stage1", "stage2"} & alone["time_s"].keys()
    assert "planted_scores" in alone["time_s"]


def test_another_training_is_not_taken_over(tiny: Path) -> None:
    (alone, single), _ = plan("main", "tiny", [1], variants=["plant", "end_to_end"])
    (other,), _ = plan("main", "tiny", [2], variants=["plant"])
    on_validation, without = plan("stage1_choices", "tiny", [1], variants=["gradient", "no_stage1"])[0]
    trial = replace(on_validation, trial="tf_idf")
    assert len({planned.training for planned in (alone, single, other, trial)}) == 4
    assert (on_validation.training, without.training) == (alone.training, single.training)
    before = alone.training
    content = yaml.safe_load(Path("plant_tiny.yml").read_text())
    Path("plant_tiny.yml").write_text(yaml.safe_dump(content | {"planted_scores": {"model": "ridge", "top": 7}}))
    assert alone.training == before
    Path("train.txt").write_text("".join(words(150, 4)))
    assert alone.training != before


@pytest.mark.integration
def test_every_experiment_at_a_tiny_scale(tiny: Path, in_this_process: list[list[str]]) -> None:
    names = tiny / "data" / "tiny" / "label_names.tsv"
    names.parent.mkdir(parents=True)
    names.write_text("".join(f"{label}\tsign{label}x\n" for label in LABELS))
    for name in ("sentence-transformers/all-MiniLM-L6-v2", "intfloat/multilingual-e5-small"):
        write_language_model("bert", tiny / name, positions=256)
        write_tokenizer([tiny / "train.txt"], tiny / name, padding=True)
    few = ["limit_train_batches=4"]
    changes = {"main": few, "coding": few, "many_labels": few, "overfitting": ["stage2.epochs=3"],
               "open_labels": [*few, f"planted_scores.names={names}"],
               "promises": [*few, f"planted_scores.names={names}"]}  # fmt: skip
    definitions = load_definitions()
    evidence, words, coding = {"scores_alone"}, ["bigru", "bigru_one_stage"], definitions["coding"]["variants"]
    some = {  # the made-up task has no evidence to weigh
        "coding": [name for name, flags in coding.items() if "registry" not in flags],  # packages of others
        "main": ["plant", "linear", "end_to_end"], "backbones": words,
        "many_labels": ["plant", "scores_word_letters", "linear_tree"],
        "planted_plm_icd": ["minilm", "minilm_one_stage", "e5_scores"],
        "evidence_parts": [name for name in definitions["evidence_parts"]["variants"] if name not in evidence],
    }  # fmt: skip
    del definitions["l2r"]  # wants a language model of its own: tests/l2r/test_ranker.py
    for experiment, definition in definitions.items():
        variants = some.get(experiment) or list(definition["variants"])
        seeds = ["1", "2"] if experiment == "attention" else ["1"]
        arguments = [experiment, "tiny", "--results", "results", "--variants", *variants, "--seeds", *seeds, "--set"]
        small = changes.get(experiment, ["limit_train_batches=4", "stage2.epochs=1"])
        assert runner.main([*arguments, *small]) == 0, experiment
    assert tables.write_pages(tiny / "results", tiny / "tables") == []
    pages = {path.name for path in (tiny / "tables").iterdir()}
    for experiment, definition in definitions.items():
        name = results_folder(Path(), experiment, "tiny").name
        assert f"{name}.md" in pages
        tables.write_pictures(tiny / "results" / name, tiny / "pictures")
        pictures = {path.name for path in (tiny / "pictures").iterdir()}
        assert {f"{name}_{kind}.svg" for kind in definition["pictures"]} <= pictures, experiment
    summary: dict[str, Any] = read_results(tiny / "results/tiny-attention")["plant", 1]["attention"]
    assert 0 < summary["summary"]["across_seeds:common"] <= 1
