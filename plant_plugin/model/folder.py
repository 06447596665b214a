"""Trained networks on disk: safetensors and JSON, no pickle on any load path."""

from __future__ import annotations

import contextlib
import gzip
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import torch
from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import FiniteFloat
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from typing_extensions import NotRequired, TypedDict

from plant_plugin.config import registry
from plant_plugin.config.problems import read_options
from plant_plugin.config.values import Keys
from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.data.label_names import LabelName
from plant_plugin.data.name_rows import table_text
from plant_plugin.data.tokens import Tokens
from plant_plugin.errors import CheckpointError, ConfigError, suggestion
from plant_plugin.files import atomic_folder, atomic_write, read_json, write_json, write_text
from plant_plugin.model.manifest import (
    BACKBONE,
    CONFIG,
    LABELS,
    MANIFEST,
    MODEL,
    PACKED_NAMES,
    THRESHOLDS,
    verify,
    write_manifest,
)
from plant_plugin.model.plain_files import check_plain
from plant_plugin.model.weights_file import order_metadata
from plant_plugin.networks.backbone import HuggingFaceBackbone
from plant_plugin.networks.backbone.loading import of_checkpoint
from plant_plugin.networks.construct import Allowance, construct
from plant_plugin.networks.fetching import nothing_fetched
from plant_plugin.networks.no_network import NO_NETWORK
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.networks.trained_state import load_trained_state, trained_state
from plant_plugin.relevance.log_odds import LogOdds, read_before
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.report.machine import free_and_total_memory

COMPLETE = "name a finished run's folder (with model.safetensors and config.json) or a model of plant-plugin-models"
ROOM, LEAST = 4, 1 << 28  # bytes that a network may take while it is built: of each in its weights file, and always
HALF = "0.5"  # the threshold that every model has
YOURS = "if you trust whoever wrote it: --trust-code, or trust_code=True in Python"

Length = Annotated[int, Ge(1), Le(2**31 - 1)]

logger = logging.getLogger(__name__)


class Content(TypedDict):
    """``config.json`` of a model folder."""

    model_name: str
    network_config: Keys
    max_seq_length: Length | None  # how many tokens of a document are read; None: all
    word_vectors: Annotated[Sequence[Length], MinLen(2), MaxLen(2)] | None  # (V, dim); None over a language model
    planted_scores: bool
    log_odds: NotRequired[dict[str, FiniteFloat]]  # what makes sums log odds; not of older folders
    phrase_prior: FiniteFloat  # how much phrases count in the planted prior; 0: they do not
    shortlist: Length | None  # how many labels of a document the network scores; None: all
    base: str | None  # fingerprint of a language model whose weights are not in the folder
    added: NotRequired[dict[str, str]]  # "kind: name" of entries of users' registries that it needs, and their files
    hashes: dict[str, str]  # of ``labels``, ``vocabulary``, the data and the configuration


def load_weights(folder: Path, network: PlantableNetwork, hashes: Mapping[str, str]) -> None:
    """Start from the weights of a model folder.

    Raises:
        CheckpointError: The folder is no whole model, or one of another label set, vocabulary or shape.
    """
    content = read_content(folder, trust_code=True)  # imports nothing
    verify(folder)
    compare_hashes(content["hashes"], hashes, folder / CONFIG)
    load_tensors(network, folder / MODEL)


def save_model(
    folder: Path,
    network: PlantableNetwork,
    tokens: Tokens,
    labels: Sequence[str],
    thresholds: Mapping[str, float],
    *,
    hashes: Mapping[str, str],
    max_seq_length: int | None,
    log_odds: LogOdds,
    planted_scores: PlantedScores | None,
    phrase_prior: float,
    shortlist: int | None,
    names: Sequence[LabelName],
) -> None:
    """Write the model folder: weights, configuration, labels, vocabulary, thresholds (relevance lies there already).

    Of a language model that is quantised, adapted or frozen its name and fingerprint are kept, not its weights. The
    arguments are explained at :class:`Content` and :class:`.trained.TrainedModel`; ``names`` are what labels stand for.
    """
    model_name, network_config = network.built_as
    content: Content = {
        "model_name": model_name,
        "network_config": network_config,
        "max_seq_length": max_seq_length,
        "word_vectors": network.vectors_shape,
        "planted_scores": planted_scores is not None,
        "log_odds": vars(log_odds),
        "phrase_prior": phrase_prior,
        "shortlist": shortlist,
        "base": base_of(network),
        "hashes": dict(hashes),
    }
    if added := _added(model_name, network_config):
        content["added"] = added
    (folder / MANIFEST).unlink(missing_ok=True)  # of a model that this one replaces
    if isinstance(network.backbone, HuggingFaceBackbone):
        with atomic_folder(folder / BACKBONE) as temporary:
            network.backbone.config.save_pretrained(temporary)
    if planted_scores is not None:
        planted_scores.save(folder, hashes["labels"])
    tokens.save(folder)
    (folder / LABEL_NAMES).unlink(missing_ok=True)  # it would be read in the place of the packed one
    if names:
        with atomic_write(folder / PACKED_NAMES) as temporary:
            temporary.write_bytes(gzip.compress(table_text(names).encode(), mtime=0))
    write_text(folder / LABELS, "".join(f"{name}\n" for name in labels))
    write_json(folder / THRESHOLDS, dict(thresholds))
    write_json(folder / CONFIG, content)
    write_tensors(folder / MODEL, trained_state(network))
    write_manifest(folder)


def _added(model_name: str, options: Keys) -> dict[str, str]:
    """Return the entries of users' registries that a network and its language model need, and their files."""
    network, backbone = registry.get("networks", model_name), registry.preset(str(options.get("lm_weight")))
    return {f"{entry.kind}: {entry.name}": entry.origin for entry in (network, backbone) if entry and entry.origin}


def base_of(network: PlantableNetwork) -> str | None:
    """Return the fingerprint of a language model that the checkpoint does not hold; None where it holds all."""
    return network.backbone.fingerprint if isinstance(network.backbone, HuggingFaceBackbone) else None


@contextlib.contextmanager
def _complete(folder: Path) -> Iterator[None]:
    """Turn what a missing or torn file of a model folder raises into one sentence."""
    try:
        check_plain(folder)
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"no complete PLANT model is here ({type(error).__name__})"
        raise CheckpointError(what, where=str(folder), fix=COMPLETE) from error


def read_content(folder: Path, *, trust_code: bool = False) -> Content:
    """Read ``config.json`` of a model folder.

    Raises:
        CheckpointError: It is no model, or torn, or names code that is to be run and is not
            trusted. Nothing is imported here.
    """
    path, what = folder / CONFIG, "the configuration of a model"
    with _complete(folder):
        content = read_json(path, Content, what=what, fix=COMPLETE)
    if missing := {"labels", "vocabulary"} - content["hashes"].keys():
        raise CheckpointError(f"it holds no hashes.{min(missing)}", where=str(path), fix=COMPLETE)
    for needed, origin in content.get("added", {}).items():
        kind, _, name = needed.partition(": ")
        if kind not in registry.KINDS or name not in registry.entries(kind):
            what = f"it needs the entry {needed[:80]!r} of a registry that was not named"
            fix = f"if you trust whoever wrote it: --registry FILE; in training it was {origin[:200]}"
            raise CheckpointError(what, where=f"{path}: added", fix=fix)
    _check_network(path, content["model_name"], content["network_config"], trust_code=trust_code)
    if content["shortlist"] and not content["planted_scores"]:
        raise CheckpointError("a shortlist without planted scores that propose it", where=str(path), fix=COMPLETE)
    return content


def _check_network(path: Path, name: str, options: Keys, *, trust_code: bool) -> None:
    """Refuse code of others, networks that are none of ours, and options that ours do not declare so."""
    if name == NO_NETWORK:
        return
    if not trust_code and ":" in name:
        raise CheckpointError(f"imports and runs {name.partition(':')[0]!r}", where=f"{path}: model_name", fix=YOURS)
    if ":" in name:
        return
    known = {entry.name: entry for entry in registry.entries("networks").values() if entry.ours}
    if (entry := known.get(name)) is None:
        fix = suggestion(name, list(known))
        raise CheckpointError(f"there is no network {name[:80]!r}", where=f"{path}: model_name", fix=fix)
    if (declared := entry.declared(options)) is not None:
        try:
            read_options(declared, options)
        except ConfigError as error:
            problem = error.problems[0]
            raise CheckpointError(problem.what, where=f"{path}: {problem.where}", fix=COMPLETE) from error


def read_labels(folder: Path) -> tuple[list[str], dict[str, float]]:
    """Read labels, in column order, and thresholds of a model folder; a CheckpointError where it is no model."""
    with _complete(folder):
        labels = (folder / LABELS).read_text(encoding="utf-8").splitlines()
        thresholds = read_json(folder / THRESHOLDS, dict[str, FiniteFloat], what="thresholds", fix=COMPLETE)
    if HALF not in thresholds:
        what = f"not thresholds: it holds no {HALF}"
        raise CheckpointError(what, where=str(folder / THRESHOLDS), fix=COMPLETE)
    return labels, thresholds


def read_log_odds(folder: Path) -> LogOdds:
    """Return what makes a model's sums log odds; a CheckpointError where it is no model, or torn."""
    content = read_content(folder, trust_code=True)  # imports nothing
    with _complete(folder):
        if content["planted_scores"] and "log_odds" not in content:
            return LogOdds(**read_before(folder))
        return LogOdds(**content.get("log_odds", {}))


def language_model_of(folder: Path, content: Content, lm_weight: str | None) -> Keys:
    """Return ``network_config`` with the place of the language model: the folder, the one named or training's."""
    options, base = dict(content["network_config"]), content["base"]
    if f"backbones: {options.get('lm_weight')}" in content.get("added", {}):
        if lm_weight is not None:
            what, where = "a registry says where its language model lies", f"{folder / CONFIG}: lm_weight"
            raise CheckpointError(what, where=where, fix="leave out the other place, or write it into the registry")
        return options
    if content["word_vectors"] is None and base is None:
        options["lm_weight"] = str(folder / BACKBONE)
    elif options.get("lm_weight") == BACKBONE:  # an exported model brings its own
        options["lm_weight"] = str(folder / BACKBONE)
    elif base is not None and lm_weight is not None:
        options["lm_weight"] = lm_weight
    return options


def read_network(folder: Path, content: Content, num_labels: int, lm_weight: str | None) -> PlantableNetwork:
    """Read a model folder's network, without its relevance; arguments as of :func:`.trained.load_model`."""
    name, vectors, base = content["model_name"], content["word_vectors"], content["base"]
    options, path = language_model_of(folder, content, lm_weight), folder / CONFIG
    if ":" in name and name != NO_NETWORK:
        logger.warning("%s imports %s", path, registry.get("networks", name).place)
    # No memory for whatever the folder says: its weights are all that there is, but for those of a language model.
    holds_all = base is None and ":" not in name
    whole = (folder / MODEL).stat().st_size * ROOM + LEAST if holds_all else free_and_total_memory()[1]
    try:
        with Allowance(whole), of_checkpoint(has_weights=base is None), nothing_fetched(lm_weight is None):
            network = construct(name, num_labels, None if vectors is None else torch.zeros(*vectors), options)
    except ConfigError as error:
        raise CheckpointError(error.what, where=f"{path}: {error.where}", fix=error.fix) from error
    if base is not None and (fingerprint := base_of(network)) != base:
        what = f"the language model has the fingerprint {str(fingerprint)[:12]}, in training it was {base[:12]}"
        fix = "name the same weights: --network_config.lm_weight FOLDER"
        raise CheckpointError(what, where=f"{folder / CONFIG}: lm_weight", fix=fix)
    load_tensors(network, folder / MODEL)
    return network


def load_tensors(network: PlantableNetwork, path: Path) -> None:
    """Load a weights file into a network; a ``CheckpointError`` where it is torn, not finite or of another shape."""
    try:
        tensors = load_file(path)
        for name, tensor in tensors.items():
            if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                what = f"{name} holds NaN or an infinity"
                raise CheckpointError(what, where=str(path), fix="copy the file again, or train anew")
        load_trained_state(network, tensors)
    except (OSError, SafetensorError, RuntimeError) as error:
        what = f"the weights do not fit the network or cannot be read ({type(error).__name__})"
        fix = "use the network_config that the checkpoint was trained with, or train anew"
        raise CheckpointError(what, where=str(path), fix=fix) from error


def read_metadata(path: Path) -> dict[str, str]:
    """Read what a weights file was trained for; a CheckpointError where it is missing or torn."""
    try:
        with safe_open(path, framework="pt") as stored:
            return stored.metadata() or {}
    except (OSError, SafetensorError) as error:
        what = f"the weights cannot be read ({type(error).__name__})"
        raise CheckpointError(what, where=str(path), fix="train anew") from error


def check_identity(path: Path, expected: Mapping[str, str]) -> None:
    """Compare the hashes inside a weights file with what it is to be used with; a CheckpointError where they differ."""
    compare_hashes(read_metadata(path), expected, path)


def compare_hashes(hashes: Mapping[str, str], expected: Mapping[str, str], path: Path) -> None:
    """Compare hashes of labels and vocabulary, as far as they are expected; a CheckpointError where they differ."""
    for name in ("labels", "vocabulary"):
        if name in expected and hashes.get(name) != expected[name]:
            what = f"trained for {name} {str(hashes.get(name))[:12]}, but {name} here is {expected[name][:12]}"
            fix = "use the same training and validation files and vocabulary, or a checkpoint made for these"
            raise CheckpointError(what, where=str(path), fix=fix)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write a weights file, from any device, whole or not at all."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_write(path) as temporary:
        save_file(plain, temporary, metadata=metadata)
        if metadata:
            order_metadata(temporary)
