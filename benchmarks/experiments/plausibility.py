"""Which words do explanations name, and which did coders mark? Several systems side by side.

    python benchmarks/experiments/plausibility.py codiesp planted=RUN,RUN,RUN unplanted=RUN,RUN,RUN laat=RUN ...

For each system (runs with several seeds, separated by commas) the numbers of ``plant plausibility`` on the runs' own
test and validation files; written into ``benchmarks/tables/plausibility_<name>.md`` with a picture beside it. Runs are
made by ``libmultilabel``, e.g. with ``end_to_end`` for what is not planted:

    libmultilabel --config plant_codiesp.yml --result_dir runs/planted
    libmultilabel --config plant_codiesp.yml --result_dir runs/unplanted --strategy end_to_end \\
        --network_config.planted_prior none
    libmultilabel --config plant_codiesp.yml --result_dir runs/stage1 --stage2.epochs 0

The last is the network as stage 1 leaves it, with the same seed that of the first run: what its attention orders is the
row of stage 1 alone (its output layer has learnt nothing). CAML and BiGRU-LWAN are run as PlantedCAML and
PlantedBiGRULWAN with ``end_to_end`` and no prior, the same functions, which show their attention.

Thresholds come from the validation documents of each run.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from plant_plugin import Predictor
from plant_plugin.commands.reading import marked_documents
from plant_plugin.data.evidence import read_evidence
from plant_plugin.files import atomic_write, write_text
from plant_plugin.model.plausibility import MarkedPairs, Plausibility, marked_pairs, plausibility
from plant_plugin.model.trained import with_unrefitted
from plant_plugin.report.label_statistics import read_train_counts

sys.path.append(str(Path(__file__).resolve().parents[1]))
from pictures import Line, line_picture

TABLES = Path(__file__).resolve().parents[1] / "tables"
MOST_WORDS = 0.2  # of a document, to which the picture goes


def measured(runs: list[Path], seed: int) -> tuple[list[Plausibility], MarkedPairs]:
    """One system's numbers, and its pairs."""
    pairs: list[tuple[MarkedPairs, MarkedPairs]] = []
    counts = None
    for run in runs:
        model, unrefitted = with_unrefitted(Predictor.load, run)
        counts = read_train_counts(unrefitted.folder, unrefitted.labels)
        of_splits = []
        for split, predictor in (("test", model), ("val", unrefitted)):
            documents, path = marked_documents(run, split)
            of_splits.append(marked_pairs(predictor, documents.texts, read_evidence(path, documents), seed=seed))
        pairs.append((of_splits[0], of_splits[1]))
    return plausibility(pairs, counts, seed=seed), pairs[0][0]


def table(found: dict[str, list[Plausibility]], name: str, pairs: int, documents: int) -> str:
    """Markdown: a row for each system and order of the words; then F1 by training documents."""
    lines = [
        f"# Plausibility on {name}",
        "",
        "Written by `benchmarks/experiments/plausibility.py`: words that explanations name beside those that coders",
        f"marked, in %, means over {pairs:,} pairs of document and label of {documents:,} test",
        "documents and over the runs of a system, with 95 % intervals over documents. Named is a word at or above a",
        "share of the strongest word, chosen on validation documents. AP: area under the precision-recall curve.",
        "",
        f"| system | words ordered by | runs | {' | '.join(next(iter(found.values()))[0].measures)} |",
        f"|---|---|---:|{'---:|' * len(next(iter(found.values()))[0].measures)}",
    ]
    for system, orders in found.items():
        for one in orders:
            cells = " | ".join(
                f"{100 * mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]" for mean, low, high in one.measures.values()
            )
            lines.append(f"| {system} | {one.order} | {len(one.shares)} | {cells} |")
    bins = list(dict.fromkeys(name for orders in found.values() for one in orders for name in one.bins))
    if bins:
        lines += ["", "F1 of labels by their number of training documents:", ""]
        lines += [f"| system | words ordered by | {' | '.join(bins)} |", f"|---|---|{'---:|' * len(bins)}"]
        for system, orders in found.items():
            for one in orders:
                cells = " | ".join(f"{100 * one.bins[b]['F1'][0]:.1f}" if b in one.bins else "–" for b in bins)
                lines.append(f"| {system} | {one.order} | {cells} |")
    return "\n".join(lines) + f"\n\n![Evidence found](plausibility_{name}.svg)\n"


def main() -> None:
    """Measure the runs and write table and picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("systems", nargs="*", metavar="NAME=RUN,RUN")
    parser.add_argument("--order", default="attention", help="of the words, in the picture")
    parser.add_argument("--tables", type=Path, default=TABLES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kept = options.tables / f"plausibility_{options.name}.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {"systems": {}}
    for given in options.systems:
        system, _, runs = given.partition("=")
        measured_now, pairs = measured([Path(run) for run in runs.split(",")], options.seed)
        counts = {"pairs": len(pairs), "documents": len(set(pairs.documents))}
        if known["systems"] and counts != {name: known[name] for name in counts}:
            raise SystemExit(f"{system}: tested on {counts}, the systems in {kept.name} on others")
        known = {**counts, "systems": {**known["systems"], system: [asdict(one) for one in measured_now]}}
    write_text(kept, json.dumps(known, indent=1))
    found = {system: [Plausibility(**one) for one in orders] for system, orders in known["systems"].items()}
    with atomic_write(options.tables / f"plausibility_{options.name}.md") as temporary:
        temporary.write_text(table(found, options.name, known["pairs"], known["documents"]), encoding="utf-8")
    lines = {
        system: Line([(100 * x, 100 * y) for x, y in sorted(one.curve) if x <= MOST_WORDS])
        for system, orders in found.items()
        for one in orders
        if one.order == options.order
    }
    title = f"Evidence found, {options.name}, words by {options.order}"
    picture = line_picture({"marked words found (%)": lines}, title=title, x="words named (% of a document)")
    with atomic_write(options.tables / f"plausibility_{options.name}.svg") as temporary:
        picture.savefig(temporary, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
