"""Runs of systems in pairs."""

from __future__ import annotations

from plant_plugin.report.pairs import paired
from plant_plugin.report.systems import System


def system(name: str, *seeds: int | None) -> System:
    return System(name, [{"seed": seed, "metrics": {}} for seed in seeds])


def seeds_of(*systems: System) -> list[list[object]]:
    return [[result["seed"] for result in one.results] for one in paired(*systems)]


def test_runs_of_the_seeds_that_all_have_are_paired_in_one_order() -> None:
    assert seeds_of(system("a", 1, 2, 3, 5), system("b", 5, 4, 3, 1)) == [[1, 3, 5]] * 2
    assert seeds_of(system("a", 1, 2), system("b", 2, 1), system("c", 2)) == [[2]] * 3


def test_systems_that_share_no_seed_are_paired_as_they_come() -> None:
    assert seeds_of(system("a", 1, 2, 3), system("b", 4, 5)) == [[1, 2], [4, 5]]
    assert seeds_of(system("other program", None), system("b", 1, 2, 3)) == [[None], [1]]


def test_the_first_run_of_a_system_without_chance_is_that_of_every_seed() -> None:
    linear, scores, network = system("linear", 1), system("scores", 1, 2), system("network", 3, 4, 5)
    linear.without_chance = scores.without_chance = True
    assert seeds_of(network, linear) == [[3, 4, 5], [1, 1, 1]]
    assert seeds_of(linear, system("a", 4, 3, 2), network) == [[1, 1], [4, 3], [4, 3]]
    assert seeds_of(linear, scores) == [[1], [1]]


def test_what_is_paired_keeps_names_and_documents() -> None:
    first, second = system("a", 1, 2), system("b", 2)
    first.documents = ["one", "two"]  # type: ignore[list-item]
    ours, theirs = paired(first, second)
    assert (ours.name, ours.documents, theirs.documents) == ("a", ["two"], [])
    assert (len(first.results), len(first.documents)) == (2, 2)
