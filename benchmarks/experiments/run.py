"""Run the systems of one data set and keep their ``result.json``.

    python benchmarks/experiments/run.py eurlex6k --seeds 1 2 3 [--systems plant plant_scores end_to_end linear …]

Stand in a folder that holds ``data/<data set>`` (see the configurations). Each system is one call of ``libmultilabel``
with a packaged configuration; what it writes is copied to ``benchmarks/results/<data set>/<system>/seed<k>.json``.
A result that is there already is not made again. Thresholds, epochs and the like come from validation only.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results"
SYSTEMS = ("plant", "plant_scores", "end_to_end", "linear", "caml", "bigru_lwan")
# Both strategies train for the same number of epochs: stage 1's two are given to the single stage.
TOTAL_EPOCHS = {"eurlex6k": 6, "bc5cdr": 14}
WITH_WORD_VECTORS = ("caml", "bigru_lwan")


def command(dataset: str, system: str, seed: int, folder: str) -> list[str]:
    """The call of ``libmultilabel`` for one system."""
    config = f"{'plant' if system in ('end_to_end', 'plant_scores') else system}_{dataset}.yml"
    call = ["libmultilabel", "--config", config, "--seed", str(seed), "--result_dir", folder, "--silent"]
    if system == "end_to_end":
        call += ["--strategy", "end_to_end", "--stage2.epochs", str(TOTAL_EPOCHS[dataset])]
    if system == "plant_scores":
        call += ["--planted_scores.model", "ridge"]
    return call


def word_vectors(dataset: str) -> None:
    """Train the baselines' word vectors on the training split, once."""
    vectors = Path("data") / dataset / "embeddings.txt"
    if not vectors.is_file():
        training = next(Path("data", dataset).glob("train.txt*"))
        subprocess.run(["plant", "embeddings", str(training), "--out", str(vectors)], check=True)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", choices=sorted(TOTAL_EPOCHS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    options = parser.parse_args()
    for seed in options.seeds:
        for system in options.systems:
            target = RESULTS / options.dataset / system / f"seed{seed}.json"
            if target.is_file():
                continue
            if system in WITH_WORD_VECTORS:
                word_vectors(options.dataset)
            with tempfile.TemporaryDirectory() as folder:
                call = command(options.dataset, system, seed, folder)
                print(" ".join(call), file=sys.stderr, flush=True)
                subprocess.run(call, check=True)
                (result,) = Path(folder).glob("*/result.json")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(result.with_name("per_document.npz"), target.with_suffix(".npz"))  # for tables.py's tests
                shutil.copy(result, target)


if __name__ == "__main__":
    main()
