"""Configurations that are no YAML, or YAML that would take the memory, the time or the stack."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attacked import Tally, attempt

from plant_plugin.commands.configurations import text_of
from plant_plugin.config import load_config
from plant_plugin.config.load import read_given
from plant_plugin.config.methods import packaged
from plant_plugin.errors import ConfigError, PlantError
from plant_plugin.files import LIMITS


def doubled(first: str, each: Callable[[str], str]) -> str:
    """Values that stand for nine of those before, eleven times over."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{number}: &a{number} {each(', '.join([f'*a{number - 1}'] * 9))}" for number in range(1, 12)]
    return "\n".join(lines)


BOMBS: dict[str, str | bytes] = {
    "no day": "data_name: 2024-02-30",
    "no hour": "data_name: 2024-02-03 25:61:00",
    "no number": "data_name: !!int abc",
    "no fraction": "learning_rate: !!float ''",
    "no truth": "silent: !!bool maybe",
    "no time": "data_name: !!timestamp abc",
    "5,000 digits": "seed: " + "9" * 5000,
    "400 digits": "learning_rate: " + "9" * 400,
    "1,000 lists in lists": "data_name: " + "[" * 1000 + "]" * 1000,
    "100,000 lists in lists": "data_name: " + "[" * 100_000,
    "1,000 blocks in blocks": "{a: " * 1000 + "}" * 1000,
    "keys of keys": "? " * 1000,
    "items of items": "- " * 1000,
    "merged keys": doubled("{x: 1}", lambda names: f"{{<<: [{names}]}}"),
    "aliases": doubled("[x]", lambda names: f"[{names}]"),
    "a list in itself": "monitor_metrics: &a [*a]",
    "a block in itself": "network_config: &a {<<: *a, b: *a}",
    "keys that are lists": "? [a]\n: 1",
    "keys that are no texts": "null: 1\n2: 3\n2024-01-01: 4\nstage1: {null: 1, 2024-01-01: 2}",
    "code": "seed: !!python/object/apply:os.system [true]",
    "bytes": b"\xff\xfe\x00\x80",
    "NUL": "seed: \0",
    "half a character": b"data_name: \xc3",
    "an endless text": "data_name: '" + "x" * 10_000_000,
    "many keys": "\n".join(f"k{number}: 1" for number in range(6_000)),
    "binary": "data_name: !!binary aGVsbG8=",
    "a set": "stage1: !!set {a, b}",
    "two documents": "seed: 1\n---\nseed: 2",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_a_line(tmp_path: Path, tally: Tally, name: str) -> None:
    path, content = tmp_path / "config.yml", BOMBS[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    ended = attempt(_load, path, limited=True)
    tally("a YAML bomb", ended.refused)
    assert ended.refused, ended


def _load(path: Path) -> None:
    try:
        load_config(path, {"model_name": "PLANT", "training_file": "demo:train"})
    except ConfigError as error:
        raise error.problems[0] from None  # several are told on a line each


@pytest.mark.parametrize("value", ["2024-02-30", "!!int abc", "[" * 1000, "&a [*a]", "9" * 5000])
@pytest.mark.parametrize("key", ["stage1", "stage1.k", "network_config.hidden_size"])
def test_a_flag_is_no_other_way_in(key: str, value: str) -> None:
    with pytest.raises(ConfigError):
        load_config(None, {"model_name": "PLANT", "training_file": "demo:train", key: value})


def test_what_is_large_and_honest_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.yml"
    path.write_text("\n".join(f"k{number}: &k{number} [1, 2, 3]" for number in range(1000)) + "\nx: [*k1, *k2]")
    given, _ = read_given(path)
    assert (len(given), given["x"]) == (1001, [[1, 2, 3], [1, 2, 3]])
    path.write_text("\n".join(f"k{number}: 1" for number in range(600)))
    monkeypatch.setenv(LIMITS, "0.1")
    with pytest.raises(ConfigError, match=r"line 1: .*more than 1,000 values.*PLANT_LIMITS=10 allows"):
        read_given(path)
    monkeypatch.setenv(LIMITS, "10")
    assert len(read_given(path)[0]) == 600
    monkeypatch.setenv(LIMITS, "many")
    with pytest.raises(PlantError, match="'many' is no number"):
        read_given(path)


SCRAPS = (
    "[", "]", "{", "}", ": ", "- ", "\n", "\n  ", "\t", "&a ", "*a ", "<<: *a\n", "!!int ", "!!float ", "!!binary ",
    "!!set ", "!!python/name:os.system ", "? ", "| ", "> ", "%YAML 9\n", "---\n", "...\n", "'", '"', "#", "\0",
    "\ufeff", "2024-02-30", "1e999", ".nan", "-.inf", "0x", "1:60:99", "9" * 400, "null", "~", "@", "`", "\u2028", "é",
)  # fmt: skip


def mutated(draw: random.Random, text: str) -> str:
    """A text with a few pieces cut, doubled, put elsewhere, or scraps of YAML put in."""
    for _ in range(draw.randint(1, 4)):
        start, stop = sorted(draw.randrange(len(text) + 1) for _ in range(2))
        stop = min(stop, start + 60)
        piece = draw.choice(["", draw.choice(SCRAPS), text[start:stop] * draw.randint(1, 3), draw.choice(SCRAPS) * 60])
        text = text[:start] + piece + text[draw.choice([start, stop]) :]
    return text


def read_all(texts: list[str], path: Path, said: Path) -> None:
    """Every text is a configuration, or one of our errors; the first that is neither is written down."""
    for text in texts:
        path.write_text(text, encoding="utf-8", errors="replace")
        try:
            load_config(path)
        except PlantError:
            continue
        except BaseException as error:
            said.write_text(f"{type(error).__name__} {error}: {text!r}")
            raise


@pytest.mark.parametrize(
    ("seeds", "each"), [(range(1), 60), pytest.param(range(1, 13), 100, marks=pytest.mark.attacks)]
)
def test_mutated_configurations(tmp_path: Path, tally: Tally, seeds: range, each: int) -> None:
    whole: list[Any] = [text_of(name) for name in packaged()]
    failed = []
    for seed in seeds:
        draw = random.Random(seed)
        texts = [mutated(draw, draw.choice(whole)) for _ in range(each)]
        said = tmp_path / f"said{seed}"
        ended = attempt(read_all, texts, tmp_path / "config.yml", said)
        for _ in texts:
            tally("a mutated configuration", ended.code == 0)
        if ended.code:
            failed.append(said.read_text() if said.is_file() else ended)
    assert failed == []
