"""Claims of the papers: what can be tested, what answers, and what the answers come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from claims import (
    FAILS,
    HOLDS,
    IN_PART,
    NO_DIFFERENCE,
    NOT_TRIED,
    OPPOSITE,
    YES,
    Answer,
    answers,
    by_dataset,
    load_claims,
    verdict,
)
from definitions import load_definitions
from kept_results import Runs, change_runs, keep_run
from made_up_runs import write_run

from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.report.result import read_result

GAIN = {"experiment": "claims", "gain": {"of": "good", "over": "bad", "metrics": ["P@1", "MAP"]}}
CLAIM = {"id": "one", "claim": "So it is.", "source": "002", "paper": "+1"}


def answer(says: str, seeds: int, dataset: str = "tiny") -> Answer:
    """An answer with numbers that nobody reads."""
    return Answer(f"{dataset}-claims", "`good` over `bad`", "MAP", "1.0 → 3.0", "+2.0", says, seeds)


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


def test_documents_answer(tmp_path: Path) -> None:
    runs(tmp_path, {"good": [3.0, 3.0], "bad": [0.0, 0.0]})
    found = list(answers(GAIN, tmp_path / "results"))
    assert [answer.says for answer in found] == [YES, YES]
    assert (found[0].results, found[0].dataset, found[0].metric) == ("tiny-claims", "tiny", "P@1")
    assert (found[0].compared, found[0].seeds) == ("`good` over `bad`", 2)
    before, after = map(float, found[0].values.split(" → "))
    assert found[0].gain.startswith(f"{after - before:+.1f} (")
    assert found[0].row[1] == "[tiny-claims](tiny-claims.md)"
    turned = {**GAIN, "gain": {**GAIN["gain"], "of": "bad", "over": "good"}}
    assert {answer.says for answer in answers(turned, tmp_path / "results")} == {OPPOSITE}
    same = {**GAIN, "gain": {**GAIN["gain"], "over": "none"}}
    assert list(answers(same, tmp_path / "results")) == []


def test_seeds_answer(tmp_path: Path) -> None:
    runs(tmp_path, {"good": [3.0, 3.1, 2.9], "bad": [0.1, 0.0, 0.2]})
    test = {"experiment": "claims", "seeds": GAIN["gain"]}
    assert {answer.says for answer in answers(test, tmp_path / "results")} == {YES}
    runs(tmp_path / "one", {"good": [3.0], "bad": [0.0]})
    (first, *_) = answers(test, tmp_path / "one" / "results")
    assert (first.says, first.gain.endswith("no interval")) == (NO_DIFFERENCE, True)


def test_what_is_measured_of_all_seeds_together_is_one_number(tmp_path: Path) -> None:
    runs(tmp_path, {"good": [3.0, 3.1], "bad": [0.1, 0.0]})
    shared = {"good": 0.9, "bad": 0.8}
    change_results(
        tmp_path,
        {name: {"attention": {"summary": {"across_seeds:rare": value}}} for name, value in shared.items()},
    )
    test = {"experiment": "claims", "seeds": {"of": "good", "over": "bad", "metrics": ["across_seeds:rare"]}}
    (found,) = answers(test, tmp_path / "results")
    assert (found.in_short, found.seeds) == ("across_seeds:rare 80.0 → 90.0, +10.0, no interval", 1)


@pytest.mark.parametrize(("order", "says"), [([1, 2, 3], YES), ([3, 2, 1], OPPOSITE)])
def test_a_grid_answers(tmp_path: Path, order: list[int], says: str) -> None:
    runs(tmp_path, {f"good_{value}": [quality, quality + 0.1] for value, quality in zip(order, (0, 1, 3), strict=True)})
    change_results(
        tmp_path,
        {f"good_{value}": {"experiment": {"variant": "good", "value": value}} for value in order},
    )
    test = {"experiment": "claims", "grid": {"of": "good", "from": "value", "metrics": ["MAP"]}}
    (found,) = answers(test, tmp_path / "results")
    assert (found.says, found.seeds, found.gain.endswith(", 6 runs")) == (says, 2, True)
    assert found.compared == "`good` with 1, 2, 3"


@pytest.mark.parametrize(
    ("said", "seeds", "expected"),
    [
        ([], 5, NOT_TRIED),
        ([YES, YES], 5, HOLDS),
        ([YES, OPPOSITE], 5, IN_PART),
        ([NO_DIFFERENCE], 5, "does not hold"),
        ([YES], 1, f"{HOLDS} (1 seed)"),
        ([NO_DIFFERENCE, YES], 3, f"{IN_PART} (3 seeds)"),
    ],
)
def test_verdicts(said: list[str], seeds: int, expected: str) -> None:
    assert verdict({**CLAIM, "tests": []}, [answer(one, seeds) for one in said]) == expected


def test_data_sets_that_disagree() -> None:
    found = [answer(YES, 5, "notes"), answer(YES, 3, "notes"), answer(OPPOSITE, 1, "laws")]
    number = "MAP 1.0 → 3.0, +2.0"
    assert by_dataset(found) == f"notes: {HOLDS} (3 to 5 seeds), {number}; laws: {FAILS} (1 seed), {number}"
    assert verdict({**CLAIM, "tests": []}, found) == f"{IN_PART} (1 to 5 seeds)"


def test_what_nobody_can_test() -> None:
    assert verdict({**CLAIM, "untestable": "MIMIC is closed"}, []) == "not testable here: MIMIC is closed"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"untestable": "why"}, "either tests or untestable"),
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
