"""One run in several processes, a device each: their ranks, what they send each other, and how they are started.

The first process reads and makes caches before the others do, keeps all scores that the metrics are computed from, and
writes everything. They are started by this module on one machine, by ``torchrun`` on several, whose environment says
how many. What they send each other is pickled, but only between the processes of one run.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import multiprocessing, nn

from plant_plugin.config.sections import General, Settings
from plant_plugin.errors import ConfigError, Interrupted, PlantError
from plant_plugin.networks.trained_state import trained_state
from plant_plugin.report.machine import usable_cores
from plant_plugin.report.printed import printing

T = TypeVar("T")

PATIENCE = timedelta(hours=12)  # the others wait while the first computes the relevance and fits planted scores
GRACE = 60.0  # seconds between the end of one process and the end of all; a busy machine needs some to notice it


def device_of(settings: General) -> torch.device:
    """Return the first GPU where there is one and ``cpu`` is not set, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() and not settings.cpu else "cpu")


def count() -> int:
    """Return the number of processes of this run."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process, from 0."""
    return dist.get_rank() if count() > 1 else 0


def machines() -> int:
    """Machines of this run, as ``torchrun`` has started it."""
    return count() // int(os.environ.get("LOCAL_WORLD_SIZE", count()))


def is_first() -> bool:
    """Tell whether this is the process that writes."""
    return rank() == 0


def from_first(make: Callable[[], T]) -> T:
    """Return to every process what the first one makes."""
    if count() == 1:
        return make()
    values = [make() if is_first() else None]
    dist.broadcast_object_list(values, src=0)
    return values[0]  # type: ignore[return-value]


def at_first(value: T | None) -> list[T]:
    """Return to the first process the values of all that are not None, by rank; to the others nothing."""
    everyone: list[T | None] = [value]
    if count() > 1:
        everyone = [None] * count() if is_first() else []
        dist.gather_object(value, everyone or None)
    return [each for each in everyone if each is not None]


@contextlib.contextmanager
def first_before_others() -> Iterator[None]:
    """Let the first process go through the block, then the others: the files that it made are there then."""
    if not is_first():
        dist.barrier()
    yield
    if is_first() and count() > 1:
        dist.barrier()


def same_weights(network: nn.Module) -> None:
    """Give every process the trained tensors of the first."""
    if count() > 1:
        for tensor in trained_state(network).values():
            dist.broadcast(tensor.detach(), src=0)


def together(work: Callable[[], T], settings: Settings, folder: Path) -> T:
    """Run ``work`` in as many processes as the settings name; what it writes goes to a folder, which errors name.

    ``work`` is a function of a module: the other processes import it.

    Raises:
        ConfigError: More devices than there are, or another number than ``torchrun`` started.
        PlantError: Another process ended before its time.
    """
    _check(settings)
    if settings.shortlist.rows == "touched":
        raise ConfigError("only one device on one machine can", where="shortlist.rows", fix="leave out touched")
    if _launched():
        return _member(work, settings)
    from lightning.fabric.plugins.environments.lightning import find_free_network_port

    size = str(settings.devices)
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(find_free_network_port()), "WORLD_SIZE": size,
                   "LOCAL_WORLD_SIZE": size, "GROUP_RANK": "0"}  # fmt: skip
    with _variables({**environment, "RANK": "0", "LOCAL_RANK": "0"}):
        others = multiprocessing.start_processes(
            _other, (work, settings, environment), settings.devices - 1, join=False, start_method="spawn"
        )
        failed: queue.SimpleQueue[str] = queue.SimpleQueue()
        done = threading.Event()
        watching = threading.Thread(target=_watch, args=(others, failed, done), daemon=True)
        watching.start()
        try:
            return _member(work, settings)
        except RuntimeError as error:
            try:  # a lost connection is seen before the end of the process that held it
                reason = failed.get(timeout=GRACE)
            except queue.Empty:
                raise error from None
            what = f"another of the {settings.devices} processes ended before its time: {reason}"
            fix = f"once that is mended, resume with the same command and --resume {folder}"
            raise PlantError(what, where=str(folder), fix=fix) from error
        finally:
            done.set()
            watching.join()
            for process in others.processes:
                process.join(1)
                process.kill()


def _check(settings: Settings) -> None:
    """Compare what is asked for with what there is."""
    devices = settings.devices
    if _launched():
        world = os.environ["WORLD_SIZE"]
        local = int(os.environ.get("LOCAL_WORLD_SIZE", world))
        if devices != local:
            what = f"{local} of {world} processes were started on this machine, but devices is {devices}"
            raise ConfigError(what, where="devices", fix=f"--devices {local}, or another --nproc-per-node of torchrun")
    cuda = device_of(settings).type == "cuda"
    there = torch.cuda.device_count() if cuda else usable_cores()
    if devices > there:
        what = f"{devices} are asked for, {there} {'GPUs' if cuda else 'processor cores'} are there"
        raise ConfigError(what, where="devices", fix=f"use --devices {there} or fewer")


def _launched() -> bool:
    """Tell whether ``torchrun`` has started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def _member(work: Callable[[], T], settings: Settings) -> T:
    """Join the other processes and do this one's work."""
    cuda = device_of(settings).type == "cuda"
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=PATIENCE)
    try:
        return work()
    finally:
        dist.destroy_process_group()


def _other(index: int, work: Callable[[], object], settings: Settings, environment: dict[str, str]) -> None:
    """Do the work in a process that this module has started."""
    number = str(index + 1)
    os.environ.update({**environment, "RANK": number, "LOCAL_RANK": number})
    with printing(), contextlib.suppress(Interrupted):  # the first process says how to resume
        _member(work, settings)


def _watch(others: multiprocessing.ProcessContext, failed: queue.SimpleQueue[str], done: threading.Event) -> None:
    """Note why another process failed; end this one too where it waits for that one and cannot know."""
    try:
        while not done.is_set():
            if others.join(timeout=0.5):
                return
    except (multiprocessing.ProcessRaisedException, multiprocessing.ProcessExitedException) as error:
        reason = str(error).strip().rpartition("Error: ")[2]
        failed.put(reason)
        if not done.wait(2 * GRACE):
            print(f"Error: another process ended before its time: {reason}", file=sys.stderr, flush=True)
            os._exit(PlantError.exit_code)


@contextlib.contextmanager
def _variables(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables for a while; OMP_NUM_THREADS too, which Lightning sets."""
    before = {name: os.environ.get(name) for name in (*values, "OMP_NUM_THREADS")}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
