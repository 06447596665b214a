"""One run of ``libmultilabel``, from a configuration to ``result.json``: begin reading with :func:`train`."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from plant_plugin.config import Config, load_config, registry
from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.config.rules import is_ours
from plant_plugin.config.values import Keys
from plant_plugin.data.names_beside import names_for_model, names_source
from plant_plugin.data.tokens import load_tokens
from plant_plugin.errors import CheckpointError, ConfigError, PlantError
from plant_plugin.evaluation.said import counted
from plant_plugin.files import remove, sha256, write_text
from plant_plugin.model.folder import read_content
from plant_plugin.networks.hub import quiet
from plant_plugin.relevance.planted_scores import read_weights
from plant_plugin.report.logs import shorten_log, write_log_config
from plant_plugin.report.metric_log import MetricLog
from plant_plugin.report.record import FIRST_PASS, RUN_FILE, note_cost, read_run_record
from plant_plugin.report.result import Result, read_result
from plant_plugin.report.run import Run
from plant_plugin.report.run_folder import SETTLED, own_folder
from plant_plugin.training import resume
from plant_plugin.training.build import build_network, load, plant_relevance, save
from plant_plugin.training.cheapest import keep_names, keep_network
from plant_plugin.training.devices import device_of, first_before_others, from_first, is_first, together
from plant_plugin.training.first_pass import as_first
from plant_plugin.training.frozen_states import frozen_states
from plant_plugin.training.further import decided, few_are_new, folder_before
from plant_plugin.training.guards import limited_memory
from plant_plugin.training.inputs import Encoded, Inputs, mark_tokens, prepare, rows_read_again
from plant_plugin.training.needed_names import worth_trying
from plant_plugin.training.open_labels import read_named
from plant_plugin.training.open_weights import with_open_labels
from plant_plugin.training.promises import promised, tested
from plant_plugin.training.run_settings import seed_everything
from plant_plugin.training.scoring import Scoring, network_logits, validation_logits
from plant_plugin.training.shortlist import propose
from plant_plugin.training.thresholds import tune_thresholds
from plant_plugin.training.weights import fit_phrases, fit_scores, weigh

Stages = dict[str, resume.Stage]


def run(config: Config, *, tests: bool = True) -> Result:
    """Train and, unless ``tests`` is false, test what the configuration names.

    Returns:
        The content of ``result.json``, or an empty dictionary when there was nothing to test.
    """
    return train_in_folder(config, tests=tests)[1]


def train_in_folder(config: Config, *, tests: bool = True) -> tuple[Path, Result]:
    """Do what :func:`run` does; returns the run's folder too."""
    with quiet(config.silent), own_folder(resume.resume_newest(chosen_by_data(config))) as config:
        if config.settled:
            write_text(config.checkpoint_dir / SETTLED, config.settled)
        result = run_in_folder(config, tests=tests)
        if not config.silent and not config.eval and is_first():
            folder = shlex.quote(str(config.checkpoint_dir))
            commands = f"\n  plant predict {folder} new.txt\n  plant explain {folder} new.txt --document 1"
            print(f"the model is in {folder}{commands if is_ours(config) else ''}", file=sys.stderr)
        return config.checkpoint_dir, result


def chosen_by_data(config: Config) -> Config:
    """Return the configuration with what ``choose: true`` leaves to the documents; another one as it is.

    Raises:
        ConfigError: Several processes, or what the user gives does not go with what is chosen.
        DataError: The files cannot be used.
    """
    if not config.choose:
        return config
    if os.environ.get("WORLD_SIZE", "1") != "1":
        fix = f"train with one process first, even for `minutes: 1`, and name the {SETTLED} of its run"
        raise ConfigError("each process would decide by its own clock", where="choose", fix=fix)
    from plant_plugin.training.choose.settle import settle  # imports the linear model and the trials

    return settle(config)


def named_run(configuration: Path, seed: int, folder: Path) -> Config:
    """Return a silent run of a seed, in a folder of this name; what was stopped there is resumed, or begins anew."""
    config = load_config(configuration, {"seed": seed, "silent": True, "result_dir": str(folder.parent)})
    if is_ours(config) and (folder / RUN_FILE).is_file():
        return config.resumed(folder)
    remove(folder)  # LibMultiLabel resumes none
    return replace(config, run_name=folder.name, checkpoint_dir=folder)


def run_in_folder(config: Config, *, tests: bool = True) -> Result:
    """Do what :func:`run` does, in the folder that :func:`.own_folder` has made."""
    if config.devices == 1 and os.environ.get("WORLD_SIZE", "1") == "1":
        return _one_process(config, tests)
    return together(functools.partial(_one_process, config, tests), config, config.checkpoint_dir)


def plant(config: Config, run: Run) -> Result:
    """Stage 1 plants the attention, stage 2 trains everything."""
    from plant_plugin.training.stage1 import run_stage1  # Lightning, which nothing without a network needs
    from plant_plugin.training.stage2 import run_stage2

    return _guarded(config, run, {"stage1": run_stage1, "stage2": run_stage2})


def end_to_end(config: Config, run: Run) -> Result:
    """Stage 2 only, on the same network (a configured prior included)."""
    from plant_plugin.training.stage2 import run_stage2

    return _guarded(config, run, {"stage2": run_stage2})


def planted_scores(config: Config, run: Run) -> Result:
    """Only the planted scores: what they are without the configured network, in the time that they take."""
    return _guarded(config, run, {})


def train(config: Config, run: Run, stages: Stages) -> Result:
    """From files to a tested model: the method, of which docs/method.md has a paragraph for each line.

    ``stages`` train the network, in this order.
    """
    documents = read_documents(config, run)
    phrases = fit_phrases(documents, config, run)
    names = read_named(documents, config, run)
    scores = fit_scores(documents, phrases, config, run)
    scores, shortlists = propose(scores, documents, config, run)
    network = build_network(documents, config, run, run.further)
    relevance = plant_relevance(network, documents, config, run, planted="stage1" in stages)
    strength = config.evidence.prior if network.has_prior else 0.0
    marks = mark_tokens(documents, phrases, strength, run, trains=bool(stages))
    states = frozen_states(network, documents, config, run)
    rows = rows_read_again(documents, run.further, config.seed)
    inputs = Inputs(documents, relevance, marks, states, shortlists, rows)
    for stage, train_network in stages.items():
        resume.do_stage(stage, train_network, network, inputs, config, run)
    validation = validation_logits(network, inputs, config, run)
    weighed = weigh(scores, inputs, validation, config, run)
    scoring = keep_network(Scoring(network, inputs, weighed, config, run, validation), scores)
    names = worth_trying(names, scoring)
    scoring = keep_names(with_open_labels(scoring, names, phrases), scoring)
    scoring, thresholds = as_first(scoring) or tune_thresholds(scoring)
    thresholds |= promised(scoring)
    if is_first():
        save(scoring, thresholds)
    return test(scoring, thresholds)


def test(scoring: Scoring, thresholds: dict[str, float]) -> Result:
    """Score the test documents and write ``result.json``, in the first process."""
    inputs, run = scoring.inputs, scoring.run
    if not is_first():
        if "test" in inputs.documents.arrays and run.tests:
            for _ in network_logits(scoring.network, inputs, "test", scoring.settings):  # this process's part of it
                pass
        return {}
    write_log_config(run.log_path, run.logged_config)
    shorten_log(run.log_path, {"test": 0})  # of a run that was killed after its test
    run.metrics.go_on("test", 0)
    return tested(scoring, thresholds)


@first_before_others()
def read_documents(config: Config, run: Run) -> Encoded:
    """Read and encode the documents; where a run is resumed they have to be the same.

    A network that stays as it is, because few documents are new, keeps its vocabulary: it knows no other word.
    """
    before = run.further if few_are_new(run.further) else None
    documents = prepare(config, run, None if before is None else load_tokens(folder_before(before, config)))
    names = Path(names_source(config) or "")
    names_for_model(config, documents.corpus.label_names)  # what is wrong with them is said before training
    of_names = {"names of labels": sha256(names)} if names.is_file() else {}
    resume.same_data(run, documents.hashes | of_names)
    return documents


def _one_process(config: Config, tests: bool) -> Result:
    """Run one of the processes of a run: all use the folder of the first, and only that prints and writes."""
    config = from_first(lambda: config)
    config = replace(config, silent=config.silent or not is_first())
    with quiet(config.silent):
        return _recorded(config, tests)


def _recorded(config: Config, tests: bool) -> Result:
    record = Run(config.checkpoint_dir, silent=config.silent, tests=tests, writes=is_first())
    record.config_name, record.config_hash, record.changed = config.config_name, config.hash(), config.changed()
    try:
        registry.use(config.registry)  # in a process that was started for this run
        if not is_ours(config):
            from plant_plugin.host.baseline import run_baseline  # imports LibMultiLabel, seconds

            return run_baseline(config, record)
        strategy: Callable[[Config, Run], Result] = registry.get("strategies", config.strategy).load()
        return strategy(config, record)
    except PlantError:
        record.remove_empty_folder()
        raise


def _guarded(config: Config, run: Run, stages: Stages) -> Result:
    """Train, or test, where a stop, a full disk and an earlier end of the same run are provided for."""
    run.logged_config, run.config_hash, run.changed = config.as_dict(), config.hash(), config.changed()
    run.command = resume.command(str(config.config_path or config.config_name), run.resumed_from)
    with contextlib.ExitStack() as stack:
        stack.enter_context(resume.sigterm_stops(run))
        if not config.eval:
            stack.enter_context(resume.full_disk_resumes(run))
        if is_first():
            run.metrics = stack.enter_context(contextlib.closing(_metric_log(config, run)))
        if not config.eval and from_first(lambda: resume.has_ended(run, resumed=bool(config.resume))):
            run.log("this run has ended before; these are its results")
            path = run.folder / "result.json"
            return read_result(path) if is_first() and path.is_file() else {}
        if config.refit != "none":
            config = _trained_once(config, run, stages)
        stack.enter_context(limited_memory(run, limited=device_of(config).type == "cpu"))
        seed_everything(config.seed or 0)
        if config.eval:
            return test(*load(config, run))
        left_out = {name for name in stages if getattr(config, name).epochs == 0}
        if few_are_new(run.further):
            left_out.add("stage2")
        if config.strategy == PLANTED_SCORES:  # as the first training found
            left_out |= stages.keys()
        stages = {name: stage for name, stage in stages.items() if name not in left_out}
        result = train(config, run, stages)
        if is_first():
            resume.finish(run)
        return result


def _metric_log(config: Config, run: Run) -> MetricLog:
    if config.logger == "csv":
        return MetricLog(run.folder, None)
    from plant_plugin.training.loggers import logger_of

    return MetricLog(run.folder, logger_of(config, run.folder))


def _trained_once(config: Config, run: Run, stages: Stages) -> Config:
    """``refit: train+val``: train a first time, as a run of its own in the folder ``first_pass``, which is kept there.

    The second training reads validation documents too. It takes over the thresholds of the first, the weights of its
    planted scores and the length of its shortlists. It has the same schedule of the learning rate, and ends after the
    best epochs. A resumed run that noted its cost has done the first training; one that only tests needs none.

    Returns:
        The configuration of the second training.
    """
    if config.eval:
        return config.on_both()
    folder = run.folder / FIRST_PASS
    if not from_first(lambda: "cost" in (read_run_record(run.folder) or {})):
        begun = config.resume and from_first(lambda: read_run_record(folder))
        resumed = str(folder) if begun else None
        with run.first_pass() as first:
            _guarded(replace(config, refit="none", resume=resumed, checkpoint_dir=folder), first, stages)
        if is_first():
            note_cost(run.folder, run.totals())
    second, epochs = from_first(lambda: _second_training(config, folder))
    run.train_again(epochs)
    run.log(
        f"refit: on {config.refit}"
        + "".join(f", {stage} for {counted(number, 'epoch')}" for stage, number in epochs.items())
    )
    return replace(second, silent=config.silent)


def _second_training(config: Config, folder: Path) -> tuple[Config, dict[str, int]]:
    """Return the configuration of the second training, and the best epochs of the first, whose folder it is.

    Raises:
        CheckpointError: The best epochs of the first training are lost.
    """
    record = read_run_record(folder)
    if record is None:
        what, fix = f"{RUN_FILE} is torn: the best epochs of the first training are lost", "start a new run"
        raise CheckpointError(what, where=str(folder), fix=fix)
    size = read_content(folder, trust_code=True)["shortlist"]
    scores, shortlist = config.planted_scores, replace(config.shortlist, size=size)
    if scores.model != "none":
        weights: Keys = {**read_weights(folder)}
        scores = replace(scores, **{name: weights[name] for name in weights.keys() & vars(scores).keys()})
    second = config.on_both(planted_scores=scores, shortlist=shortlist, **decided(config, folder))
    return second, record.get("best_epochs", {})
