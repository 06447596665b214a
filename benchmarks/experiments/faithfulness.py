"""Planted against unplanted attention: which words do predictions rest on?

    python benchmarks/experiments/faithfulness.py demo TEST_FILE planted=RUN unplanted=RUN [--documents 100]

For each run folder the numbers of ``plant faithfulness`` on the same test documents; written into
``benchmarks/tables/faithfulness_<name>.md``. Runs are made by ``libmultilabel``, e.g.

    libmultilabel --config plant_demo.yml --result_dir runs/planted
    libmultilabel --config plant_demo.yml --result_dir runs/unplanted --strategy end_to_end \\
        --network_config.planted_prior none --stage2.epochs 4

Nothing is tuned on these documents: the thresholds are the runs' own.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

from plant_plugin import Predictor
from plant_plugin.data.documents import source_path
from plant_plugin.data.tables import Columns, Table
from plant_plugin.files import atomic_write
from plant_plugin.model.faithfulness import Faithfulness, faithfulness

TABLES = Path(__file__).resolve().parents[1] / "tables"


def table(found: dict[str, list[Faithfulness]], name: str) -> str:
    """Markdown, a row for each run and order of the words."""
    lines = [
        f"# Faithfulness on {name}",
        "",
        "Written by `benchmarks/experiments/faithfulness.py`. Comprehensiveness: probability that a predicted label",
        "loses without the strongest words, higher is better. Sufficiency: what it loses with them alone, lower is",
        "better. Means over 1, 5, 10, 20 and 50 % of the words, then over documents, ± standard error.",
        "",
        "| run | words ordered by | comprehensiveness | sufficiency | documents |",
        "|---|---|---:|---:|---:|",
    ]
    for run, rows in found.items():
        lines += [
            f"| {run} | {row.order} | {row.comprehensiveness:.3f} ± {row.comprehensiveness_error:.3f} | "
            f"{row.sufficiency:.3f} ± {row.sufficiency_error:.3f} | {row.documents} |"
            for row in rows
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the runs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("test_file")
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN")
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found: dict[str, list[Faithfulness]] = {}
    for run in options.runs:
        system, _, folder = run.partition("=")
        documents = Table(source_path(options.test_file), "libmultilabel", Columns(labels=None))
        texts = [document.text for document in islice(documents, options.documents)]
        found[system] = faithfulness(Predictor.load(folder), texts, seed=options.seed)
    with atomic_write(TABLES / f"faithfulness_{options.name}.md") as temporary:
        temporary.write_text(table(found, options.name), encoding="utf-8")


if __name__ == "__main__":
    main()
