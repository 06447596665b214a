"""One model, many requests at once: they wait in a queue, and the model reads all that wait together.

While the model works, requests gather; what has gathered is its next batch. So a lonely request waits for nobody, and
many at once cost little more than one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from plant_plugin.errors import PlantError

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

ENDS = "the server ends"


class Busy(Exception):
    """Too many requests wait, or one has waited too long."""


class Failed(Exception):
    """The model could not do it; what went wrong is in the log, only by the name of its kind."""


@dataclass
class _Job:
    work: Callable[..., Sequence[object]]
    question: Hashable
    texts: list[str] = field(repr=False)
    answer: asyncio.Future[Any]


@dataclass
class ModelQueue:
    """Runs work on a model in one thread, as the model wants it."""

    waiting: int  # requests that may wait; a further one is refused
    seconds: float  # longest that a request waits for its answer
    documents: int  # texts that the model is given together; a larger request is a batch of its own
    _asked: set[asyncio.Future[Any]] = field(default_factory=set, init=False, repr=False)
    _ended: bool = field(default=False, init=False, repr=False)

    @property
    def asked(self) -> int:
        """The number of requests that wait for an answer now."""
        return len(self._asked)

    def refuse(self) -> None:
        """Let nobody wait any more, neither now nor later."""
        self._ended = True
        for answer in self._asked:
            if not answer.done():
                answer.set_exception(Busy(ENDS))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[ModelQueue]:
        """Work as long as the block lasts. Queue and thread belong to the loop that runs it."""
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue(self.waiting)
        thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        task = asyncio.create_task(self._serve(thread))
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            thread.shutdown(wait=False, cancel_futures=True)  # nobody waits for what it still works on

    async def ask(
        self,
        work: Callable[..., Sequence[Answer]],
        texts: list[str],
        question: Hashable = None,
        *,
        patient: bool = False,
    ) -> Sequence[Answer]:
        """Return one result for each text, by ``work(texts, question)``; equal work and question go together.

        Who is ``patient`` waits however long it takes.

        Raises:
            Busy: Too many wait already, the time is up, or the server ends.
            Failed: The work raised something that its caller could not have mended.
            PlantError: What is wrong with the question.
        """
        if self._ended:
            raise Busy(ENDS)
        answer: asyncio.Future[Sequence[Answer]] = asyncio.get_running_loop().create_future()
        self._asked.add(answer)
        try:
            self._jobs.put_nowait(_Job(work, question, texts, answer))
            return await asyncio.wait_for(answer, None if patient else self.seconds)
        except asyncio.QueueFull as error:
            raise Busy("too many requests wait") from error
        except asyncio.TimeoutError as error:
            raise Busy(f"no answer within {self.seconds:g} seconds") from error
        finally:
            self._asked.discard(answer)

    async def _serve(self, thread: ThreadPoolExecutor) -> None:
        held: _Job | None = None
        while True:
            first, held = held or await self._jobs.get(), None
            batch, size = [first], len(first.texts)
            while held is None and not self._jobs.empty():
                job = self._jobs.get_nowait()
                together = (job.work, job.question) == (first.work, first.question)
                if together and size + len(job.texts) <= self.documents:
                    batch.append(job)
                    size += len(job.texts)
                else:
                    held = job  # the order of arrival is kept
            await self._answer(thread, [job for job in batch if not job.answer.done()])

    async def _answer(self, thread: ThreadPoolExecutor, batch: list[_Job]) -> None:
        if not batch:
            return
        texts = [text for job in batch for text in job.texts]
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(thread, batch[0].work, texts, batch[0].question)
        except Exception as error:
            if len(batch) > 1:  # it may be one text that the model cannot read, or that they are too many
                for job in batch:
                    await self._answer(thread, [] if job.answer.done() else [job])
                return
            if not isinstance(error, PlantError):
                logger.error("a request failed: %s", type(error).__name__)  # its message could quote the text
                error = Failed("the model could not do it")
            if not batch[0].answer.done():
                batch[0].answer.set_exception(error)
            return
        start = 0
        for job in batch:
            if not job.answer.done():
                job.answer.set_result(results[start : start + len(job.texts)])
            start += len(job.texts)
