"""The table of MIMIC's configurations in docs/mimic.md: what each is compared with, and how long it trains.

``python tests/mimic_table.py`` writes it, and the hours into the heads of the packaged data sets; a test compares.
"""

from __future__ import annotations

from pathlib import Path

import mimic_hours
import yaml
from packaged_settings import stored

from plant_plugin.commands.configurations import text_of
from plant_plugin.config import registry
from plant_plugin.config.methods import data_sets

PAGE = Path(__file__).resolve().parents[1] / "docs" / "mimic.md"
BEGIN, END = "<!-- configurations, written by tests/mimic_table.py -->", "<!-- end of the configurations -->"
# Training documents and labels. MIMIC-III full and top 50: the literature's lists and PLANT's paper. Few: at most five
# documents of each of 685 codes. Clean and MIMIC-IV: documents counted in Edin et al.'s split files, ICD-10 codes of
# PLANT's paper; where no source tells them, codes are None. Taken to be so: 500 documents.
BENCHMARKS = {
    "mimic3": ("MIMIC-III full", 47_723, 8_929),
    "mimic3_50": ("MIMIC-III top 50", 8_066, 50),
    "mimic3_rare50": ("MIMIC-III rare 50", 500, 50),
    "mimic3_few": ("MIMIC-III few", 5 * 685, 685),
    "mimic3_clean": ("MIMIC-III clean", 38_401, None),
    "mimic4": ("MIMIC-IV, ICD-10", 89_099, 7_942),
    "mimic4_icd9": ("MIMIC-IV, ICD-9", 154_542, None),
}
HEADINGS = ("configuration", "benchmark", "compared with", "hours of an H100")


def sizes() -> str:
    """Say what the benchmarks are of."""
    rare = "those of ten summaries or more"
    parts = [
        f"{name} {documents:,} and {f'{labels:,}' if labels else rare}"
        for name, documents, labels in BENCHMARKS.values()
    ]
    return f"Training documents and codes: {'; '.join(parts)}."


def compared_with(name: str, bench: str, model: str) -> str:
    """Whose numbers a run's stand beside."""
    if name.startswith("plant_paper"):
        return "the paper's own numbers"
    unplanted = name.removeprefix("planted_")
    if unplanted != name and unplanted in stored():
        return f"`{unplanted}.yml`"
    if model == "PLANT":
        return "all others" if not name.startswith("plant_llm") else f"`plant_{bench}.yml`"
    return registry.entries("networks")[model].source.removeprefix("LibMultiLabel; ").partition(",")[0]


def table() -> str:
    """The block of docs/mimic.md."""
    rows = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    for bench, (benchmark, documents, _) in BENCHMARKS.items():
        for name in stored():
            if name.endswith(f"_{bench}"):
                model = yaml.safe_load(text_of(name))["model_name"]
                cells = [
                    f"`{name}.yml`",
                    benchmark,
                    compared_with(name, bench, model),
                    mimic_hours.cell(name, documents),
                ]
                rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([BEGIN, sizes(), "", *rows, END])


def with_hours(bench: str) -> str:
    """The packaged file of a data set with the hours as they are now."""
    names = [name for name in stored() if name.endswith(f"_{bench}")]
    lines = mimic_hours.head(bench, BENCHMARKS[bench][1], names)
    return mimic_hours.with_head(data_sets()[bench].read_text(encoding="utf-8"), lines)


def page(text: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    return before + table() + rest.partition(END)[2]


if __name__ == "__main__":
    for each in BENCHMARKS:
        data_sets()[each].write_text(with_hours(each), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
