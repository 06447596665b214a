"""``plant list``, ``show`` and ``validate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.commands import configurations
from plant_plugin.config import registry


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(plant, list(arguments))


@pytest.mark.parametrize("kind", registry.KINDS)
def test_list_one_kind(kind: str) -> None:
    lines = invoke("list", kind).output.splitlines()
    assert lines[0] == kind
    assert [line.split()[0] for line in lines[1:]] == list(registry.entries(kind))


def test_list_everything_with_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.Entry("readers", "odd", "plant_plugin.odd:read", "An odd format.", "nobody", needs="llm")
    known = registry.entries
    monkeypatch.setattr(registry, "entries", lambda kind: {"odd": entry} if kind == "readers" else known(kind))
    text = invoke("list").output
    assert all(f"\n{kind}\n" in f"\n{text}" for kind in (*registry.KINDS, configurations.CONFIGURATIONS))
    assert "An odd format. [needs the extra llm]" in text


def test_methods_and_data_sets_are_listed_with_the_results_that_there_are() -> None:
    rows = [line.strip().partition("  ") for line in invoke("list", "configurations").output.splitlines()[1:]]
    listed = {name: text.strip() for name, _, text in rows}
    assert listed["laat.yml"] == "LAAT (Vu et al. 2020)."
    assert listed["METHOD_yso.yml"].endswith("[results: linear, plant]")
    assert listed["METHOD_mimic3.yml"].endswith("[no result yet]")
    assert all(listed.values())


def test_show_prints_a_configuration_and_starts_ones_own(tmp_path: Path) -> None:
    out = str(tmp_path / "my.yml")
    printed = invoke("show", "laat_eurlex6k.yml").output
    assert printed.startswith("# libmultilabel --config laat_eurlex6k.yml\n")
    assert invoke("show", "laat_eurlex6k", "--out", out).exit_code == 0
    assert Path(out).read_text(encoding="utf-8") == invoke("show", out).output == printed
    again = invoke("show", "laat_eurlex6k", "--out", out)
    assert again.exit_code == 2
    assert "it is there already" in again.output
    assert "did you mean" in invoke("show", "laat_eurlex6").output


def test_list_of_an_unknown_kind() -> None:
    outcome = invoke("list", "network")
    assert outcome.exit_code == 2
    assert "networks" in outcome.output


def test_validate_a_good_configuration(config_file: str) -> None:
    outcome = invoke("validate", config_file, "--seed", "3")
    assert outcome.exit_code == 0
    assert "no problems found" in outcome.output
    assert "PLANT, strategy plant" in outcome.output


def test_validate_as_json(config_file: str) -> None:
    told = json.loads(invoke("validate", config_file, "--json").output)
    assert told["model"] == "PLANT"
    assert told["hash"].startswith(invoke("validate", config_file).output.split()[-1])
    linear = json.loads(invoke("validate", config_file, "--json", "--linear", "--linear_technique", "tree").output)
    assert (linear["model"], linear["strategy"]) == ("linear, tree", None)


def test_validate_with_flags_that_do_not_fit(config_file: str) -> None:
    outcome = invoke("validate", config_file, "--network_config.pool_sise", "4", "--batch_size", "0")
    assert outcome.exit_code == 2
    assert "did you mean pool_size?" in outcome.output
    assert "batch_size" in outcome.output


def test_validate_names_the_linear_technique(config_file: str) -> None:
    outcome = invoke("validate", config_file, "--linear", "--linear_technique", "tree")
    assert "linear, tree" in outcome.output


def test_validate_a_name_that_is_nothing() -> None:
    outcome = invoke("validate", "no_such_configuration.yml")
    assert outcome.exit_code == 2
    assert "no such file" in outcome.output
