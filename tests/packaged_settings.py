"""The settings of every packaged configuration that are not at their defaults, as when each was a file.

``tests/config/packaged_settings.json`` holds them by the configuration's name; a test compares. A key that is deleted,
because its value is a constant now, is taken out of the file by ``python tests/packaged_settings.py KEY...``.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plant_plugin.config import registry
from plant_plugin.config.load import Config, load_config, read_given
from plant_plugin.config.sections import Settings

FILE = Path(__file__).parent / "config" / "packaged_settings.json"
FILES = ("training_file", "val_file", "test_file", "test_filter_file", "label_file", "vocab_file", "embed_file")
OF_BLOCKS = {"evidence": FILES[:3], "planted_scores": ("names",), "relevance": ("counts",)}
WITHOUT_FILE = ("demo:", "glove.", "icd")  # beginnings of values that name no file


def stored() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def load_with_files(name: str) -> Config:
    """Load a packaged configuration in the working folder, in which all files that it names are made, empty."""
    values, _ = read_given(name)
    names = [values.get(key) for key in FILES]
    names += [values[block].get(key) for block, keys in OF_BLOCKS.items() if block in values for key in keys]
    for path in (Path(name) for name in names if name and not name.startswith(WITHOUT_FILE) and name != "none"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return load_config(name, {} if values.get("training_file") else {"training_file": "demo:train"})


def settings_of(config: Config) -> dict[str, Any]:
    """Every setting that is not at its default, those of blocks under ``block.key``, as JSON reads it."""
    defaults = {field.name: _default(field) for field in dataclasses.fields(Settings)}
    defaults["early_stopping_metric"] = config.val_metric
    if config.network_config:
        signature = registry.get("networks", config.model_name).signature(config.network_config)
        defaults["network_config"] = {name: signature.get(name) for name in config.network_config}
    values, before = _flat(config.as_dict()), _flat(defaults)
    return {key: value for key, value in sorted(values.items()) if value != before[key]}


def _default(field: dataclasses.Field[Any]) -> Any:
    value = field.default_factory() if callable(field.default_factory) else field.default
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in json.loads(json.dumps(settings, default=str)).items():
        flat |= {f"{key}.{inner}": each for inner, each in value.items()} if isinstance(value, dict) else {key: value}
    return flat


def write(settings: Mapping[str, Mapping[str, Any]]) -> None:
    FILE.write_text(json.dumps(settings, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write({name: {key: value for key, value in of.items() if key not in sys.argv[1:]} for name, of in stored().items()})
