"""Measure how long a configuration trains, and in how much memory, by a few batches of each stage on this device.

Documents are read and the network is built as a run does it. Planted scores are not fitted: where they propose labels,
a document's shortlist is drawn at random, with which a step takes as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.config.sections import Settings
from plant_plugin.data.batches import Batches, move
from plant_plugin.report.run import Run
from plant_plugin.training.build import build_network, plant_relevance
from plant_plugin.training.devices import device_of
from plant_plugin.training.guards import limited_memory
from plant_plugin.training.inputs import Encoded, Inputs, Shortlists, Small, prepare
from plant_plugin.training.resume import Stage
from plant_plugin.training.rows import clip_norm
from plant_plugin.training.run_settings import precision_of
from plant_plugin.training.stage import StageModule
from plant_plugin.training.stage1 import run_stage1
from plant_plugin.training.stage2 import run_stage2

NARROW = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
STAGES: dict[str, Sequence[Stage]] = {"end_to_end": (run_stage2,), PLANTED_SCORES: ()}  # of others: both

Step = Callable[[dict[str, Tensor]], None]


class StagePace(NamedTuple):
    """Time and memory of a stage."""

    epochs: int  # at most: early stopping may end it before
    batches: int  # of the first epoch
    training_seconds: float  # of an epoch
    validation_seconds: float  # after an epoch; 0 without validation documents
    peak_bytes: float  # of the process's memory, on a GPU of the tensors there

    @property
    def seconds(self) -> float:
        """Return the seconds of all epochs with their validation."""
        return self.epochs * (self.training_seconds + self.validation_seconds)


class Pace(NamedTuple):
    """Time and memory of training, before and in its stages."""

    preparation_seconds: float  # reading, tokens, relevance and the network
    stages: dict[str, StagePace]
    trainings: int  # 2 where `refit` trains again

    @property
    def seconds(self) -> float:
        """Return the seconds of preparation and all epochs of both stages, at most."""
        return self.trainings * (self.preparation_seconds + sum(stage.seconds for stage in self.stages.values()))


def measure(settings: Settings) -> Pace:
    """Train the largest, the middle and the smallest batch of each stage twice, validate as many, forget the network.

    Raises:
        PlantError: Memory does not suffice for the largest batch; says what to lower.
    """
    device, trainings = device_of(settings), 1 if settings.refit == "none" else 2
    with TemporaryDirectory() as folder:
        settings = replace(settings, refit="none")
        run = Run(Path(folder), silent=True, tests=False)
        with limited_memory(run, limited=device.type == "cpu"):
            torch.manual_seed(settings.seed or 0)
            started = time.perf_counter()
            documents = prepare(settings, run)
            epochs: dict[Stage, int | None] = {run_stage1: settings.stage1.epochs, run_stage2: settings.stage2.epochs}
            stages = [stage for stage in STAGES.get(settings.strategy, (*epochs,)) if epochs[stage] != 0]
            network = build_network(documents, settings, run)
            relevance = plant_relevance(network, documents, settings, run, planted=run_stage1 in stages)
            inputs = Inputs(documents, relevance, shortlists=_draw_shortlists(documents, settings))
            network.to(device)
            preparation = time.perf_counter() - started
            paces: dict[str, StagePace] = {}

            def measure_stage(module: StageModule) -> None:
                paces[module.stage] = _measured(module, run, device)

            run.measure_stage = measure_stage
            for train_network in stages:
                train_network(network, inputs, settings, run)
    return Pace(preparation, paces, trainings)


def _draw_shortlists(documents: Encoded, settings: Settings) -> Shortlists:
    if (size := settings.shortlist.largest) is None:
        return Shortlists()
    lengths = {name: len(arrays) for name, arrays in documents.arrays.items()}
    return Shortlists({name: draw_labels(length, documents.num_labels, size) for name, length in lengths.items()})


def draw_labels(documents: int, labels: int, size: int) -> Small:
    """Draw a shortlist of labels for each document, ascending, (N, S)."""
    size = min(size, labels)
    part = labels // size  # one label of each, so that they ascend
    drawn = np.random.default_rng(0).integers(part, size=(documents, size), dtype=np.int32)
    return np.arange(size, dtype=np.int32) * part + drawn


def _measured(module: StageModule, run: Run, device: torch.device) -> StagePace:
    """Measure a stage; its accumulated steps are taken to be as many as its batches."""
    module.to(device).train()  # pretrained models come in evaluation mode
    optimizer = module.configure_optimizers()["optimizer"]
    narrow = NARROW.get(precision_of(module.settings))

    def train(batch: dict[str, Tensor]) -> None:
        optimizer.zero_grad()
        with torch.autocast(device.type, narrow, enabled=narrow is not None):
            loss = module.training_loss(batch)
        loss.backward()
        clip_norm(module.parameters(), module.options.clip_norm or np.inf)
        optimizer.step()

    def validate(batch: dict[str, Tensor]) -> None:
        with torch.inference_mode(), torch.autocast(device.type, narrow, enabled=narrow is not None):
            module.validation_step(batch, 0)

    with run.phase(module.stage):
        training = _seconds(module.train_batches, train, device)
        validation = 0.0
        if module.val_batches is not None:
            module.network.eval()
            module.on_validation_epoch_start()
            validation = _seconds(module.val_batches, validate, device)
    peaks = run.costs["gpu_memory_mb" if device.type == "cuda" else "peak_memory_mb"]
    return StagePace(module.epochs, len(module.train_batches), training, validation, peaks[module.stage] * 1024**2)


def _seconds(batches: Batches, step: Step, device: torch.device) -> float:
    """Return the seconds of a pass, from three of its batches: between them a step takes what its positions do."""
    order = batches.order()
    positions = np.array([batches.positions(documents) for documents in order])
    by_size = np.argsort(positions, kind="stable")
    places = by_size[[-1, len(by_size) // 2, 0]]
    taken = {}
    for place in (*places, *places):  # what is compiled is compiled the first time
        started = time.perf_counter()
        step(move(batches.batch(order[place]), device))
        if device.type == "cuda":
            torch.cuda.synchronize(device)  # it still works when Python has the answer
        taken[place] = time.perf_counter() - started
    sizes, which = np.unique(positions[places], return_inverse=True)
    means = np.bincount(which, [taken[place] for place in places]) / np.bincount(which)
    return float(np.interp(positions, sizes, means).sum())
