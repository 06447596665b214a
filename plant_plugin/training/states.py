"""Read states of a stage on disk without a network, and tell whether they are whole."""

from __future__ import annotations

import logging
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import TypedDict

from plant_plugin.errors import CheckpointError
from plant_plugin.report.logs import LOGS, Logs, read_logs, write_logs
from plant_plugin.report.record import RUN_FILE, RunRecord, read_run_record

logger = logging.getLogger(__name__)

STATE_KEY = "plant_plugin"  # our part of Lightning's checkpoint
PATTERN = "state-*.ckpt"
UNREADABLE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, zipfile.BadZipFile, pickle.UnpicklingError,
    EOFError,
)  # fmt: skip


class RequiredContent(TypedDict):
    """Keys that every state has; one without them is of something else."""

    config: str  # hash
    step: int  # optimiser steps done
    epoch: int  # to resume with, at `batch`
    batch: int
    has_ended: bool  # the early stopping had already ended the stage
    skipped: int  # steps left out so far, see training/guards.py
    pieces: int  # parts that a batch was computed in, see there
    log_lengths: dict[str, int]  # evaluations that `logs.json` held, by split
    logs: Logs  # evaluations of `logs.json`
    has_best: bool  # `best.ckpt` was there


class StateContent(RequiredContent, total=False):
    """The part of a state that is ours; other files of the run are mended from it."""

    record: RunRecord  # `run.json`, where it was whole
    metrics_size: int  # bytes of `metrics.csv`, from the process that writes it


def is_whole(path: Path) -> bool:
    """Tell whether a file that torch wrote is there and its sums agree; torch itself does not compare them."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except UNREADABLE:
        return False


def read_state(path: Path) -> StateContent | None:
    """Read our part of a state; None where it is torn."""
    import torch

    if not is_whole(path):
        return None
    try:
        content: StateContent = torch.load(path, map_location="cpu", weights_only=True, mmap=True)[STATE_KEY]
    except UNREADABLE:
        return None
    return content if content.keys() >= RequiredContent.__required_keys__ else None


def states_of(folder: Path) -> Iterator[StateContent]:
    """Yield the whole states of a run's folder, the newest first."""
    for path in sorted(folder.glob(f"stage*/{PATTERN}"), reverse=True):
        if (content := read_state(path)) is not None:
            yield content


def record_of(folder: Path) -> RunRecord | None:
    """Read ``run.json`` of a folder; where it is torn, from the newest state."""
    if (record := read_run_record(folder)) is None:
        for state in states_of(folder):
            logger.warning("%s is torn; the run's newest state has what it held.", folder / RUN_FILE)
            return state.get("record") or {"config_hash": state["config"]}
    return record


def mend_logs(folder: Path) -> None:
    """Write ``logs.json`` again from the newest state where it is torn.

    Raises:
        CheckpointError: No state holds it.
    """
    try:
        read_logs(folder / LOGS)
    except CheckpointError:
        held = next((state["logs"] for state in states_of(folder)), None)
        if held is None:
            raise
        logger.warning("%s is torn; its epochs are taken from the run's newest state.", folder / LOGS)
        write_logs(folder / LOGS, held)
