"""Predictions by the workers of a Ray cluster, the bytes of one machine (extra ``ray``).

Ray Data reads the documents as a stream of chunks of the size that :meth:`.Predictor.stream` takes at once, hands each
chunk to a worker that has loaded the model, and gives the results in order. So every document is scored beside the
same others as on one machine, and with as many threads.
"""

from __future__ import annotations

import copy
import functools
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from plant_plugin.config import registry
from plant_plugin.data.tables import STDIN, Document, Table
from plant_plugin.errors import ConfigError, PlantError
from plant_plugin.model.predictor import Predictor
from plant_plugin.model.trained import in_chunks
from plant_plugin.relevance.cluster import cluster
from plant_plugin.report.machine import usable_cores

if TYPE_CHECKING:
    import pyarrow

Part = tuple[str, Counter[str]]  # what is written of some documents, and what is counted
Predict = Callable[[Predictor, list[Document]], Part]


def predict_on_workers(
    documents: Table,
    load: Callable[[], Predictor],
    part: Predict,
    batch_size: int,
    address: str | None = None,
) -> Iterator[Part]:
    """Predict on the workers of a cluster, which all have to reach the files by the paths that this machine uses.

    The file is read twice: first here, so that a bad line is refused before any work is done, then by Ray.

    Args:
        documents: Of a file; standard input can be read only once, and only here.
        load: Reads the model, on a worker.
        part: Predicts the labels of documents.
        batch_size: Table scored at once.
        address: See :func:`.cluster`.

    Yields:
        The part of each chunk, in the order of the documents.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: The documents come from standard input.
        DataError: A line is no document.
        PlantError: No cluster answers, or what ``load`` or ``part`` raises.
    """
    if documents.source == STDIN:
        raise ConfigError("workers cannot read standard input", where="--ray", fix="name a file, and --ray after it")
    unread = copy.deepcopy(documents)  # which counts the lines that it passes over
    for _ in documents:  # a bad line ends it here
        pass
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # it calls actors of Ray Data an error
    with cluster(address, usable_cores()):
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        cores = [int(node["Resources"]["CPU"]) for node in ray.nodes() if "CPU" in node["Resources"]]
        threads = min(torch.get_num_threads(), *cores)
        cards = int(ray.cluster_resources().get("GPU", 0))
        workers = cards or sum(number // threads for number in cores)
        context = ray.data.DataContext.get_current().copy()
        context.enable_progress_bars, context.raise_original_map_exception = False, True
        context.target_max_block_size = 1  # byte: each chunk is a block, which is what Ray Data hands out
        context.execution_options.preserve_order = True
        with ray.data.DataContext.current(context):
            rows = (
                ray.data.from_items([0], override_num_blocks=1)
                # Reading takes no core from the workers; and what asks for other cores is not done inside of a worker.
                .map_batches(_read, fn_args=(unread, batch_size, os.getcwd()), num_cpus=0)
                .map_batches(
                    Worker,
                    fn_constructor_args=(load, part, threads, registry.used(), os.getcwd()),
                    batch_size=1,
                    batch_format="pyarrow",
                    num_cpus=threads,
                    num_gpus=min(cards, 1),
                    concurrency=workers,
                )
                .iter_rows()
            )
            try:
                for row in rows:
                    yield row.pop("text"), Counter(row)
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, PlantError):
                    raise error.cause from error
                raise


def _read(nothing: object, documents: Table, batch_size: int, folder: str) -> Iterator[pyarrow.Table]:
    """Read chunks of documents, each a row."""
    import pyarrow

    os.chdir(folder)
    kind = pyarrow.list_(pyarrow.large_string())
    for chunk in in_chunks(documents, batch_size):
        columns = {"ids": [document.name for document in chunk], "texts": [document.text for document in chunk]}
        yield pyarrow.table({name: pyarrow.array([values], kind) for name, values in columns.items()})


class Worker:
    """A process of the cluster that holds the model."""

    def __init__(
        self,
        load: Callable[[], Predictor],
        part: Predict,
        threads: int,
        registries: list[Path],
        folder: str,
    ) -> None:
        os.chdir(folder)
        torch.set_num_threads(threads)
        for path in registries:
            registry.use(path)
        self.load, self.part = load, part

    @functools.cached_property
    def predictor(self) -> Predictor:
        """The model, loaded with the first chunk: Ray hides what is wrong with a worker's start."""
        return self.load()

    def __call__(self, chunk: pyarrow.Table) -> pyarrow.Table:
        """Return a row of the text and the counts of a part."""
        import pyarrow

        names, texts = chunk["ids"][0].as_py(), chunk["texts"][0].as_py()
        documents = [Document(text, id=name) for name, text in zip(names, texts, strict=True)]
        text, counts = self.part(self.predictor, documents)
        return pyarrow.table({name: [value] for name, value in {"text": text, **counts}.items()})
