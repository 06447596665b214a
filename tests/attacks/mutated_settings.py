"""Configurations and registries in YAML, for :mod:`mutated_inputs`."""

from __future__ import annotations

import dataclasses
import random
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from mutated_inputs import Answer, Subject, asked, asked_and_read
from mutations import VALUES, bytes_of, lines_of, places_in

from plant_plugin.config import load_config, registry
from plant_plugin.config.options import Block

WHOLE: dict[str, Any] = {
    "training_file": "demo:train", "val_file": "demo:valid", "test_file": "demo:test", "data_name": "demo",
    "model_name": "PLANT", "network_config": {"encoder": "cnn", "hidden_size": 16, "filter_sizes": [3, 5],
    "embed_dim": 16, "num_heads": 2, "pool_size": 8, "planted_prior": "additive"},
    "stage1": {"k": 10, "labels": 6, "epochs": 2}, "stage2": {"epochs": 3, "hard_negatives": 5},
    "planted_scores": {"model": "ridge", "weight": 1.0}, "learning_rate": 0.01, "batch_size": 8, "seed": 1,
    "monitor_metrics": ["P@1", "nDCG@5", "Macro-F1"], "val_metric": "nDCG@5", "cpu": True, "val_size": 0.2,
    "result_dir": "runs", "optimizer": "adamw", "weight_decay": 0.0, "patience": 3, "epochs": 5,
    "min_vocab_freq": 1, "max_seq_length": 100, "save_k_predictions": 5,
}  # fmt: skip
PLAIN: dict[str, Any] = {
    "training_file": "demo:train", "test_file": "demo:test", "data_name": "demo", "linear": True,
    "linear_technique": "1vsrest", "liblinear_options": "-s 2 -B 1 -e 0.0001", "seed": 1,
    "monitor_metrics": ["P@1", "P@3"], "data_format": "txt", "val_size": 0.2,
}  # fmt: skip
ODD = (
    "!!python/object/apply:pathlib.Path.write_text [!!python/object/apply:pathlib.Path [{sang}], sang]",
    "!!python/name:os.system", "!!python/module:canary", "!!binary aGVsbG8=", "!!set {{a, b}}", "!!omap [a: 1]",
    "!!timestamp 2024-02-30", "!!int abc", "!!float x", "!!null x", "!!str 5", "!own x", "&a [*a]", "*b", "{{<<: *b}}",
    "0x1F",
    "0o17", "1_000", "1:30:00", "1e5", "1.e+5", ".nan", "-.inf", "yes", "on", "~", "2024-01-01", "'1'", '"\\u0000"',
    '"\\x1b[2J"', "9999999999999999999999", "|\n   text", "[1, [2]]", "{{a: 1}}", "canary:Net", "1e999", "-0", "'null'",
)  # fmt: skip
REGISTRY = "losses:\n  sings: {target: 'canary:Net', summary: It sings., stage: 2}\n"


def write(content: dict[str, Any], folder: Path) -> None:
    (folder / "config.yml").write_text(yaml.safe_dump(content, sort_keys=False))


def spoil(folder: Path, chance: random.Random) -> None:
    path = folder / "config.yml"
    text = path.read_text()
    content = yaml.safe_load(text)
    drawn = chance.random()
    if drawn < 0.35:
        *way, last = chance.choice(list(places_in(content)))
        inner = content
        for key in way:
            inner = inner[key]
        if drawn < 0.05:
            inner[f"{last}x" if isinstance(inner, dict) else 0] = inner.pop(last)
        elif drawn < 0.09 and isinstance(inner, dict):
            inner[chance.choice([1, None, True, 1.5, f"x{last}", "registry", "trust_code"])] = chance.choice(
                ["a", None, [1], 0]
            )
        else:
            inner[last] = chance.choice([*VALUES[:6], *VALUES[8:], [inner[last]], {"a": inner[last]}, str(inner[last])])
        path.write_text(yaml.safe_dump(content, sort_keys=False))
    elif drawn < 0.7:
        lines = text.splitlines()
        number = chance.choice([number for number, line in enumerate(lines) if ": " in line])
        key = lines[number].partition(":")[0]
        lines[number] = f"{key}: {chance.choice(ODD).format(sang=str(folder / 'sang'))}"
        path.write_text("\n".join(lines) + "\n")
    else:
        change = bytes_of if drawn < 0.85 else lines_of
        path.write_bytes(change(text.encode(), chance))


def plain_of(value: Any) -> Any:
    if isinstance(value, Block) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return {field.name: plain_of(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: plain_of(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_of(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def ask(folder: Path) -> Answer:
    path = folder / "config.yml"

    def read() -> Any:
        config = load_config(path)
        return {key: plain_of(getattr(config, key)) for key in dir(config) if not key.startswith("_") and key in KEYS}

    return asked_and_read(read, "validate", path)


KEYS = {*WHOLE, *PLAIN}


def heeded(folder: Path) -> Any:
    """True where every value that the file gives is that of the configuration."""
    given = yaml.safe_load((folder / "config.yml").read_text(encoding="utf-8"))
    config = load_config(folder / "config.yml")
    for key, value in (given or {}).items():
        read = plain_of(getattr(config, key))
        pairs = [(read, value)]
        if isinstance(value, dict):
            pairs = [(read[inner], each) for inner, each in value.items()]
        for mine, theirs in pairs:
            if mine != theirs and mine != str(theirs) and not (theirs is None and isinstance(mine, dict)):
                raise ValueError(f"{key}: {theirs!r} is {mine!r}")
    return True


def write_registry(folder: Path) -> None:
    write({**PLAIN, "registry": "registry.yaml"}, folder)
    (folder / "registry.yaml").write_text(REGISTRY)


def spoil_registry(folder: Path, chance: random.Random) -> None:
    path = folder / "registry.yaml"
    drawn, text = chance.random(), path.read_text()
    if drawn < 0.5:
        content = yaml.safe_load(text)
        *way, last = chance.choice(list(places_in(content)))
        inner = content
        for key in way:
            inner = inner[key]
        inner[last] = chance.choice([*VALUES[:6], *VALUES[8:], ["canary:Net"], "canary", ":", "os:system", "a b:c"])
        path.write_text(yaml.safe_dump(content))
    else:
        path.write_bytes((bytes_of if drawn < 0.8 else lines_of)(text.encode(), chance))


def ask_registry(folder: Path) -> Answer:
    registry._USED.clear()
    registry._read.cache_clear()
    answer = asked("list", "losses", "--registry", folder / "registry.yaml")
    registry._USED.clear()
    registry._read.cache_clear()
    return answer._replace(read=answer.out.replace(str(folder), ""))


def subjects() -> list[Subject]:
    made = [
        Subject(f"configurations: {name}", partial(write, content), ask, heeded, True, spoil)
        for name, content in (("PLANT", WHOLE), ("linear", PLAIN))
    ]
    return [
        *made,
        Subject("configurations: registry", write_registry, ask_registry, lambda folder: True, True, spoil_registry),
    ]
