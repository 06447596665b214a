"""States of a frozen language model: computed once and kept on disk, so that every later epoch and run reads them."""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from plant_plugin.config.sections import Settings
from plant_plugin.data.batches import Batches, FrozenStates, move
from plant_plugin.errors import PlantError
from plant_plugin.evaluation.arrays import mapped
from plant_plugin.files import atomic_write, cache_folder, cached, reserve
from plant_plugin.networks.backbone import FrozenBackbone
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.report.run import Run
from plant_plugin.training.devices import device_of, first_before_others
from plant_plugin.training.inputs import Inputs
from plant_plugin.training.prepare import Encoded
from plant_plugin.training.stage import precision_of

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
    device = device_of(settings.cpu)
    precision = precision_of(settings.precision, device)
    states = {}
    model = f"{CACHE_VERSION} {precision} {backbone.content_hash()}"
    with run.phase("frozen_states"):
        for name, arrays in documents.arrays.items():
            digest = hashlib.sha256(model.encode())
            digest.update(arrays.ids.tobytes())
            digest.update(arrays.offsets.tobytes())
            path = cache_folder(settings.cache_dir) / "states" / f"{digest.hexdigest()}.npy"
            offsets = np.concatenate([[0], np.cumsum(np.maximum(arrays.lengths, 1))])
            read = functools.partial(mapped, kind=np.int16, shape=(int(offsets[-1]), backbone.frozen_size))
            progress = functools.partial(tqdm, desc=f"states of {name}", leave=False, disable=run.silent)
            make = functools.partial(
                _make,
                path,
                offsets,
                backbone,
                Inputs(documents).batches(name, settings.eval_batch_size),
                device,
                precision,
                progress,
            )
            try:
                states[name] = FrozenStates(cached(path, read, make, None, "The kept states are"), offsets)
            except PlantError as error:
                logger.warning("States are computed in every epoch: %s", error)
    return states


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
                narrow_states = (
                    backbone.frozen_states(on_device["text"], on_device["mask"]).cpu().view(torch.int16).numpy()
                )
                for row, (document, length) in enumerate(zip(batch["document"], batch["length"], strict=True)):
                    states[offsets[document] : offsets[document + 1]] = narrow_states[row, : int(length)]
        states.flush()
    return mapped(path, np.int16, shape)
