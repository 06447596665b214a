"""Threads for small tasks, and autograd's context between a forward and a backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

Item = TypeVar("Item")
Result = TypeVar("Result")
Rest = TypeVar("Rest")


class Context(Protocol[Rest]):
    """Autograd's memory of a forward pass, for its backward pass."""

    saved_tensors: tuple[Any, ...]  # tensors, and None in the place of one that was not there
    save_for_backward: Callable[..., None]
    rest: Rest  # what else the backward pass reads


def shares(number: int, most: int) -> list[slice]:
    """Cut a number of items into runs of about one length: as many as torch has threads, from 1 to ``most``."""
    count = max(1, min(torch.get_num_threads(), most))
    return [slice(number * part // count, number * (part + 1) // count) for part in range(count)]


class Threads:
    """Threads for tasks that are too small for torch to share one operation among cores; use as a context.

    There are as many as torch has, and no more than ``count``. Instead of a single thread the caller does the tasks.
    """

    def __init__(self, count: int) -> None:
        self._before = torch.get_num_threads()
        count = min(self._before, count)
        self._inference = torch.is_inference_mode_enabled()
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            torch.set_num_threads(self._before)  # each thread has its own number, new threads get the last number set

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the task's result for each item, in their order; no gradient is recorded."""
        if self._pool is None:
            return [task(item) for item in items]

        def on_one_core(item: Item) -> Result:
            torch.set_num_threads(1)  # of this thread
            with torch.inference_mode(self._inference), torch.no_grad():
                return task(item)

        return list(self._pool.map(on_one_core, items))


def add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add ``left`` @ ``right``, matrices or batches of them, to ``total``; the running sum stays wide."""
    if total.dtype != left.dtype:
        total.add_(left @ right)
    elif total.ndim == 2:
        total.addmm_(left, right)
    else:
        total.baddbmm_(left, right)
