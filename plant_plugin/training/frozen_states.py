"""States of a frozen language model, computed once and kept on disk: every later epoch and run only reads them.

Shapes: N documents, F width of the language model.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from plant_plugin.config import Config
from plant_plugin.data.batches import Batches, FrozenStates, move
from plant_plugin.errors import PlantError
from plant_plugin.files import atomic_write, cache_folder, cached, reserve
from plant_plugin.networks.frozen_backbone import FrozenBackbone
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.report.run import Run
from plant_plugin.training.prepare import Prepared
from plant_plugin.training.stage import device_of, precision_of

logger = logging.getLogger(__name__)

CACHE_VERSION = 1  # counts up when the file's layout changes


def add_frozen_states(network: PlantableNetwork, prepared: Prepared, config: Config, run: Run) -> None:
    """Compute the states of every split where the network's language model is frozen, or map them from disk.

    A file is named by the hash of weights, tokens and precision. A damaged one is made again; a cache folder that
    cannot be written costs a warning, and the states are then computed in every epoch.
    """
    backbone = network.backbone
    if not isinstance(backbone, FrozenBackbone):
        return
    with run.phase("frozen_states"):
        precision = str(precision_of(config, device_of(config)))
        model = f"{CACHE_VERSION} {precision} {backbone.content_hash()}"
        for name, arrays in prepared.arrays.items():
            digest = hashlib.sha256(model.encode())
            digest.update(arrays.ids.tobytes())
            digest.update(arrays.offsets.tobytes())
            path = cache_folder(config.cache_dir) / "states" / f"{digest.hexdigest()}.npy"
            offsets = np.concatenate([[0], np.cumsum(np.maximum(arrays.lengths, 1))])
            read = functools.partial(_read, shape=(int(offsets[-1]), backbone.frozen_size))
            way, batches = _Way(config, precision, name), prepared.split(name, config.eval_batch_size)
            make = functools.partial(_make, path, offsets, backbone, batches, way)
            try:
                prepared.states[name] = FrozenStates(cached(path, read, make, None, "The kept states are"), offsets)
            except PlantError as error:
                logger.warning("States are computed in every epoch: %s", error)


@dataclass(frozen=True)
class _Way:
    """How states are computed."""

    config: Config
    precision: str
    split: str


def _read(path: Path, shape: tuple[int, int]) -> npt.NDArray[np.int16]:
    states: npt.NDArray[np.int16] = np.load(path, mmap_mode="r", allow_pickle=False)
    if states.shape != shape or states.dtype != np.int16:
        raise ValueError("of another shape")
    return states


def _make(
    path: Path, offsets: npt.NDArray[np.int64], backbone: FrozenBackbone, batches: Batches, way: _Way
) -> npt.NDArray[np.int16]:
    device, shape = device_of(way.config), (int(offsets[-1]), backbone.frozen_size)
    backbone.to(device).eval()
    with atomic_write(path) as temporary:
        states = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.int16, shape=shape)
        with open(temporary, "r+b") as stream:
            reserve(stream, temporary.stat().st_size)
        narrow = torch.autocast(device.type, torch.bfloat16, enabled=way.precision == "bf16-mixed")
        with torch.inference_mode(), narrow:
            for batch in tqdm(batches, f"states of {way.split}", leave=False, disable=way.config.silent):
                on_device = move(batch, device)
                found = backbone.frozen_states(on_device["text"], on_device["mask"]).cpu().view(torch.int16).numpy()
                for row, (document, length) in enumerate(zip(batch["document"], batch["length"], strict=True)):
                    states[offsets[document] : offsets[document + 1]] = found[row, : int(length)]
        states.flush()
    return _read(path, shape)
