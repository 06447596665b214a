"""Threads for small tasks, runs of items, and sums of products."""

from __future__ import annotations

import pytest
import torch

from plant_plugin.networks.kernels.passes import add_product, on_threads, shares


@pytest.mark.parametrize(("number", "most", "threads"), [(10, 3, 8), (10, 8, 3), (2, 5, 4), (0, 0, 4)])
def test_shares_cover_every_item_once(number: int, most: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    runs = shares(number, most)
    assert len(runs) == max(1, min(most, threads))
    assert [item for run in runs for item in range(run.start, run.stop)] == list(range(number))
    sizes = [run.stop - run.start for run in runs]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_order_and_the_number_of_threads_stays(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        numbers = on_threads(lambda item: (item, torch.get_num_threads()), range(20), 2)
        assert [item for item, _ in numbers] == list(range(20))
        assert {number for _, number in numbers} == {1}
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_an_error_of_a_task_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        on_threads(lambda item: 1 / item, [1, 0], 2)


@pytest.mark.parametrize("shape", [(), (4,)])
def test_products_are_added_also_narrow_ones_to_a_wide_sum(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    left, right = torch.randn(*shape, 3, 5), torch.randn(*shape, 5, 2)
    for kind in (torch.float32, torch.bfloat16):
        total = torch.ones(*shape, 3, 2)
        add_product(total, left.to(kind), right.to(kind))
        assert total.dtype == torch.float32
        torch.testing.assert_close(total, 1 + (left.to(kind) @ right.to(kind)).float())
