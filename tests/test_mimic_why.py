"""Every setting of PLANT's configurations for MIMIC stands in docs/mimic.md#why, with its value and its evidence."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from mimic_table import BENCHMARKS, PAGE

from plant_plugin.commands.configurations import text_of

FILES = ("data_name", "training_file", "val_file", "test_file", "monitor_metrics")  # whose values are lists or paths
ROW = re.compile(r"^\| (`[^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
CONFIGURATIONS = [name for bench in BENCHMARKS if (name := f"plant_{bench}")]


def settings(name: str) -> dict[str, Any]:
    """What a configuration says, keys of blocks under ``block.key``, arguments of the network by their names alone."""
    flat = {}
    for key, value in yaml.safe_load(text_of(name)).items():
        prefix = "" if key == "network_config" else f"{key}."
        flat |= {f"{prefix}{inner}": each for inner, each in value.items()} if isinstance(value, dict) else {key: value}
    return flat


def rows() -> dict[str, tuple[str, str]]:
    """The cells ``chosen`` and ``measured`` of every key; a row may name several."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## Why\n")[2].partition("\n#")[0]
    return {key: (chosen, evidence) for keys, chosen, evidence in ROW.findall(section)
            for key in re.findall("`([^`]+)`", keys)}  # fmt: skip


def spelled(value: object) -> str:
    """A value as the page writes it."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return f"{value:,}".replace("-", "−") if isinstance(value, int | float) else str(value)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_setting_has_a_row_with_its_value(name: str) -> None:
    table, given = rows(), settings(name)
    assert given.keys() - table.keys() == set(), (
        "say in docs/mimic.md#why where they were measured, or that they were not"
    )
    for key, value in given.items():
        chosen, evidence = table[key]
        assert evidence.strip()
        words = re.findall(r"[\w.,@−-]*\w", chosen)
        assert key in FILES or spelled(value) in words, f"{key}: {value} is not in `{chosen}`"


def test_no_row_is_of_a_setting_that_none_has() -> None:
    assert rows().keys() - {key for name in CONFIGURATIONS for key in settings(name)} == set()


def test_values_are_spelled_as_the_page_does() -> None:
    assert [spelled(value) for value in (2500, -1.5, 0.05, True, None, "adamw")] == [
        "2,500", "−1.5", "0.05", "true", "null", "adamw",
    ]  # fmt: skip
