"""Run an experiment of `experiments.yml` and keep its results.

    python benchmarks/experiments/run.py EXPERIMENT DATASET [--seeds 1 2 3] [--variants plant linear …]
    python benchmarks/experiments/run.py --list

Stand in a folder that holds ``data/DATASET`` (see the configurations). Each run is one call of ``libmultilabel`` with a
packaged configuration and flags. Its result, and what its documents contribute, go to the files ``DATASET`` (main
comparison) or ``DATASET-EXPERIMENT`` of ``benchmarks/results`` (``kept_results.py``). A result that is there is not
made again. A run that was interrupted resumes after its last whole epoch; one of LibMultiLabel's own networks begins
again, and what its first epochs cost is not kept. Where another experiment has run the same configuration its result is
copied. Where another run has trained the same network (planted scores are weighed after training) that network is taken
over from ``WORK/networks``; its training counts in the times all the same. Thresholds, epochs and the like come from
validation only.
Then ``python benchmarks/tables.py`` writes the tables.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from definitions import Planned, load_definitions, packaged, plan, results_folder

from plant_plugin.config import load_config
from plant_plugin.data.documents import load_corpus
from plant_plugin.data.label_names import label_names
from plant_plugin.data.names_beside import names_beside
from plant_plugin.errors import ConfigError, PlantError
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.evaluation.per_document import PerDocument, load_per_document
from plant_plugin.evaluation.resampling import DocumentSums, computable
from plant_plugin.files import atomic_folder
from plant_plugin.l2r.language_model import Pretraining, pretrain
from plant_plugin.model.folder import MODEL
from plant_plugin.report.label_statistics import LABEL_STATISTICS
from plant_plugin.report.promises import read_promises
from plant_plugin.report.record import write_run_record
from plant_plugin.report.result import PER_DOCUMENT, read_result

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from kept_results import RESULTS, keep_run, names_in, read_results, read_runs  # noqa: E402

STAGES = ("stage1", "stage2")
CLOCKS = ("time_s", "cpu_s")
COSTS = (*CLOCKS, "peak_memory_mb")
TAKEN_OVER = "taken_over"  # a run's folder whose network another run has trained
TRAINED_BY = "trained_by.json"  # in it: what that training cost
# The defaults of `plant pretrain-lm`.
PRETRAINING = Pretraining(epochs=8, learning_rate=0.004, batch_size=32, segment_tokens=70)
LIBMULTILABEL = "from plant_plugin.cli import libmultilabel; libmultilabel()"
ON_TRIAL = """
import sys
sys.path.insert(0, {folder!r})
import trials
with trials.{trial}():
    {program}
"""


def flags_of(planned: Planned) -> list[str]:
    """The flags on the command line. What trains in fp32 on a processor does so on a GPU, where `auto` is narrower."""
    words = ["--config", planned.config_name, "--seed", str(planned.seed), "--silent"]
    for name, value in planned.flags.items():
        texts = value if isinstance(value, list) else [value]
        words += [f"--{name}", *(text if isinstance(text, str) else json.dumps(text) for text in texts)]
    if torch.cuda.is_available() and planned.is_ours and planned.config.precision == "auto":
        words += ["--precision", "32"]
    return words


def execute(words: list[str], trial: str | None = None) -> None:
    """One call of ``libmultilabel``, a process of its own, with this checkout's package; within a trial's context."""
    program = LIBMULTILABEL
    if trial:
        program = ON_TRIAL.format(folder=str(Path(__file__).parent), trial=trial, program=LIBMULTILABEL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    subprocess.run([sys.executable, "-c", program, *words], check=True, env=environment)


def place_of(planned: Planned, folder: Path, work: Path) -> Path:
    """Where the run of a result in ``folder`` is made."""
    return work / folder.name / planned.name / f"seed{planned.seed}"


def result_of(planned: Planned, folder: Path) -> dict[str, Any] | None:
    """The result of a run among those of its experiment, None where there is none."""
    return read_results(folder).get((planned.name, planned.seed))


def is_measured(result: dict[str, Any]) -> bool:
    """Whether a result holds what its experiment's `measure` adds to it, for which its model had to be kept."""
    return "attention" in result


def beside(folder: Path) -> Path:
    """Where a run's own files lie that are no results: its part of the training documents, its cache."""
    return folder.parent / f"{folder.name}-data"


def language_model(planned: Planned) -> None:
    """Train the language models that the configuration's encoder starts from on its training split, once."""
    if not (folder := packaged(planned.config_name).get("network_config", {}).get("language_model")):
        return
    wanted = planned.flags.get("network_config.directions", planned.config.network_config.get("directions", "forward"))
    for direction in ("forward", "backward") if wanted == "both" else (wanted,):
        if not (Path(folder) / f"{direction}.safetensors").is_file():
            pretrain(load_config(planned.config_name, {"network_config.directions": direction}), PRETRAINING)


def part_of_training(planned: Planned, folder: Path) -> tuple[list[str], int]:
    """Flags that name files with the first documents of a random order, and how many these are.

    A smaller part lies within every larger one of the same seed. Label set and validation split stay those of all.
    Names of labels stand behind, where they are asked for.
    """
    corpus = load_corpus(planned.config)
    train, val = corpus.train, next(split for split in corpus.splits if split.name == "val")
    order = np.random.default_rng(planned.seed).permutation(len(train))
    chosen = sorted(order[: max(1, round((planned.share or 1) * len(train)))].tolist())
    folder.mkdir(parents=True, exist_ok=True)
    for name, split, documents in (("training", train, chosen), ("val", val, range(len(val)))):
        lines = (f"{' '.join(split.labels[document])}\t{split.texts[document].rstrip()}\n" for document in documents)
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    if planned.names:
        known = label_names([str(names_beside(planned.config))])
        named = [(label, name) for label in corpus.label_names if (name := known(label))]
        with (folder / "training.txt").open("a", encoding="utf-8") as stream:
            stream.writelines(f"{label}\t{name}\n" for label, name in named)
    (folder / "labels.txt").write_text("".join(f"{name}\n" for name in corpus.label_names), encoding="utf-8")
    files = [("training_file", "training"), ("val_file", "val"), ("label_file", "labels")]
    return [word for key, name in files for word in (f"--{key}", str(folder / f"{name}.txt"))], len(chosen)


def finished(folder: Path) -> Path | None:
    """The run's folder below ``folder`` that holds a result."""
    return next((path.parent for path in folder.glob("*/result.json")), None)


def hand_on(planned: Planned, run: Path, networks: Path) -> None:
    """Keep the network of a finished run for runs that would train the same."""
    if not planned.trains or not (run / MODEL).is_file() or (kept := networks / planned.training).exists():
        return
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    told = {name: {stage: result[name][stage] for stage in STAGES if stage in result[name]} for name in COSTS}
    networks.mkdir(parents=True, exist_ok=True)
    with atomic_folder(kept) as temporary:
        for name in (MODEL, "logs.json"):
            shutil.copyfile(run / name, temporary / name)
        (temporary / TRAINED_BY).write_text(json.dumps(told), encoding="utf-8")


def take_over(planned: Planned, folder: Path, networks: Path) -> Path | None:
    """A run's folder below ``folder`` whose stages have ended with a network that was kept; None: none was."""
    if not planned.trains or not (kept := networks / planned.training).is_dir():
        return None
    run = folder / TAKEN_OVER
    run.mkdir(parents=True)
    for stage in STAGES:
        shutil.copyfile(kept / MODEL, run / f"{stage}.safetensors")
    for name in ("logs.json", TRAINED_BY):
        shutil.copyfile(kept / name, run / name)
    write_run_record(run, {"config_hash": planned.config.hash(), "finished": False})
    return run


def train(planned: Planned, folder: Path, networks: Path) -> tuple[Path, int | None]:
    """Make the run, or go on with it; its folder and how many training documents a part had."""
    # A cache of its own: minutes are those of a run that finds nothing made before.
    words, documents = [*flags_of(planned), "--cache_dir", str(beside(folder) / "cache")], None
    if planned.on_a_part:
        files, documents = part_of_training(planned, beside(folder))
        words += files
    elif planned.share is not None:
        documents = len(load_corpus(planned.config).train)
    if (done := finished(folder)) is None:
        begun = next((path.parent for path in folder.glob("*/run.json")), None)
        if begun is None:
            shutil.rmtree(folder, ignore_errors=True)
            begun = take_over(planned, folder, networks)
        words += ["--resume", str(begun), "--trust-code"] if begun else ["--result_dir", str(folder)]
        print("libmultilabel", *words, file=sys.stderr, flush=True)
        execute(words, planned.trial)
        done = finished(folder)
    if done is None:
        raise FileNotFoundError(f"no result.json in {folder}")
    return done, documents


def keep(planned: Planned, run: Path, folder: Path, documents: int | None) -> None:
    """Keep the result of a run with the epochs of ``logs.json``, the validation macro-F1 and its documents."""
    result: dict[str, Any] = {**read_result(run / "result.json")}
    result["experiment"] = {"name": planned.experiment, "variant": planned.variant, "value": planned.value}
    if planned.trial:
        result["experiment"]["trial"] = planned.trial
    if (trained := run / TRAINED_BY).is_file():
        cost = json.loads(trained.read_text(encoding="utf-8"))
        for name in CLOCKS:
            result[name] |= cost[name]
            result[name]["total"] += sum(cost[name].values())
        memory = {**result["peak_memory_mb"], **cost["peak_memory_mb"]}
        result["peak_memory_mb"] = {**memory, "total": max(memory.values())}
    if documents is not None:
        result["experiment"]["training_documents"] = documents
    if (log := run / "logs.json").is_file():
        logs = json.loads(log.read_text(encoding="utf-8"))
        result["epochs"] = {name: logs[name] for name in ("stage1", "train", "val") if name in logs}
    if (statistics := run / LABEL_STATISTICS).is_file():
        with statistics.open(encoding="utf-8", newline="") as stream:
            reached = [float(row["F1@macro"]) for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)]
        result["validation"] = {"Macro-F1@macro": sum(reached) / len(reached)}
    if promised := read_promises(run).get("test"):
        result["promises"] = promised
    of_documents = load_per_document(run / PER_DOCUMENT)
    if planned.names:
        of_documents = counted_without_names(planned, result, of_documents)
    keep_run(folder, planned.name, result, of_documents)


def counted_without_names(planned: Planned, result: dict[str, Any], documents: PerDocument) -> PerDocument:
    """What documents contribute, with propensities and bins of the training documents alone, and so in ``result``."""
    corpus = load_corpus(planned.config).with_labels(documents.labels)
    counts = np.asarray(corpus.label_matrix(corpus.train).sum(axis=0)).ravel().astype(np.int64)
    documents = replace(documents, train_counts=counts, num_train=len(corpus.train))
    metrics = {name: parse_metric(name) for name in result["metrics"]}
    asked = {name: one for name, one in metrics.items() if one.needs_training_counts and computable(one, documents)}
    found = DocumentSums(documents, list(asked.values())).resampled(np.ones((1, len(documents))))[0]
    result["metrics"] |= dict(zip(asked, found.tolist(), strict=True))
    return documents


def copied(planned: Planned, folder: Path) -> bool:
    """Whether another experiment has a result of the same configuration and seed, which was copied from there."""
    if planned.on_a_part or planned.trial or planned.experiment == "main":
        return False
    wanted = planned.config.hash()
    dataset = folder.name.partition("-")[0]
    for name in names_in(folder.parent):
        if name.partition("-")[0] != dataset:
            continue
        for (_, seed), run in read_runs(folder.with_name(name)).items():
            same = seed == planned.seed and run.result["hashes"].get("config") == wanted
            if same and "trial" not in run.result.get("experiment", {}) and "epochs" in run.result and run.arrays:
                told: dict[str, Any] = {"name": planned.experiment, "variant": planned.variant, "value": planned.value}
                if planned.share is not None:
                    told["training_documents"] = len(load_corpus(planned.config).train)
                keep_run(folder, planned.name, {**run.result, "experiment": told}, run.documents)
                return True
    return False


def run_experiment(
    runs: list[Planned], folder: Path, work: Path, *, keep_models: bool = False
) -> list[tuple[Planned, str]]:
    """Make the runs that have no result yet; those that failed, and how."""
    failures = []
    for planned in runs:
        result, place = result_of(planned, folder), place_of(planned, folder, work)
        if result is not None and (not keep_models or finished(place) or is_measured(result)):
            continue
        try:
            language_model(planned)
            if not keep_models and copied(planned, folder):
                continue
            run, documents = train(planned, place, work / "networks")
        except (subprocess.CalledProcessError, FileNotFoundError, PlantError) as error:
            failures.append((planned, f"{error}; what is there is in {place}"))
            continue
        keep(planned, run, folder, documents)
        hand_on(planned, run, work / "networks")
        if not keep_models:
            shutil.rmtree(place)
            shutil.rmtree(beside(place), ignore_errors=True)
    return failures


def measure(definition: dict[str, Any], runs: list[Planned], folder: Path, work: Path) -> None:
    """Add what an experiment measures on the models that it kept to their results; most measure nothing."""
    if "measure" in definition:
        importlib.import_module(definition["measure"]).measure(runs, folder, work)


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for."""
    definitions = load_definitions()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", nargs="?", choices=sorted(definitions))
    parser.add_argument("dataset", nargs="?", help="demo, bc5cdr, eurlex6k, eurlex57k, mimic3, …")
    parser.add_argument("--seeds", type=int, nargs="+", help="default: as many as the definition says")
    parser.add_argument("--variants", nargs="+", help="default: all but those on demand")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="more flags, for a trial elsewhere")
    parser.add_argument("--results", type=Path, default=RESULTS, help="another folder for the results")
    parser.add_argument("--work", type=Path, default=Path("runs/experiments"), help="runs in progress, kept models")
    parser.add_argument("--dry-run", action="store_true", help="say what would run")
    parser.add_argument("--list", action="store_true", help="the experiments")
    options = parser.parse_args(arguments)
    if options.list or not (options.experiment and options.dataset):
        for name, definition in definitions.items():
            print(f"{name:14} {definition['question']} ({', '.join(definition['variants'])})")
        return 0
    if options.set and options.results == RESULTS:
        parser.error("--set changes what an experiment is: give --results another folder")
    definition = definitions[options.experiment]
    changes = {key: yaml.safe_load(value) for key, _, value in (text.partition("=") for text in options.set)}
    try:
        runs, missing = plan(
            options.experiment, options.dataset, options.seeds, variants=options.variants, changes=changes
        )
    except ConfigError as error:
        parser.error(str(error.format_message()))
    for name in missing:
        print(f"left out: {name} has no configuration for {options.dataset}", file=sys.stderr)
    if options.dry_run:
        for planned in runs:
            print("libmultilabel", *flags_of(planned))
        return 0
    folder = results_folder(options.results, options.experiment, options.dataset)
    failures = run_experiment(runs, folder, options.work, keep_models=definition.get("keep_models", False))
    measure(definition, runs, folder, options.work)
    for planned, how in failures:
        print(f"failed: {planned.name}, seed {planned.seed}: {how}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
