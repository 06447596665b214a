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


def on_threads(task: Callable[[Item], Result], items: Iterable[Item], count: int) -> list[Result]:
    """Return the task's result for each item, in their order; no gradient is recorded.

    For tasks that are too small for torch to share one operation among cores. There are as many threads as torch has,
    and no more than ``count``. Instead of a single thread the caller does the tasks.
    """
    before, inference = torch.get_num_threads(), torch.is_inference_mode_enabled()
    count = min(before, count)
    if count <= 1:
        return [task(item) for item in items]

    def on_one_core(item: Item) -> Result:
        torch.set_num_threads(1)  # of this thread
        with torch.inference_mode(inference), torch.no_grad():
            return task(item)

    try:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(on_one_core, items))
    finally:
        torch.set_num_threads(before)  # each thread has its own number, new threads get the last number set


def add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add ``left`` @ ``right``, matrices or batches of them, to ``total``; the running sum stays wide."""
    if total.dtype != left.dtype:
        total.add_(left @ right)
    elif total.ndim == 2:
        total.addmm_(left, right)
    else:
        total.baddbmm_(left, right)
