"""Predictions by several processes of this machine: the parts that one process makes, in the same order.

Documents are read here, a chunk of the size that :meth:`.Predictor.stream` takes at once goes to a process that has
loaded the model, and few chunks are under way. So every document is scored beside the same others as by one process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import torch

from plant_plugin.commands.prediction_workers import Part, Predict, Worker
from plant_plugin.config import registry
from plant_plugin.data.tables import Document
from plant_plugin.errors import PlantError
from plant_plugin.model.predictor import Predictor
from plant_plugin.model.trained import in_chunks

AHEAD = 2  # chunks of each worker that are under way or wait to be written


def predict_by_processes(
    documents: Iterable[Document], load: Callable[[], Predictor], part: Predict, batch_size: int, workers: int
) -> Iterator[Part]:
    """Predict by processes that share the threads of this one.

    Args:
        documents: Read here, and only once.
        load: Reads the model, in each process.
        part: Predicts the labels of documents.
        batch_size: Documents scored at once.
        workers: How many processes.

    Yields:
        The part of each chunk, in the order of the documents; before an error those of all documents before it.

    Raises:
        PlantError: What ``documents``, ``load`` or ``part`` raises; or a process was ended.
    """
    threads = max(1, torch.get_num_threads() // workers)
    start = (load, part, threads, registry.used(), os.getcwd())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start, start)
    under_way, error = deque[Future[Part]](), None
    chunks = in_chunks(documents, batch_size)
    try:
        while True:
            try:
                chunk = next(chunks, None)
            except PlantError as problem:
                chunk, error = None, problem
            if chunk is None:
                break
            under_way.append(pool.submit(_predict, chunk))
            if len(under_way) == AHEAD * workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    except BrokenProcessPool:
        what, fix = "one of them was ended, perhaps because the memory was full", "take fewer, and go on with --resume"
        raise PlantError(what, where="--workers", fix=fix) from None
    finally:
        pool.shutdown(cancel_futures=True)
    if error is not None:
        raise error


_workers: list[Worker] = []  # of a process: the only one, which its first task looks for


def _start(load: Callable[[], Predictor], part: Predict, threads: int, registries: list[Path], folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process says what Ctrl-C does
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _workers.append(Worker(load, part, threads, registries, folder))


def _end_with_parent() -> None:
    """Wait for the end of the first process, of which a worker hears nothing where that was killed."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _predict(documents: list[Document]) -> Part:
    [worker] = _workers
    return worker.part(worker.predictor, documents)
