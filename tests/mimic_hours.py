"""How long the configurations for MIMIC train: by measured batches, of large language models by counted operations.

Hours are those of all epochs of both stages, without validation, reading and planted scores; early stopping may end
them sooner.
``tests/mimic_table.py`` writes them into docs/mimic.md and into the heads of the packaged data sets.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import yaml

from plant_plugin.commands.configurations import text_of

MEASURED = Path(__file__).resolve().parents[1] / "benchmarks" / "tables" / "gpu.json"
BEGIN = "# Hours"  # how the lines in the head of a data set begin
NOT = "not measured"
# A GPU's bf16 operations a second with dense matrices, as its maker states them, and the share taken to be reached.
PEAK, REACHED = 989e12, 0.35
# Two operations a weight and sub-word: of a forward pass, of it once more under gradient checkpointing, and of the
# gradient of what goes in. The weights themselves have none.
OPERATIONS = 6


def epochs_of(config: dict[str, Any]) -> dict[str, int]:
    """The epochs of each stage, at most."""
    stages = ["stage2"] if config.get("strategy") == "end_to_end" else ["stage1", "stage2"]
    return {stage: config.get(stage, {}).get("epochs") or config.get("epochs", 0) for stage in stages}


def measured_hours(name: str, documents: int) -> float | None:
    """Hours of an H100, from the seconds a batch of this very configuration; None where nobody measured them."""
    record = json.loads(MEASURED.read_text(encoding="utf-8")).get(name)
    config = yaml.safe_load(text_of(name))
    if record is None or record["shared"] or record["batch_size"] != config.get("batch_size", 16):
        return None
    batches = math.ceil(documents / record["batch_size"])
    return sum(record["seconds"][stage] * batches * epochs for stage, epochs in epochs_of(config).items()) / 3600


def counted_hours(name: str, documents: int) -> float | None:
    """Hours of an H200 where every document is as long as can be; None where there is no Mistral 7B."""
    from transformers import MistralConfig

    config = yaml.safe_load(text_of(name))
    if config.get("network_config", {}).get("lm_weight") != "mistral-7b":
        return None
    size = MistralConfig()  # that of the 7B
    width, groups = size.hidden_size, size.num_key_value_heads / size.num_attention_heads
    layer = 2 * width * width * (1 + groups) + 3 * width * size.intermediate_size  # q, o, k, v and the three of the MLP
    operations = OPERATIONS * layer * size.num_hidden_layers * config["max_seq_length"] * documents
    return sum(epochs_of(config).values()) * operations / (PEAK * REACHED) / 3600


def cell(name: str, documents: int) -> str:
    """What the table says."""
    if (hours := measured_hours(name, documents)) is not None:
        return f"{hours:.1f}"
    hours = counted_hours(name, documents)
    return NOT if hours is None else f"{hours:.0f} of an H200, counted"


def head(bench: str, documents: int, names: list[str]) -> list[str]:
    """The lines in the head of a data set, of the configurations that the table has."""
    measured, counted = ({name.removesuffix(f"_{bench}"): hours for name in names if (hours := of(name, documents))}
                         for of in (measured_hours, counted_hours))  # fmt: skip
    parts = []
    if measured:
        shown = ", ".join(f"{method} {hours:.1f}" for method, hours in measured.items())
        parts.append(f"{BEGIN} of an H100 at most, from measured batches: {shown}; of other methods {NOT}.")
    else:
        parts.append(f"{BEGIN}: {NOT}; plant doctor --config METHOD_{bench}.yml measures them on your device.")
    if counted:
        shown = ", ".join(f"{method} {hours:.0f}" for method, hours in counted.items())
        parts.append(f"{BEGIN} of an H200 at most, from counted operations, not measured: {shown}.")
    return parts


def with_head(text: str, lines: list[str]) -> str:
    """A data set's file with these lines in its head, before those that say what is needed first."""
    rows = [row for row in text.splitlines() if not row.startswith(BEGIN)]
    place = next(number for number, row in enumerate(rows) if row.startswith("# first: "))
    return "\n".join([*rows[:place], *lines, *rows[place:]]) + "\n"
