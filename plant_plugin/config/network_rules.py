"""What has to be true of ``network_config``: the arguments of a network, and those that exclude each other."""

from __future__ import annotations

import dataclasses

from plant_plugin.config.options import LoraOptions
from plant_plugin.config.problems import Problems, read_section, read_value
from plant_plugin.config.registry import REQUIRED, Entry
from plant_plugin.config.sections import Settings
from plant_plugin.config.values import PLAIN, Keys, Number, Whole
from plant_plugin.errors import suggestion

GIVEN_BY_US = ("num_classes", "embed_vecs")  # network arguments that the data decide
FOR_LANGUAGE_MODELS = (
    "lm_window", "lm_overlap", "lm_from_scratch", "lm_frozen", "lm_dropout", "quantization", "lora",
    "gradient_checkpointing", "gradient_tokens", "trust_remote_code",
)  # fmt: skip


def check_network_config(settings: Settings, network: Entry, problems: Problems) -> None:
    """Bind ``network_config`` to the network's arguments; LibMultiLabel would hide what does not fit."""
    given, signature = settings.network_config, network.signature(settings.network_config)
    free = [name for name in signature if name not in GIVEN_BY_US]
    for name in given:
        key = f"network_config.{name}"
        if name in GIVEN_BY_US:
            problems.add(key, "the data decide this", "leave it out")
        elif name in free:
            _check_argument(key, given, name, signature[name], network, problems)
        else:
            near = suggestion(str(name), free)
            # **kwargs of BERT are there to be ignored; a name that is nearly right is no such thing.
            if not signature.open or near.startswith("did you mean") or not isinstance(name, str):
                problems.add(key, f"{network.name} has no such argument", near)
    if not given and (settings.checkpoint_path or settings.resume):
        return  # the checkpoint knows
    for name in free:
        if name not in given and (signature[name] is REQUIRED or name in network.required):
            problems.add(f"network_config.{name}", f"{network.name} needs this argument", "add it to network_config")
    if network.name == "PLANT":
        _check_encoder(given, problems)
    if network.ours:
        _check_language_model(given, problems)


def _check_argument(key: str, given: Keys, name: str, default: object, network: Entry, problems: Problems) -> None:
    """A value has to be as our network declares it; of others, of its default's type, and null says nothing there."""
    options = network.declared(given)
    declared = {} if options is None else {field.name: field for field in dataclasses.fields(options)}
    hint = declared[name].type if name in declared else PLAIN.get(type(default))
    if type(default) is int and default == 0:
        hint = Whole | Number  # fractions are meant too (dropout)
    if hint is None or name == "lora":
        return
    try:
        given[name] = read_value(given[name], hint)
    except ValueError as error:
        problems.add(key, str(error))


def _check_encoder(given: Keys, problems: Problems) -> None:
    """PLANT reads words or a language model; both only where a layer over a frozen language model is trained."""
    if not given.get("freeze_encoder"):
        if ("lm_weight" in given) == ("encoder" in given):
            encoders = "encoder: cnn, bigru, bilstm or one of `plant list encoders`"
            fix = f"{encoders}; lm_weight: a Hugging Face model; both only with freeze_encoder: true"
            problems.add("network_config", "give exactly one of `encoder` and `lm_weight`", fix)
    elif "lm_weight" not in given:
        fix = "give lm_weight; word-level encoders are trained from the start"
        problems.add("network_config.freeze_encoder", "there is no language model to freeze", fix)
    elif given.get("lora") is not None:
        problems.add("network_config.lora", "adapters train, a frozen encoder does not", "leave out one of the two")


def _check_language_model(given: Keys, problems: Problems) -> None:
    """The arguments for language models, and those that exclude each other."""
    if "lm_weight" not in given and "encoder" in given:
        for name in (name for name in FOR_LANGUAGE_MODELS if name in given):
            problems.add(f"network_config.{name}", "is for language models", "leave it out, or give lm_weight")
    for name, what in (("lm_dropout", "dropout"), ("gradient_tokens", "gradient")):
        if given.get(name) is not None and given.get("freeze_encoder"):
            problems.add(f"network_config.{name}", f"what is frozen has no {what}", "leave it out")
    if given.get("lm_from_scratch") and given.get("quantization", "none") != "none":
        fix = "leave out one of the two; to try a shape, save the drawn model to a folder first"
        problems.add("network_config.lm_from_scratch", "drawn weights are not quantised", fix)
    lora = given.get("lora")
    if isinstance(lora, dict):
        adapters = read_section(LoraOptions, lora, problems, "network_config.lora.")
        given["lora"] = {name: getattr(adapters, name) for name in lora if hasattr(adapters, str(name))}
    elif lora is not None:
        problems.add("network_config.lora", "has to be a mapping", "e.g. lora: {r: 16, alpha: 32, dropout: 0.05}")
