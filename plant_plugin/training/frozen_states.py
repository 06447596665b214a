"""States of a frozen language model: computed once and kept on disk, so that every later epoch and run reads them."""

from __future__ import annotations

import functools
import hashlib
import logging

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from plant_plugin.config.sections import Settings
from plant_plugin.data.batches import FrozenStates, move
from plant_plugin.errors import PlantError
from plant_plugin.evaluation.arrays import mapped
from plant_plugin.files import atomic_write, cache_folder, cached, reserve
from plant_plugin.networks.backbone import FrozenBackbone
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.report.run import Run
from plant_plugin.training.devices import device_of, first_before_others
from plant_plugin.training.inputs import Encoded, Inputs
from plant_plugin.training.run_settings import precision_of

logger = logging.getLogger(__name__)

CACHE_VERSION = 1  # counts up when the layout of the file changes


@first_before_others()
def frozen_states(
    network: PlantableNetwork, documents: Encoded, settings: Settings, run: Run
) -> dict[str, FrozenStates]:
    """Compute the states of every split where the network's language model is frozen, or map them from disk.

    Without a frozen language model there are none.

    A file is named by the hash of weights, tokens and precision. A damaged one is made again; a cache folder that
    cannot be written costs a warning, and the states are then computed in every epoch.
    """
    backbone = network.backbone
    if not isinstance(backbone, FrozenBackbone):
        return {}
    states = {}
    with run.phase("frozen_states"):
        content = backbone.content_hash()
        for split in documents.arrays:
            try:
                states[split] = _states_of(split, documents, backbone, content, settings, run)
            except PlantError as error:
                logger.warning("States are computed in every epoch: %s", error)
    return states


def _states_of(
    split: str, documents: Encoded, backbone: FrozenBackbone, content: str, settings: Settings, run: Run
) -> FrozenStates:
    """Map the states of a split from the cache folder, where they are computed if need be."""
    arrays, device = documents.arrays[split], device_of(settings)
    precision = precision_of(settings)
    digest = hashlib.sha256(f"{CACHE_VERSION} {precision} {content}".encode())
    digest.update(arrays.ids.tobytes())
    digest.update(arrays.offsets.tobytes())
    path = cache_folder(settings.cache_dir) / "states" / f"{digest.hexdigest()}.npy"
    offsets = np.concatenate([[0], np.cumsum(np.maximum(arrays.lengths, 1))])
    shape = (int(offsets[-1]), backbone.frozen_size)
    read = functools.partial(mapped, kind=np.int16, shape=shape)

    def compute() -> npt.NDArray[np.int16]:
        batches = Inputs(documents).batches(split, settings.eval_batch_size)
        narrow = torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16-mixed")
        backbone.to(device).eval()
        with atomic_write(path) as temporary, torch.inference_mode(), narrow:
            states = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.int16, shape=shape)
            with open(temporary, "r+b") as stream:
                reserve(stream, temporary.stat().st_size)
            for batch in tqdm(batches, f"states of {split}", leave=False, disable=run.silent or None):
                on_device = move(batch, device)
                computed = backbone.frozen_states(on_device["text"], on_device["mask"]).cpu().view(torch.int16).numpy()
                for row, (document, length) in enumerate(zip(batch["document"], batch["length"], strict=True)):
                    states[offsets[document] : offsets[document + 1]] = computed[row, : int(length)]
            states.flush()
        return read(path)

    return FrozenStates(cached(path, read, compute, None, "The kept states are"), offsets)
