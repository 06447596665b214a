"""Claims of the papers: what can be tested, what answers, and what the answers come to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from claims import (
    DATASETS,
    FAILS,
    HERE,
    HOLDS,
    IN_PART,
    MEASURED_PAGE,
    NOT_TRIED,
    PAGE,
    QUESTIONS,
    Answer,
    answers,
    by_dataset,
    conclusion,
    load_claims,
    pages,
)
from definitions import load_definitions
from kept_results import RESULTS, Runs, change_runs, keep_run, names_in
from made_up_runs import write_run

from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.evaluation.verdict import BETTER, NO_DIFFERENCE, TOO_FEW, WORSE
from plant_plugin.report.result import read_result

GAIN = {"experiment": "claims", "gain": {"of": "good", "over": "bad", "metrics": ["P@1", "MAP"]}}
CLAIM = {"id": "one", "question": "stages", "claim": "So it is.", "source": "002", "paper": "+1"}
MOST_WORDS = 3000


def answer(says: str, seeds: int, dataset: str = "tiny") -> Answer:
    """An answer with numbers that nobody reads."""
    return Answer(f"{dataset}-claims", "`good` over `bad`", "MAP", "1.0 → 3.0", "+2.0", "+1.0 to +3.0", says, seeds)


def runs(folder: Path, qualities: dict[str, list[float]]) -> None:
    """Finished runs of systems, a seed each, in the place of results."""
    for name, values in qualities.items():
        for seed, quality in enumerate(values, start=1):
            made = folder / "made" / name / str(seed)
            write_run(made, quality, seed)
            documents = load_per_document(made / "per_document.npz")
            keep_run(folder / "results" / "tiny-claims", name, read_result(made / "result.json"), documents)


def change_results(folder: Path, changes: dict[str, dict[str, Any]]) -> None:
    """Add to all results of some variants."""

    def change(runs: Runs) -> None:
        for (variant, _), run in runs.items():
            run.result.update(changes.get(variant, {}))

    change_runs(folder / "results" / "tiny-claims", change)


def test_the_packaged_claims_name_what_there_is() -> None:
    definitions = load_definitions()
    for claim in load_claims():
        for test in claim.get("tests", ()):
            definition = definitions[test["experiment"]]
            (kind,) = set(test) - {"experiment"}
            for name in (test[kind][key] for key in ("of", "over") if key in test[kind]):
                variant, _, value = name.rpartition("_")
                known = name in {**definition["variants"], **definition.get("gone", {})} or (
                    variant in definition["variants"]
                    and any(float(value) in values for values in definition["grid"].values())
                )
                assert known, (claim["id"], name)


def test_seeds_and_documents_answer(tmp_path: Path) -> None:
    """Of the seeds that both have; the values are of these too, so that they differ by the gain."""
    runs(tmp_path, {"good": [3.0, 3.0, 3.0], "bad": [0.0, 0.0, 0.0, 1.5]})
    found = list(answers(GAIN, tmp_path / "results"))
    assert [answer.says for answer in found] == [BETTER, BETTER]
    assert (found[0].results, found[0].dataset, found[0].metric) == ("tiny-claims", "tiny", "P@1")
    assert (found[0].compared, found[0].seeds) == ("`good` over `bad`", 3)
    before, after = map(float, found[0].values.split(" → "))
    assert float(found[0].gain) == pytest.approx(after - before, abs=0.11)
    assert found[0].row[1] == "[tiny-claims](tiny-claims.md)"
    turned = {**GAIN, "gain": {**GAIN["gain"], "of": "bad", "over": "good"}}
    assert {answer.says for answer in answers(turned, tmp_path / "results")} == {WORSE}
    same = {**GAIN, "gain": {**GAIN["gain"], "over": "none"}}
    assert list(answers(same, tmp_path / "results")) == []


def test_too_few_seeds_do_not_answer(tmp_path: Path) -> None:
    runs(tmp_path, {"good": [3.0, 3.0], "bad": [0.0, 0.0, 0.0]})
    for kind in ("gain", "seeds"):
        found = list(answers({"experiment": "claims", kind: GAIN["gain"]}, tmp_path / "results"))
        assert {(answer.says, answer.seeds) for answer in found} == {(TOO_FEW, 2)}


def test_one_run_of_a_variant_without_chance_answers_for_every_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(tmp_path, {"good": [3.0, 3.0, 3.0], "bad": [0.0]})
    monkeypatch.setattr("kept_results.without_chance", lambda: {"claims": ["bad"]})
    assert {(answer.says, answer.seeds) for answer in answers(GAIN, tmp_path / "results")} == {(BETTER, 3)}


def test_seeds_answer(tmp_path: Path) -> None:
    runs(tmp_path, {"good": [3.0, 3.1, 2.9], "bad": [0.1, 0.0, 0.2]})
    test = {"experiment": "claims", "seeds": GAIN["gain"]}
    assert {answer.says for answer in answers(test, tmp_path / "results")} == {BETTER}
    runs(tmp_path / "one", {"good": [3.0], "bad": [0.0]})
    (first, *_) = answers(test, tmp_path / "one" / "results")
    assert (first.says, first.interval) == (TOO_FEW, "no interval")


def test_what_is_measured_of_all_seeds_together_is_one_number(tmp_path: Path) -> None:
    runs(tmp_path, {"good": [3.0, 3.1, 3.2], "bad": [0.1, 0.0, 0.2]})
    shared = {"good": 0.9, "bad": 0.8}
    change_results(
        tmp_path,
        {name: {"attention": {"summary": {"across_seeds:rare": value}}} for name, value in shared.items()},
    )
    test = {"experiment": "claims", "seeds": {"of": "good", "over": "bad", "metrics": ["across_seeds:rare"]}}
    (found,) = answers(test, tmp_path / "results")
    assert (found.values, found.gain, found.seeds, found.says) == ("80.0 → 90.0", "+10.0", 1, TOO_FEW)


@pytest.mark.parametrize(("order", "says"), [([1, 2, 3], BETTER), ([3, 2, 1], WORSE)])
def test_a_grid_answers(tmp_path: Path, order: list[int], says: str) -> None:
    runs(
        tmp_path,
        {f"good_{value}": [quality, quality + 0.1, quality] for value, quality in zip(order, (0, 1, 3), strict=True)},
    )
    change_results(
        tmp_path,
        {f"good_{value}": {"experiment": {"variant": "good", "value": value}} for value in order},
    )
    test = {"experiment": "claims", "grid": {"of": "good", "from": "value", "metrics": ["MAP"]}}
    (found,) = answers(test, tmp_path / "results")
    assert (found.says, found.seeds, found.interval) == (says, 3, "9 runs")
    assert found.compared == "`good` with 1, 2, 3"


@pytest.mark.parametrize(
    ("said", "seeds", "expected"),
    [
        ([], 5, NOT_TRIED),
        ([BETTER, BETTER], 5, HOLDS),
        ([BETTER, WORSE], 5, IN_PART),
        ([NO_DIFFERENCE], 5, "does not hold"),
        ([TOO_FEW], 1, "too few seeds (1)"),
        ([NO_DIFFERENCE, BETTER], 3, f"{IN_PART} (3 seeds)"),
        ([TOO_FEW, BETTER], 5, f"{HOLDS}, 1 of 2 rows too few seeds"),
    ],
)
def test_conclusions(said: list[str], seeds: int, expected: str) -> None:
    assert conclusion({**CLAIM, "tests": []}, [answer(one, seeds) for one in said]) == expected


def test_data_sets_that_disagree() -> None:
    found = [answer(BETTER, 5, "notes"), answer(TOO_FEW, 1, "few"), answer(BETTER, 3, "notes"), answer(WORSE, 3, "yso")]
    expected = (
        f"notes MAP +2.0, {HOLDS} (3 to 5 seeds); YSO MAP +2.0, {FAILS} (3 seeds); few MAP +2.0, too few seeds (1)"
    )
    assert by_dataset(found) == expected
    assert conclusion({**CLAIM, "tests": []}, found) == f"{IN_PART} (3 to 5 seeds), 1 of 4 rows too few seeds"


def test_what_nobody_can_test() -> None:
    assert conclusion({**CLAIM, "untestable": "MIMIC is closed"}, []) == "not testable here: MIMIC is closed"


def test_every_question_has_a_table_and_every_claim_a_row_and_its_numbers_behind_a_link(tmp_path: Path) -> None:
    runs(tmp_path, {"good": [3.0, 3.0, 3.0], "bad": [0.0, 0.0, 0.0]})
    closed = {**CLAIM, "id": "two", "question": "elsewhere", "untestable": "MIMIC is closed"}
    short, measured = pages([{**CLAIM, "tests": [GAIN]}, closed], tmp_path / "results")
    assert "Of 2 claims 1 holds, 1 cannot be tested here." in short
    assert "Of 1 claims 1 holds." in short
    assert [line for line in short.splitlines() if line.startswith("## ")] == [
        f"## {QUESTIONS[question]}" for question in ("stages", "elsewhere")
    ]
    assert "| [So it is.](claims_measured.md#one) | +1 | tiny P@1 +" in short
    assert "## So it is. {: #one }" in measured
    assert measured.count("| `good` over `bad` | [tiny-claims](tiny-claims.md) | 3 |") == 2


def test_the_page_is_short_and_all_data_sets_have_a_name() -> None:
    assert len(PAGE.read_text(encoding="utf-8").split()) <= MOST_WORDS
    for claim in load_claims():
        for page in (PAGE, MEASURED_PAGE):
            assert f"#{claim['id']}" in page.read_text(encoding="utf-8"), claim["id"]
    assert {name.partition("-")[0] for name in names_in(RESULTS)} <= set(DATASETS)


@pytest.mark.parametrize("page", ["README.md", "benchmarks/README.md", "benchmarks/FINDINGS.md"])
def test_links_call_a_data_set_what_it_is_called(page: str) -> None:
    """A link whose text is a name of a data set leads to results of that one."""
    of = {name: dataset for dataset, names in DATASETS.items() for name in names}
    text = (HERE.parent / page).read_text(encoding="utf-8")
    linked = re.findall(r"\[([^\]]+)\]\((?:benchmarks/)?tables/(\w+)(?:-\w+)?\.md\)", text)
    called = [(name, dataset) for name, dataset in linked if name in of]
    assert called
    assert [(name, of[name]) for name, _ in called] == called


def test_prose_names_variants_that_an_experiment_has() -> None:
    """Whatever a page writes in backquotes as a row of a table of two stages or one is a row of some experiment."""
    definitions = load_definitions()
    known = {name for one in definitions.values() for name in {**one["variants"], **one.get("gone", {})}}
    for page in ("README.md", "benchmarks/README.md", "benchmarks/FINDINGS.md"):
        text = (HERE.parent / page).read_text(encoding="utf-8")
        written = set(
            re.findall(r"`((?:plant|planted|plm|one_stage|two_stages|end_to_end|scores_alone)(?:_\w+)?)`", text)
        )
        assert written <= known, (page, written - known)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"untestable": "why"}, "either tests or untestable"),
        ({"question": "why"}, "a question is one of stages, "),
        ({"verdict": "holds"}, "keys are"),
        ({"tests": [{"experiment": "claims"}]}, "one of gain, seeds, grid"),
        ({"tests": [{"experiment": "claims", "gain": {"of": "a"}}]}, "gain has the keys metrics, of, over"),
    ],
)
def test_a_faulty_list_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([{**CLAIM, "tests": [GAIN], **change}]))
    with pytest.raises(ValueError, match=message):
        load_claims(path)
