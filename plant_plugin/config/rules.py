"""What has to be true of a configuration before any data are read: names, files, and keys that go together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from plant_plugin.config import registry
from plant_plugin.config.language_model import check_language_model, check_rate
from plant_plugin.config.options import AUTO, NAME_SOURCES, PLANTED_PRIOR, PLANTED_SCORES
from plant_plugin.config.problems import Problems
from plant_plugin.config.ranges import check_blocks, check_numbers
from plant_plugin.config.registry import REQUIRED, Entry, suggestion
from plant_plugin.config.schema import BLOCKS, OPTIONS
from plant_plugin.config.values import conform
from plant_plugin.errors import ConfigError, PlantError

PATH_FIX = "check the path; a relative one starts at the folder you are in"
DATA_KEYS = ("training_file", "val_file", "test_file")
DEMO = ("demo:train", "demo:valid", "demo:test")
GLOVE = tuple(f"glove.{name}" for name in ("6B.50d", "6B.100d", "6B.200d", "6B.300d", "42B.300d", "840B.300d"))
GIVEN_BY_US = ("num_classes", "embed_vecs")  # network arguments that the data decide
CHOICES = {  # of the arguments of our networks
    "planted_prior": PLANTED_PRIOR,
    "quantization": ("none", "nf4", "int8"),
}
NETWORK_METRICS = re.compile(r"(P|R|RP|nDCG|NDCG)@\d+|(Micro|Macro)-(Precision|Recall|F1)|Another-Macro-F1|Loss")
LINEAR_METRICS = re.compile(r"(P|R|RP|nDCG|NDCG)@\d+|(Micro|Macro|Another-Macro)-F1")
SCHEDULER = "ReduceLROnPlateau"  # the only one that LibMultiLabel knows
NOT_READ_BY_PLANT = {
    "init_weight": "its weights are drawn as the method says",
    "loss_function": "stage1.loss and stage2.loss choose the losses",
    "lr_scheduler": "stage1.schedule and stage2.schedule choose the schedules",
    "scheduler_config": "stage1.schedule and stage2.schedule choose the schedules",
}
READ_BY_PLANT_ONLY = (
    "strategy",
    "precision",
    "kernels",
    "checkpoint_every",
    "max_skipped_steps",
    "logger",
    "devices",
    "num_nodes",
)


def check(values: dict[str, Any], blocks: dict[str, Any], problems: Problems) -> None:
    """Add every problem found; appends the watched metrics to ``monitor_metrics`` for our networks."""
    network = None if values["linear"] else _network(values, problems)
    _check_named("strategies", "strategy", values["strategy"], problems)
    _check_metrics(values, network, problems)
    _check_files(values, problems)
    scores = blocks["planted_scores"]
    if values["strategy"] == PLANTED_SCORES:
        if scores.model == "none":
            fix = "say `planted_scores: {model: ridge}`, or train a network: strategy plant or end_to_end"
            problems.add("strategy", "there are no planted scores", fix, value=PLANTED_SCORES)
        if scores.weight == 0:
            problems.add(
                "planted_scores.weight", "0 leaves nothing to predict with", "leave it out: 20 where it is null"
            )
        if values["checkpoint_path"] and not values["eval"]:
            problems.add("checkpoint_path", "there is no network to start from it", "leave it out, or say --eval")
    _check_evidence(values, blocks, network, problems)
    names = scores.names
    if names is not None and names not in NAME_SOURCES and not Path(names).is_file():
        problems.add(
            "planted_scores.names", "no such file", f"{PATH_FIX}; or say {' or '.join(NAME_SOURCES)}", value=names
        )
    _check_task(values, problems)
    check_numbers(values, problems)
    check_blocks(blocks, problems)
    _check_read(values, blocks, network, problems)
    if values["refit"] != "none" and not values["eval"]:
        _check_refit(values, network, problems)
    if values["linear"]:
        _check_linear(values, problems)
    elif network is not None:
        _check_network_config(values, network, problems)
        _check_network(values, network, problems)


def _check_evidence(values: dict[str, Any], blocks: dict[str, Any], network: Entry | None, problems: Problems) -> None:
    evidence = blocks["evidence"]
    for key in DATA_KEYS:
        name = getattr(evidence, key)
        if name is not None and not Path(name).is_file():
            problems.add(f"evidence.{key}", "no such file", PATH_FIX, value=name)
        elif name is not None and values[key] is None:
            problems.add(f"evidence.{key}", "there are no documents that it could be of", f"give {key}", value=name)
    if evidence.val_file is not None and evidence.training_file is None and not values["eval"]:
        what = "it is trained on beside the evidence of training documents only, and there is none"
        fix = "give evidence.training_file too, or leave it out"
        problems.add("evidence.val_file", what, fix, value=evidence.val_file)
    planted = evidence.training_file is not None or evidence.mine
    if planted and values["data_format"] != "txt":
        fix = "give texts (data_format: txt), or leave evidence out"
        problems.add("evidence", f"documents of data_format {values['data_format']} have no places to mark", fix)
    for key in ("linear_weight", "sentence_weight"):
        if not planted and not values["eval"] and getattr(blocks["planted_scores"], key) is not None:
            fix = "leave it out, or give evidence: {training_file: …} or {mine: true}"
            problems.add(f"planted_scores.{key}", "without phrases of evidence there is nothing to weigh", fix)
    if not planted or values["eval"] or network is None or not evidence.prior:
        return
    if values["network_config"].get("planted_prior") == "additive" and blocks["planted_scores"].model == "none":
        what = "phrases count in the planted prior, and only planted scores keep them with the model"
        problems.add("evidence.prior", what, "say `planted_scores: {model: ridge}`, or `evidence: {prior: 0}`")


def _network(values: dict[str, Any], problems: Problems) -> Entry | None:
    name = values["model_name"]
    if name == "unnamed_model":
        known = ", ".join(registry.entries("networks"))
        problems.add("model_name", "no network is named", f"one of {known}; or --linear")
        return None
    network = _check_named("networks", "model_name", name, problems)
    if network is not None and ":" in name:  # a network of the user's own: nobody has tested that it is there
        try:
            network.signature()
        except (PlantError, SyntaxError) as error:
            fix = "name it module:attribute, where Python finds the module (PYTHONPATH=.)"
            problems.add("model_name", f"its source cannot be read ({type(error).__name__})", fix, value=name)
            return None
    return network


def _check_named(kind: str, key: str, name: str, problems: Problems) -> Entry | None:
    try:
        return registry.get(kind, name)
    except ConfigError as error:
        problems.add_error(key, error)
        return None


def _check_metrics(values: dict[str, Any], network: Entry | None, problems: Problems) -> None:
    """All names are read; those of a baseline have to be LibMultiLabel's own."""
    from plant_plugin.evaluation.names import parse_metric

    baseline = values["linear"] or (network is not None and not network.ours)
    known = LINEAR_METRICS if values["linear"] else NETWORK_METRICS
    named = [("monitor_metrics", name) for name in values["monitor_metrics"]]
    named.append(("val_metric", values["val_metric"]))
    if values["early_stopping_metric"] != values["val_metric"]:
        named.append(("early_stopping_metric", values["early_stopping_metric"]))
    for key, name in named:
        try:
            parse_metric(name)
        except ConfigError as error:
            problems.add_error(key, error)
            continue
        if baseline and not known.fullmatch(name) and (key == "monitor_metrics" or not values["linear"]):
            fix = "leave it out: result.json holds every metric of the test split anyway"
            problems.add(key, "LibMultiLabel does not know this metric", fix, value=name)
    if network is not None and network.ours:
        for key in ("early_stopping_metric", "val_metric"):
            if values[key] not in values["monitor_metrics"]:
                values["monitor_metrics"].append(values[key])


def _check_files(values: dict[str, Any], problems: Problems) -> None:
    for key in (*DATA_KEYS, "label_file", "vocab_file", "embed_file"):
        name = values[key]
        if name is None or (key == "embed_file" and name in GLOVE):
            continue
        if key in DATA_KEYS and name.startswith("demo:"):
            if name not in DEMO:
                problems.add(key, "the built-in data has no such split", suggestion(name, DEMO), value=name)
        elif not Path(name).is_file():
            fix = PATH_FIX
            if key == "embed_file":
                near = suggestion(name, GLOVE)
                fix += f", or name GloVe vectors: {near}; `plant embeddings TRAIN --out FILE` makes such a file"
            problems.add(key, "no such file", fix, value=name)
    for key in ("checkpoint_path", "resume"):
        name = values[key]
        if key == "resume" and name == AUTO:
            continue
        if name is not None and not (Path(name).is_dir() if key == "resume" else Path(name).exists()):
            what = "no such folder" if key == "resume" else "no such file or folder"
            problems.add(key, what, PATH_FIX, value=name)


def _check_task(values: dict[str, Any], problems: Problems) -> None:
    """Something to train on, or something to test and a model for it; and a place for predictions."""
    if values["save_k_predictions"] or values["save_positive_predictions"]:
        out = values["predict_out_path"]
        if out and not Path(out).parent.is_dir():
            problems.add("predict_out_path", "its folder does not exist", "make the folder first", value=out)
    if not values["eval"]:
        if values["training_file"] is None:
            problems.add("training_file", "there is nothing to train on", "name a file, or demo:train")
        return
    if values["resume"] == AUTO:
        problems.add("resume", "auto is for training", "name the run folder")
    if values["test_file"] is None:
        problems.add("eval", "there is nothing to evaluate", "give a test_file")
    if values["checkpoint_path"] is None and values["resume"] is None:
        problems.add("eval", "there is no model to evaluate", "give a checkpoint_path")


def _check_read(values: dict[str, Any], blocks: dict[str, Any], network: Entry | None, problems: Problems) -> None:
    """A value that nothing reads would look as if it had been tried."""
    if network is not None and network.ours:
        for key, instead in NOT_READ_BY_PLANT.items():
            default = OPTIONS[key].default if key in OPTIONS else None
            if values[key] not in (None, default):
                problems.add(key, f"{network.name} does not read it", f"leave it out; {instead}")
    elif network is not None or values["linear"]:
        name = network.name if network is not None else "a linear model"
        if values["resume"] == AUTO:
            problems.add("resume", f"auto does not know the runs of {name}", "name the run folder")
        given = [key for key in READ_BY_PLANT_ONLY if values[key] != OPTIONS[key].default]
        for key in [*given, *(block for block, kind in BLOCKS.items() if blocks[block] != kind())]:
            problems.add(
                key, f"{name} does not read it", "leave it out; it is for PLANT and the other networks of this package"
            )


def _check_refit(values: dict[str, Any], network: Entry | None, problems: Problems) -> None:
    """The first training needs validation documents, the second their place among the training documents."""

    def refuse(what: str, fix: str) -> None:
        problems.add("refit", what, fix, value=values["refit"])

    if values["merge_train_val"]:
        refuse("with merge_train_val there are no validation documents to find anything on", "leave out one of the two")
    if values["val_file"] is None and (values["linear"] or not values["val_size"]):
        fix = "give a val_file" if values["linear"] else "give a val_file or a val_size above 0"
        refuse("there are no validation documents to find anything on", fix)
    words = network is not None and network.ours and not values["network_config"].get("lm_weight")
    if words and values["checkpoint_path"] and values["vocab_file"] is None:
        what = "a checkpoint's vocabulary is not that of training and validation documents together"
        refuse(what, "leave out checkpoint_path, or give the vocab_file that the checkpoint was trained with")
    if values["linear"] or network is None or network.ours:
        return
    if values["lr_scheduler"]:
        what = f"{SCHEDULER} follows val_metric, which the second training cannot measure"
        refuse(what, "leave out lr_scheduler or refit")
    if values["resume"]:
        refuse(f"{network.name} has two trainings then, and resume knows one", "start again, without resume")


def _check_linear(values: dict[str, Any], problems: Problems) -> None:
    if values["save_positive_predictions"] and values["save_k_predictions"]:
        fix = "keep one: the k best labels, or all labels with a positive score"
        problems.add("save_positive_predictions", "excludes save_k_predictions", fix)


def _check_network(values: dict[str, Any], network: Entry, problems: Problems) -> None:
    """Rules of networks beyond their own arguments."""
    if values["data_format"] == "xmc" and network.ours:
        if values["vocab_file"] is None or values["network_config"].get("lm_weight"):
            fix = "give vocab_file, one word for each feature, and an encoder of words; or --linear"
            problems.add("data_format", "bags of words need their words", fix)
    elif values["data_format"] != "txt":
        problems.add("data_format", "networks read text", "use txt, or --linear")
    if not 0 < values["metric_threshold"] < 1:
        problems.add("metric_threshold", "has to be a probability above 0 and below 1")
    if network.name == "XMLCNN" and values["seed"] is not None:
        what = "XMLCNN's pooling has no deterministic form, so a seed would promise too much"
        problems.add("seed", what, "leave the seed out")
    if network.ours:
        return
    if values["max_seq_length"] is None:
        problems.add("max_seq_length", f"{network.name} cannot read whole documents", "give a number")
    if values["lr_scheduler"] not in (None, SCHEDULER):
        problems.add("lr_scheduler", "LibMultiLabel knows no other than " + SCHEDULER, value=values["lr_scheduler"])
    elif values["lr_scheduler"] and values["scheduler_config"] is None:
        problems.add("scheduler_config", f"{SCHEDULER} needs its arguments", "e.g. {factor: 0.9, patience: 3}")
    reads_words = "lm_weight" not in values["network_config"]
    if reads_words and values["embed_file"] is None and values["checkpoint_path"] is None and values["resume"] is None:
        fix = "give a file of word vectors (`plant embeddings TRAIN --out FILE` makes one) or a GloVe name"
        problems.add("embed_file", f"{network.name} needs word vectors", fix)


def _check_network_config(values: dict[str, Any], network: Entry, problems: Problems) -> None:
    """Bind ``network_config`` to the network's arguments; LibMultiLabel would hide what does not fit."""
    given: dict[str, Any] = values["network_config"]
    signature = network.signature()
    free = [name for name in signature if name not in GIVEN_BY_US]
    for name in given:
        key = f"network_config.{name}"
        if name in GIVEN_BY_US:
            problems.add(key, "the data decide this", "leave it out")
        elif name not in free:
            near = suggestion(str(name), free)
            # **kwargs of BERT are there to be ignored; a name that is nearly right is no such thing.
            if not signature.open or near.startswith("did you mean") or not isinstance(name, str):
                problems.add(key, f"{network.name} has no such argument", near)
        else:
            _check_argument(key, given, str(name), signature[name], problems)
    if not given and (values["checkpoint_path"] or values["resume"]):
        return  # the checkpoint knows
    for name in free:
        if name not in given and (signature[name] is REQUIRED or name in network.required):
            problems.add(f"network_config.{name}", f"{network.name} needs this argument", "add it to network_config")
    if network.name == "PLANT":
        _check_encoder(given, problems)
    if network.ours:
        check_language_model(given, problems)
        for name in [name for name in given if name.endswith("dropout")]:
            check_rate(given, name, f"network_config.{name}", problems)
        for name, choices in CHOICES.items():
            value = given.get(name)
            if value is not None and value not in choices:
                problems.add(f"network_config.{name}", f"has no choice {value!r}", suggestion(str(value), choices))


def _check_encoder(given: dict[str, Any], problems: Problems) -> None:
    """PLANT reads words or a language model; both only where a layer over a frozen language model is trained."""
    if given.get("freeze_encoder"):
        if "lm_weight" not in given:
            fix = "give lm_weight; word-level encoders are trained from the start"
            problems.add("network_config.freeze_encoder", "there is no language model to freeze", fix)
        elif given.get("lora") is not None:
            problems.add("network_config.lora", "adapters train, a frozen encoder does not", "leave out one of the two")
    elif ("lm_weight" in given) == ("encoder" in given):
        fix = "encoder: cnn, bigru or bilstm; lm_weight: a Hugging Face model; both only with freeze_encoder: true"
        problems.add("network_config", "give exactly one of `encoder` and `lm_weight`", fix)


def _check_argument(key: str, given: dict[str, Any], name: str, default: Any, problems: Problems) -> None:
    """A value has to be of its default's type; a default of null says nothing about it."""
    kind = type(default)
    if kind not in (bool, int, float, str):
        return
    try:
        # Where a default is 0, fractions are meant too (dropout).
        given[name] = conform(given[name], (int, float) if kind is int and default == 0 else (kind,))
    except ValueError as error:
        problems.add(key, str(error))
