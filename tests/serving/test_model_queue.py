"""Requests that come at once are worked on together, in order, in bounded number and time."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from plant_plugin.errors import ConfigError
from plant_plugin.serving.model_queue import Busy, Failed, ModelQueue


class Model:
    """Answers each text with its length; keeps what it was given, and can be held up."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], Any]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.busy = threading.Event()

    def __call__(self, texts: list[str], question: Any) -> list[int]:
        self.busy.set()
        assert self.gate.wait(10)
        self.calls.append((texts, question))
        return [len(text) for text in texts]


async def held_up(model: Model, queue: ModelQueue, *requests: tuple[list[str], Any]) -> list[Any]:
    """Answers of requests that arrive while the model works on another."""
    model.gate.clear()
    async with queue.running():
        first = asyncio.create_task(queue.ask(model, ["first"]))
        await asyncio.to_thread(model.busy.wait, 10)
        rest = [asyncio.create_task(queue.ask(model, texts, question)) for texts, question in requests]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        model.gate.set()
        return await asyncio.gather(first, *rest, return_exceptions=True)


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


def test_what_gathers_is_the_next_batch() -> None:
    model = Model()
    answers = run(held_up(model, ModelQueue(9, 10, 64), (["a", "bb"], None), (["ccc"], None), (["dddd"], None)))
    assert answers == [[5], [1, 2], [3], [4]]
    assert model.calls == [(["first"], None), (["a", "bb", "ccc", "dddd"], None)]


def test_only_equal_questions_go_together_and_the_order_stays() -> None:
    model = Model()
    answers = run(held_up(model, ModelQueue(9, 10, 64), (["a"], 1), (["bb"], 2), (["ccc"], 2), (["dddd"], 1)))
    assert answers == [[5], [1], [2], [3], [4]]
    assert model.calls[1:] == [(["a"], 1), (["bb", "ccc"], 2), (["dddd"], 1)]


def test_a_batch_is_bounded() -> None:
    model = Model()
    run(held_up(model, ModelQueue(9, 10, 2), (["a"], None), (["b"], None), (["c"], None), (["d", "e", "f"], None)))
    assert [len(texts) for texts, _ in model.calls] == [1, 2, 1, 3]


def test_a_full_queue_refuses() -> None:
    model = Model()
    answers = run(held_up(model, ModelQueue(2, 10, 64), (["a"], None), (["b"], None), (["c"], None)))
    assert answers[:3] == [[5], [1], [1]]
    assert isinstance(answers[3], Busy)


def test_who_has_waited_too_long_is_told_and_not_worked_for() -> None:
    model = Model()

    async def impatient() -> list[Any]:
        queue = ModelQueue(9, 0.05, 64)
        model.gate.clear()
        async with queue.running():
            asked = [queue.ask(model, ["first"]), queue.ask(model, ["second"])]
            answers = await asyncio.gather(*asked, return_exceptions=True)
            model.gate.set()
            return [*answers, await queue.ask(model, ["third"])]

    answers = run(impatient())
    assert [type(answer) for answer in answers[:2]] == [Busy, Busy]
    assert answers[2] == [5]
    worked_for = [text for texts, _ in model.calls for text in texts]
    assert worked_for[-1] == "third"
    assert worked_for.count("second") <= 1  # it may have gone with the first, never afterwards


@pytest.mark.parametrize(
    ("error", "seen"), [(ValueError("secret text"), Failed), (ConfigError("no label"), ConfigError)]
)
def test_errors_reach_who_asked_and_the_model_goes_on(
    error: Exception, seen: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(texts: list[str], question: Any) -> list[int]:
        raise error

    async def ask() -> Any:
        queue = ModelQueue(9, 10, 64)
        async with queue.running():
            both = await asyncio.gather(queue.ask(broken, ["a"]), queue.ask(broken, ["b"]), return_exceptions=True)
            return [*both, await queue.ask(Model(), ["third"])]

    with caplog.at_level(logging.DEBUG):
        answers = run(ask())
    assert [type(answer) for answer in answers[:2]] == [seen, seen]
    assert answers[2] == [5]
    assert "secret" not in caplog.text + str(answers)
    assert ("ValueError" in caplog.text) is (seen is Failed)


def test_who_asks_beside_a_text_that_the_model_cannot_read_is_answered() -> None:
    def fragile(texts: list[str], question: Any) -> list[int]:
        if "secret" in texts:
            raise MemoryError
        return [len(text) for text in texts]

    async def ask() -> Any:
        queue = ModelQueue(9, 10, 64)
        async with queue.running():
            asked = [queue.ask(fragile, texts) for texts in (["a"], ["b", "secret"], ["cc", "d"])]
            return await asyncio.gather(*asked, return_exceptions=True)

    first, second, third = run(ask())
    assert (first, type(second), third) == ([1], Failed, [2, 1])
