"""Check a configuration before any data are read: names, files, and keys that go together."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import replace
from pathlib import Path

from plant_plugin.config import registry
from plant_plugin.config.options import AUTO, NAME_SOURCES, NO_NAMES, PLANTED_SCORES, WORD2VEC, Block, Stage1Options
from plant_plugin.config.problems import Problems, read_section
from plant_plugin.config.readers import has_places
from plant_plugin.config.registry import Entry
from plant_plugin.config.sections import BLOCKS, FIELDS, OPTIONS, Settings
from plant_plugin.config.values import parse_interval
from plant_plugin.errors import ConfigError, PlantError, suggestion
from plant_plugin.evaluation.names import DEFAULT_THRESHOLD, parse_metric

PATH_FIX = "check the path; a relative one starts at the folder you are in"
DATA_KEYS = ("training_file", "val_file", "test_file")
SHARES = ("val_size", "limit_train_batches", "limit_val_batches", "limit_test_batches")
DEMO = ("demo:train", "demo:valid", "demo:test")
VECTORS = (
    WORD2VEC,
    *(f"glove.{name}" for name in ("6B.50d", "6B.100d", "6B.200d", "6B.300d", "42B.300d", "840B.300d")),
)
NETWORK_METRICS = re.compile(r"(P|R|RP|nDCG|NDCG)@\d+|(Micro|Macro)-(Precision|Recall|F1)|Another-Macro-F1|Loss")
LINEAR_METRICS = re.compile(r"(P|R|RP|nDCG|NDCG)@\d+|(Micro|Macro|Another-Macro)-F1")
SCHEDULER = "ReduceLROnPlateau"  # the only one that LibMultiLabel knows
NOT_READ_BY_PLANT = {
    "init_weight": "its weights are drawn as the method says",
    "loss_function": "stage1.loss and stage2.loss choose the losses",
    "lr_scheduler": "stage2.schedule chooses the schedule",
    "scheduler_config": "stage2.schedule chooses the schedule",
}
CLIMBING = ("slanted_triangular", "one_cycle")
READ_BY_PLANT_ONLY = ("strategy", "precision", "accumulate", "checkpoint_every", "logger", "devices", "label_set")


def check(settings: Settings, problems: Problems) -> None:
    """Add every problem found; appends the watched metrics to ``monitor_metrics`` for our networks."""
    network = None if settings.linear else _network(settings, problems)
    _named("strategies", "strategy", settings.strategy, problems)
    _named("readers", "data_format", settings.data_format, problems)
    _named("losses", "stage1.loss", settings.stage1.loss, problems, stage=1)
    _named("losses", "stage2.loss", settings.stage2.loss, problems, stage=2)
    _named("linear", "linear_technique", settings.linear_technique, problems)
    _check_metrics(settings, network, problems)
    _check_files(settings, problems)
    _check_planted_scores(settings, problems)
    _check_found_out(settings, problems)
    _check_shortlist(settings, problems)
    _check_evidence(settings, network, problems)
    _check_task(settings, problems)
    _check_choose(settings, problems)
    _check_numbers(settings, problems)
    _check_read(settings, network, problems)
    _check_stages(settings, network, problems)
    _check_refit(settings, network, problems)
    if network is not None:
        _check_network_config(settings, network, problems)
        _check_network(settings, network, problems)


def is_ours(settings: Settings) -> bool:
    """Tell whether this package's strategies train the model, and not LibMultiLabel."""
    return not settings.linear and registry.get("networks", settings.model_name).ours


def reads_whole_documents(settings: Settings) -> bool:
    """Tell whether nothing is cut unless ``max_seq_length`` says so: networks of ours over a language model."""
    name = settings.model_name
    known = ":" in name or name in registry.entries("networks")
    over_language_model = bool(settings.network_config.get("lm_weight"))
    return over_language_model and known and is_ours(settings)


def is_plant_over_words(settings: Settings) -> bool:
    """Tell whether ``choose`` decides everything; of other networks only what their data ask for."""
    return settings.model_name == "PLANT" and not settings.network_config.get("lm_weight")


def _check_choose(settings: Settings, problems: Problems) -> None:
    if settings.choose and settings.linear:
        problems.add("choose", "chooses for networks", "leave it out: a linear model has no lengths and no epochs")
    if settings.minutes is not None and not (settings.choose and is_plant_over_words(settings)):
        what = "is for `choose: true` with PLANT over words, which fits training into them"
        problems.add("minutes", what, "leave it out: the epochs of the stages say how long another network trains")


def _check_numbers(settings: Settings, problems: Problems) -> None:
    """Check what a range of the key does not say."""
    if re.search(r"[/\\\0]", settings.data_name):
        problems.add("data_name", "it begins a folder's name, which holds no slash", "choose another")
    try:
        parse_interval(settings.checkpoint_every)
    except ValueError:
        fix = "e.g. 200 (optimiser steps), 10m (minutes) or epoch"
        problems.add("checkpoint_every", f"{settings.checkpoint_every!r} is no interval", fix)
    for key in SHARES:
        value = getattr(settings, key)
        if value < 0 or (value > 1 and float(value) != int(value)):
            problems.add(key, f"has to be a share from 0 to 1 or a whole number, not {value}")
        elif value == 0 and key != "val_size":
            problems.add(key, "has to be above 0: no batch would be left", "leave it out, or give a share or a number")
    if settings.stage2.epochs == 0 and (settings.strategy == "end_to_end" or settings.stage1.epochs == 0):
        problems.add("stage2.epochs", "0 would leave the network as drawn", "say strategy: plant, with stage 1")


def _check_planted_scores(settings: Settings, problems: Problems) -> None:
    scores = settings.planted_scores
    if settings.strategy in (PLANTED_SCORES, AUTO) and scores.model == "none":
        fix = "say `planted_scores: {model: ridge}`, or train a network: strategy plant or end_to_end"
        problems.add("strategy", "there are no planted scores", fix, value=settings.strategy)
    if settings.strategy == PLANTED_SCORES:
        if scores.weight == 0:
            fix = "leave it out: 20 where it is null"
            problems.add("planted_scores.weight", "0 leaves nothing to predict with", fix)
        if settings.checkpoint_path and not settings.eval:
            problems.add("checkpoint_path", "there is no network to start from it", "leave it out, or say --eval")
    if scores.names not in (None, NO_NAMES, *NAME_SOURCES):
        _check_file("planted_scores.names", scores.names, problems, f"; or say {' or '.join(NAME_SOURCES)}")


def _check_found_out(settings: Settings, problems: Problems) -> None:
    """Check that there are validation documents for what the run finds out on them."""
    if settings.eval or not (settings.merge_train_val or (settings.val_file is None and not settings.val_size)):
        return
    values = {"shortlist.size": settings.shortlist.size, "strategy": settings.strategy, "label_set": settings.label_set}
    for key in (key for key, value in values.items() if value == AUTO):
        fix = "give val_file or val_size and leave out merge_train_val, or another value"
        problems.add(key, "there are no validation documents to choose it on", fix, value=AUTO)


def _check_shortlist(settings: Settings, problems: Problems) -> None:
    size = settings.shortlist.size
    if size is None or settings.eval:
        return
    if settings.planted_scores.model == "none":
        problems.add("shortlist.size", "planted scores propose the labels", "say `planted_scores: {model: ridge}`")
    if settings.shortlist.rows == "touched":
        able = settings.model_name == "PLANT" and settings.optimizer in ("adam", "adamw")
        if not able or settings.devices != 1:
            fix = "leave it out, or take PLANT, adam or adamw, and one device"
            problems.add("shortlist.rows", "only PLANT with Adam on one device can", fix, value="touched")


def _check_evidence(settings: Settings, network: Entry | None, problems: Problems) -> None:
    evidence = settings.evidence
    for key in DATA_KEYS[:2]:  # evidence of test documents lies beside them, and no training reads it
        name = getattr(evidence, key)
        if _check_file(f"evidence.{key}", name, problems) and getattr(settings, key) is None:
            problems.add(f"evidence.{key}", "there are no documents that it could be of", f"give {key}", value=name)
    if evidence.val_file is not None and evidence.training_file is None and not settings.eval:
        what = "it is trained on beside the evidence of training documents only, and there is none"
        fix = "give evidence.training_file too, or leave it out"
        problems.add("evidence.val_file", what, fix, value=evidence.val_file)
    planted = evidence.training_file is not None or evidence.mine
    if planted and not has_places(settings.data_format):
        fix = "give texts (data_format: txt), or leave evidence out"
        problems.add("evidence", f"documents of data_format {settings.data_format} have no places to mark", fix)
    in_prior = planted and evidence.prior and settings.network_config.get("planted_prior") == "additive"
    if in_prior and network is not None and settings.planted_scores.model == "none" and not settings.eval:
        what = "phrases count in the planted prior, and only planted scores keep them with the model"
        problems.add("evidence.prior", what, "say `planted_scores: {model: ridge}`, or `evidence: {prior: 0}`")


def _network(settings: Settings, problems: Problems) -> Entry | None:
    name = settings.model_name
    if name == "unnamed_model":
        known = ", ".join(registry.entries("networks"))
        problems.add("model_name", "no network is named", f"one of {known}; or --linear")
        return None
    network = _named("networks", "model_name", name, problems)
    if network is not None and network.is_users:
        try:
            network.signature()
        except PlantError as error:
            fix = "name it module:attribute, where Python finds the module (PYTHONPATH=.)"
            place = f", in {network.where}" if network.origin else ""
            problems.add("model_name", f"{error.what}{place}", fix, value=name)
            return None
    return network


def _check_network_config(settings: Settings, network: Entry, problems: Problems) -> None:
    """Read ``network_config`` as the network declares its options; LibMultiLabel would hide what does not fit."""
    arguments = settings.network_config
    for name in registry.FROM_DATA:
        if name in arguments:
            problems.add(f"network_config.{name}", "the data decide this", "leave it out")
    if not arguments and (settings.checkpoint_path or settings.resume):
        return  # the checkpoint knows
    declared = network.declared(arguments) or network.read_from_source()
    values = {name: value for name, value in arguments.items() if name not in registry.FROM_DATA}
    if network.options is None and network.signature().open:  # it ignores other names, but a nearly right one is wrong
        known = tuple(declared.__dataclass_fields__)
        values = {name: value for name, value in values.items() if suggestion(str(name), known).startswith("did you")}
    options = read_section(declared, values, problems, "network_config.")
    for name in values if options else ():  # None: one that is needed is missing
        value = getattr(options, str(name), arguments[name])
        if not isinstance(value, Block):
            arguments[name] = value


def _named(kind: str, key: str, name: str, problems: Problems, *, stage: int | None = None) -> Entry | None:
    try:
        entry = registry.get(kind, name, stage=stage)
        if entry.origin is not None:
            entry.check_module()
    except ConfigError as error:
        problems.add(key, f"{error.what}, in {error.where}" if error.where else error.what, error.fix)
        return None
    return entry


def _check_metrics(settings: Settings, network: Entry | None, problems: Problems) -> None:
    """All names are read; those of a baseline have to be LibMultiLabel's own."""
    baseline = settings.linear or (network is not None and not network.ours)
    known = LINEAR_METRICS if settings.linear else NETWORK_METRICS
    watched = {"val_metric": settings.val_metric}
    if settings.early_stopping_metric not in (None, settings.val_metric):
        watched["early_stopping_metric"] = str(settings.early_stopping_metric)
    for key, name in [*(("monitor_metrics", name) for name in settings.monitor_metrics), *watched.items()]:
        try:
            metric = parse_metric(name)
        except ConfigError as error:
            problems.add(key, error.what, error.fix)
            continue
        if baseline and not known.fullmatch(name) and (key == "monitor_metrics" or not settings.linear):
            fix = "leave it out: result.json holds every metric of the test split anyway"
            problems.add(key, "LibMultiLabel does not know this metric", fix, value=name)
        elif network is not None and metric.threshold not in (None, DEFAULT_THRESHOLD):
            instead = replace(metric, threshold=DEFAULT_THRESHOLD).canonical
            fix = f"say {instead}, which is at metric_threshold; result.json holds those at the best thresholds"
            problems.add(key, "this threshold is not known during training", fix, value=name)
    if network is not None and network.ours:
        for name in reversed(watched.values()):
            if name not in settings.monitor_metrics:
                settings.monitor_metrics.append(name)


def _check_file(key: str, name: str | None, problems: Problems, or_else: str = "") -> bool:
    """Tell whether a file is given; note one that is not there."""
    if name is None or os.path.isfile(name):
        return name is not None
    problems.add(key, "no such file", PATH_FIX + or_else, value=name)
    return False


def _check_files(settings: Settings, problems: Problems) -> None:
    for key in DATA_KEYS:
        name = getattr(settings, key)
        if name is None or not name.startswith("demo:"):
            if name is None or not os.path.isdir(name):  # a folder of datasets
                _check_file(key, name, problems)
        elif name not in DEMO:
            problems.add(key, "the built-in data has no such split", suggestion(name, DEMO), value=name)
    _check_file("label_file", settings.label_file, problems)
    _check_file("test_filter_file", settings.test_filter_file, problems)
    vectors = settings.embed_file
    makes = f"; `plant embeddings {settings.training_file or 'TRAIN'} --out {vectors}` makes it"
    _check_file("vocab_file", settings.vocab_file, problems)
    if vectors is not None and vectors not in VECTORS:
        near = suggestion(vectors, VECTORS)
        _check_file("embed_file", vectors, problems, f"{makes}, word2vec in each run; or name GloVe vectors: {near}")
    start, resume = settings.checkpoint_path, settings.resume
    if start is not None and not os.path.exists(start):
        problems.add("checkpoint_path", "no such file or folder", PATH_FIX, value=start)
    if resume not in (None, AUTO) and not os.path.isdir(resume):
        problems.add("resume", "no such folder", PATH_FIX, value=resume)


def _check_task(settings: Settings, problems: Problems) -> None:
    """Something to train on, or something to test and a model for it; and a place for predictions."""
    if settings.save_k_predictions or settings.save_positive_predictions:
        out = settings.predict_out_path
        if out and not os.path.isdir(Path(out).parent):
            problems.add("predict_out_path", "its folder does not exist", "make the folder first", value=out)
    if settings.linear and settings.save_positive_predictions and settings.save_k_predictions:
        fix = "keep one: the k best labels, or all labels with a positive score"
        problems.add("save_positive_predictions", "excludes save_k_predictions", fix)
    if not settings.eval:
        if settings.training_file is None:
            problems.add("training_file", "there is nothing to train on", "name a file, or demo:train")
        return
    if settings.resume == AUTO:
        problems.add("resume", "auto is for training", "name the run folder")
    if settings.test_file is None:
        problems.add("eval", "there is nothing to evaluate", "give a test_file")
    if settings.checkpoint_path is None and settings.resume is None:
        problems.add("eval", "there is no model to evaluate", "give a checkpoint_path")


def _check_read(settings: Settings, network: Entry | None, problems: Problems) -> None:
    """A value that nothing reads would look as if it had been tried."""
    if network is not None and network.ours:
        for key, instead in NOT_READ_BY_PLANT.items():
            if getattr(settings, key) not in (None, OPTIONS[key].default if key in OPTIONS else None):
                problems.add(key, f"{network.name} does not read it", f"leave it out; {instead}")
    elif network is not None or settings.linear:
        name = network.name if network is not None else "a linear model"
        if settings.resume == AUTO:
            problems.add("resume", f"auto does not know the runs of {name}", "name the run folder")
        for key in (*READ_BY_PLANT_ONLY, *BLOCKS):
            if getattr(settings, key) != FIELDS[key].default:
                fix = "leave it out; it is for PLANT and the other networks of this package"
                problems.add(key, f"{name} does not read it", fix)


def _check_stages(settings: Settings, network: Entry | None, problems: Problems) -> None:
    """Options of the stages that others of them, or the network, leave without a reader."""
    if network is not None:
        for name in network.stage1_unread:
            if getattr(settings.stage1, name) != getattr(Stage1Options(), name):
                problems.add(f"stage1.{name}", f"stage 1 of {network.name} does not read it", "leave it out")
    stage2 = settings.stage2
    if stage2.warmup and stage2.schedule in CLIMBING:
        problems.add("stage2.warmup", f"{stage2.schedule} climbs by itself", "leave it out")


def _check_refit(settings: Settings, network: Entry | None, problems: Problems) -> None:
    """The first training needs validation documents, the second their place among the training documents."""
    if settings.refit == "none" or settings.eval:
        return
    refuse = functools.partial(problems.add, "refit", value=settings.refit)
    if settings.merge_train_val:
        refuse("with merge_train_val there are no validation documents to find anything on", "leave out one of the two")
    if settings.val_file is None and (settings.linear or not settings.val_size):
        fix = "give a val_file" if settings.linear else "give a val_file or a val_size above 0"
        refuse("there are no validation documents to find anything on", fix)
    if network is None:
        return
    if network.ours:
        words = not settings.network_config.get("lm_weight")
        if words and settings.checkpoint_path and settings.vocab_file is None:
            what = "a checkpoint's vocabulary is not that of training and validation documents together"
            refuse(what, "leave out checkpoint_path, or give the vocab_file that the checkpoint was trained with")
        return
    if settings.lr_scheduler:
        what = f"{SCHEDULER} follows val_metric, which the second training cannot measure"
        refuse(what, "leave out lr_scheduler or refit")
    if settings.resume:
        refuse(f"{network.name} has two trainings then, and resume knows one", "start again, without resume")


def _check_network(settings: Settings, network: Entry, problems: Problems) -> None:
    """Rules of networks beyond their own arguments."""
    if settings.data_format == "xmc" and network.ours:
        if settings.vocab_file is None or settings.network_config.get("lm_weight"):
            fix = "give vocab_file, one word for each feature, and an encoder of words; without them --linear runs"
            what = f"{network.name} attends to text, and bags of words need their words"
            problems.add("data_format", what, fix)
    elif settings.data_format == "svm" or (settings.data_format == "xmc" and not network.ours):
        problems.add("data_format", "networks read text", "use txt, or --linear")
    if not 0 < settings.metric_threshold < 1:
        problems.add("metric_threshold", "has to be a probability above 0 and below 1")
    if network.name == "XMLCNN" and settings.seed is not None:
        what = "XMLCNN's pooling has no deterministic form, so a seed would promise too much"
        problems.add("seed", what, "leave the seed out")
    if network.ours:
        return
    if settings.max_seq_length is None:
        problems.add("max_seq_length", f"{network.name} cannot read whole documents", "give a number")
    if settings.lr_scheduler not in (None, SCHEDULER):
        problems.add("lr_scheduler", "LibMultiLabel knows no other than " + SCHEDULER, value=settings.lr_scheduler)
    elif settings.lr_scheduler and settings.scheduler_config is None:
        problems.add("scheduler_config", f"{SCHEDULER} needs its arguments", "e.g. {factor: 0.9, patience: 3}")
