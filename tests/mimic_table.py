"""The table of MIMIC's configurations in docs/mimic.md: what each is compared with, and what it needs.

``python tests/mimic_table.py`` writes it; a test compares. Numbers are those of ``plant doctor --config``.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from click.testing import CliRunner
from packaged_settings import stored

from plant_plugin.cli import plant
from plant_plugin.commands.configurations import text_of
from plant_plugin.config import registry

PAGE = Path(__file__).resolve().parents[1] / "docs" / "mimic.md"
BEGIN, END = "<!-- configurations, written by tests/mimic_table.py -->", "<!-- end of the configurations -->"
# Training documents and labels. MIMIC-III full and top 50: the literature's lists and PLANT's paper. Few: at most five
# documents of each of 685 codes. MIMIC-IV: documents, training share and codes of ICD-10 are those of PLANT's paper,
# ICD-9 documents all those of Edin et al. 2023. Taken to be so: 500 documents, and as many ICD-9 codes as in MIMIC-III.
BENCHMARKS = {
    "mimic3": ("MIMIC-III full", 47_723, 8_929),
    "mimic3_50": ("MIMIC-III top 50", 8_066, 50),
    "mimic3_rare50": ("MIMIC-III rare 50", 500, 50),
    "mimic3_few": ("MIMIC-III few", 5 * 685, 685),
    "mimic4": ("MIMIC-IV, ICD-10", round(0.729 * 122_279), 7_942),
    "mimic4_icd9": ("MIMIC-IV, ICD-9", 209_326, 8_929),
}
WORDS = 52_000  # of the vocabulary
LONGEST = 10_000  # words of a note, where a configuration cuts none
LIBRARIES = 2  # GiB on a GPU
GPUS = (8, 16, 24, 40, 80)  # GB
GIB = 1024**3 / 1e9  # GB
HEADINGS = (
    "configuration", "benchmark", "compared with", "hardware", "GPU memory", "an epoch on an A100", "on an H200",
    "epochs", "main memory",
)  # fmt: skip


def sizes() -> str:
    """What the numbers are for."""
    told = [f"{name} {documents:,} and {labels:,}" for name, documents, labels in BENCHMARKS.values()]
    words = f"Words: {WORDS:,}, of a note that is not cut {LONGEST:,}."
    return f"Training documents and codes that they are for: {'; '.join(told)}. {words}"


def needs(name: str, documents: int, labels: int) -> list[str]:
    """Hardware, GPU memory, times of an epoch of both stages, epochs and main memory, as the command tells them."""
    given = ["--labels", str(labels), "--documents", str(documents), "--words", str(WORDS)]
    if "max_seq_length: null" in text_of(name):
        given += ["--tokens", str(LONGEST)]
    told = CliRunner().invoke(plant, ["doctor", "--config", name, *given]).output
    peak = re.search(r"memory +([\d.]+) GiB at the peak", told)
    if peak is None:
        return ["one GPU", "", "", "", "", ""]
    large = next(size for size in GPUS if size >= (float(peak[1]) + LIBRARIES) * GIB)
    epoch = re.search(r"an epoch +(.+) on one A100, (.+) on one H200", told)
    epochs = re.search(r"epochs +(.+) at most", told)
    assert epoch is not None
    assert epochs is not None
    main = sum(map(float, re.findall(r"main memory +([\d.]+) GiB", told)))
    bound = "over " if "l2r" in name else ""  # an AWD-LSTM is far from the peak
    times = (bound + epoch[place] for place in (1, 2))
    return [f"a GPU of {large} GB", f"{peak[1]} GiB", *times, epochs[1], f"{main:.1f} GiB"]


def compared_with(name: str, bench: str, model: str) -> str:
    """Whose numbers a run's stand beside."""
    if name.startswith("plant_paper"):
        return "the paper's own numbers"
    if name.startswith("planted_"):
        own = name.removeprefix("planted_")
        return f"`{own}.yml`" if own in stored() else "LibMultiLabel"
    if model == "PLANT":
        return "all others" if not name.startswith("plant_llm") else f"`plant_{bench}.yml`"
    return registry.entries("networks")[model].source.removeprefix("LibMultiLabel; ").partition(",")[0]


def table() -> str:
    """The block of docs/mimic.md."""
    rows = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    for bench, (benchmark, documents, labels) in BENCHMARKS.items():
        for name in stored():
            if name.endswith(f"_{bench}"):
                model = yaml.safe_load(text_of(name))["model_name"]
                cells = [f"`{name}.yml`", benchmark, compared_with(name, bench, model)]
                rows.append(f"| {' | '.join([*cells, *needs(name, documents, labels)])} |")
    return "\n".join([BEGIN, sizes(), "", *rows, END])


def page(text: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    return before + table() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
