"""A network before its first step, a trained one read again for a test, and the model folder at the end.

States of a frozen language model are computed once and kept on disk: every later epoch and run only reads them.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from plant_plugin.config import Config
from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.config.sections import Plant
from plant_plugin.config.values import Keys
from plant_plugin.data.batches import Batches, FrozenStates, move
from plant_plugin.data.label_names import names_beside
from plant_plugin.data.tokens import WordTokens, embedding_matrix
from plant_plugin.errors import CheckpointError, PlantError
from plant_plugin.evaluation.arrays import mapped
from plant_plugin.files import atomic_write, cache_folder, cached, reserve
from plant_plugin.model.folder import load_weights, read_content, save_model
from plant_plugin.model.trained import load_model
from plant_plugin.networks.backbone import FrozenBackbone
from plant_plugin.networks.backbone.loading import made_on
from plant_plugin.networks.construct import construct, word_width
from plant_plugin.networks.no_network import NO_NETWORK
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.report.run import Run
from plant_plugin.training.devices import device_of
from plant_plugin.training.further import folder_before, load_grown
from plant_plugin.training.prepare import Prepared, add_relevance, mark_tokens, prepare
from plant_plugin.training.shortlist import propose
from plant_plugin.training.stage import precision_of

logger = logging.getLogger(__name__)

CACHE_VERSION = 1  # of kept states; counts up when the layout of the file changes


def build_network(prepared: Prepared, config: Config, run: Run, *, planted: bool) -> PlantableNetwork:
    """The configured network with fresh weights, its relevance computed and planted where anything reads it."""
    name, options = _network_of(config)
    vectors = None
    if isinstance(prepared.tokens, WordTokens):
        file, seed = _vectors_file(config.embed_file, config.embed_cache_dir), config.seed or 0
        normalize, dim = config.normalize_embed, word_width(name, options)
        vectors = embedding_matrix(prepared.tokens, file, normalize=normalize, seed=seed, dim=dim)
    with made_on(device_of(config.cpu)):
        network = construct(name, prepared.num_labels, vectors, options)
    network.start(prepared.hashes["vocabulary"])
    if planted or network.has_prior:
        add_relevance(prepared, config.relevance, run)
        assert prepared.relevance is not None
        network.plant_relevance(prepared.relevance.matrix)
    if config.checkpoint_path:
        load_weights(_folder_of(config.checkpoint_path), network, prepared.hashes)
    if config.go_on_from:
        load_grown(folder_before(config), network, prepared)
    return network


def _vectors_file(named: str | None, cache: str | None) -> Path | None:
    """Where the word vectors lie, downloaded if need be; None: they are drawn at random."""
    if not named or Path(named).is_file():
        return Path(named) if named else None
    from plant_plugin.host.vocabulary import vectors_file  # imports LibMultiLabel, seconds

    return vectors_file(named, cache)


def _network_of(config: Config) -> tuple[str, Keys]:
    """Name and options of the network that the strategy trains."""
    return (NO_NETWORK, {}) if config.strategy == PLANTED_SCORES else (config.model_name, dict(config.network_config))


def _folder_of(named: str) -> Path:
    """The folder of a model that is named, or that holds the file that is named."""
    path = Path(named)
    return path.parent if path.is_file() else path


def add_frozen_states(network: PlantableNetwork, prepared: Prepared, options: Plant, run: Run, *, cpu: bool) -> None:
    """Compute the states of every split where the network's language model is frozen, or map them from disk.

    A file is named by the hash of weights, tokens and precision. A damaged one is made again; a cache folder that
    cannot be written costs a warning, and the states are then computed in every epoch.
    """
    backbone = network.backbone
    if not isinstance(backbone, FrozenBackbone):
        return
    device = device_of(cpu)
    precision = precision_of(options.precision, device)
    model = f"{CACHE_VERSION} {precision} {backbone.content_hash()}"
    with run.phase("frozen_states"):
        for name, arrays in prepared.arrays.items():
            digest = hashlib.sha256(model.encode())
            digest.update(arrays.ids.tobytes())
            digest.update(arrays.offsets.tobytes())
            path = cache_folder(options.cache_dir) / "states" / f"{digest.hexdigest()}.npy"
            offsets = np.concatenate([[0], np.cumsum(np.maximum(arrays.lengths, 1))])
            read = functools.partial(mapped, kind=np.int16, shape=(int(offsets[-1]), backbone.frozen_size))
            progress = functools.partial(tqdm, desc=f"states of {name}", leave=False, disable=run.silent)
            make = functools.partial(_make, path, offsets, backbone, prepared.split(name), device, precision, progress)
            try:
                prepared.states[name] = FrozenStates(cached(path, read, make, None, "The kept states are"), offsets)
            except PlantError as error:
                logger.warning("States are computed in every epoch: %s", error)


def _make(
    path: Path,
    offsets: npt.NDArray[np.int64],
    backbone: FrozenBackbone,
    batches: Batches,
    device: torch.device,
    precision: str,
    progress: Callable[[Batches], Iterable[dict[str, torch.Tensor]]],
) -> npt.NDArray[np.int16]:
    shape = (int(offsets[-1]), backbone.frozen_size)
    backbone.to(device).eval()
    with atomic_write(path) as temporary:
        states = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.int16, shape=shape)
        with open(temporary, "r+b") as stream:
            reserve(stream, temporary.stat().st_size)
        narrow = torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16-mixed")
        with torch.inference_mode(), narrow:
            for batch in progress(batches):
                on_device = move(batch, device)
                found = backbone.frozen_states(on_device["text"], on_device["mask"]).cpu().view(torch.int16).numpy()
                for row, (document, length) in enumerate(zip(batch["document"], batch["length"], strict=True)):
                    states[offsets[document] : offsets[document + 1]] = found[row, : int(length)]
        states.flush()
    return mapped(path, np.int16, shape)


def load(config: Config, run: Run) -> tuple[PlantableNetwork, Prepared, dict[str, float]]:
    """A trained model and the data to test it on, under the model's own labels and vocabulary."""
    folder = _folder_of(config.checkpoint_path or config.resume or "")
    name, given = _network_of(config)
    own_code = ":" in name or bool(given.get("trust_remote_code"))  # the configuration names it too
    content, what, lm_weight = read_content(folder, trust_code=True), "", given.get("lm_weight")  # imports nothing
    trained = content["network_config"]
    if given and content["base"]:  # its weights are compared, wherever they lie
        given["lm_weight"] = trained["lm_weight"]
    if name != content["model_name"]:
        what = f"it holds {content['model_name']}, the configuration names {name}"
    elif given and given != trained:
        what = "it was trained with another network_config than the configuration names"
    elif trained.get("trust_remote_code") and not given.get("trust_remote_code"):
        what = "it asks for code that comes with a language model, and the configuration has no trust_remote_code"
    if what:
        raise CheckpointError(what, where=str(folder), fix="use the configuration of the training run")
    with made_on(device_of(config.cpu)):
        model = load_model(folder, lm_weight, trust_code=own_code)
    prepared = prepare(config, run, model.tokens, model.labels)
    prepared.planted_scores = model.planted_scores
    mark_tokens(prepared, model.phrases, content["phrase_prior"], prepared.corpus.splits[1:])
    propose(prepared, content["shortlist"])
    has = model.planted_scores is not None
    if has != (config.planted_scores.model != "none"):
        run.log(f"the model has {'' if has else 'no '}planted scores, whatever the configuration says")
    return model.network, prepared, model.thresholds


def save(
    folder: Path, network: PlantableNetwork, prepared: Prepared, config: Config, thresholds: Mapping[str, float]
) -> None:
    """Write the model folder; what labels stand for comes with it where that lies beside the training file."""
    save_model(
        folder,
        network,
        prepared.tokens,
        prepared.corpus.label_names,
        thresholds,
        hashes={**prepared.hashes, "config": config.hash()},
        max_seq_length=config.max_seq_length,
        planted_scores=prepared.planted_scores,
        phrase_prior=config.evidence.prior if prepared.marks else 0,
        shortlist=prepared.shortlist_size,
        label_names=names_beside(config.training_file),
    )
