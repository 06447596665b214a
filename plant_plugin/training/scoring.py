"""Scores of whole splits, in which all processes of a run take part, and what the evaluation reads of them.

Every process calls the same functions in the same order. A pass over a split yields its scores in the first process,
which evaluates them, and nothing in the others.

Shape key: **B** documents · **L** labels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from tqdm import tqdm

from plant_plugin.config.sections import Settings
from plant_plugin.data.batches import move
from plant_plugin.evaluation.ranking import best_scored
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.relevance.log_odds import NOT_FITTED, LogOdds
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.report.logs import append_log
from plant_plugin.report.metric_log import Place
from plant_plugin.report.record import skipped_steps
from plant_plugin.report.result import Scored, device_name, write_predictions
from plant_plugin.report.run import Run
from plant_plugin.training.devices import at_first, count, device_of, rank
from plant_plugin.training.inputs import Encoded, Floats, Inputs, Logits, Places
from plant_plugin.training.run_settings import taken

ScoreBatch = tuple[Floats | sparse.csr_array, sparse.csr_array, Places]  # logits and truth (B, L), document numbers


def network_logits(network: PlantableNetwork, inputs: Inputs, split: str, settings: Settings) -> Iterator[Logits]:
    """Yield a network's own logits of a split, batch by batch, in the first process; all processes compute them."""
    device = device_of(settings)
    network.to(device).eval()
    batches = inputs.batches(split, settings.eval_batch_size).take_part(rank(), count())
    wanted = taken(settings, split, len(batches))
    numbered = zip(range(wanted), batches, strict=False)
    with torch.inference_mode():
        for _, batch in tqdm(numbered, split, wanted, leave=False, disable=settings.silent or None):
            scored = None
            if "surplus" not in batch:
                on_device = move(batch, device)
                listed = inputs.shortlists.scores
                logits = network.listed_logits(on_device) if listed else network(on_device)["logits"]
                scored = logits.float().cpu().numpy(), batch["document"].numpy()
            yield from at_first(scored)


def validation_logits(network: PlantableNetwork, inputs: Inputs, settings: Settings, run: Run) -> list[Logits]:
    """Return those logits of the validation split, which are read several times; none without one.

    They lie in a file without a name in the run's folder: memory may not hold all labels of all documents.
    """
    if "val" not in inputs.documents.arrays:
        return []
    places = []
    with run.phase("thresholds"), tempfile.TemporaryFile(dir=run.folder) as file:
        for logits, documents in network_logits(network, inputs, "val", settings):
            places.append((file.tell(), logits.shape, documents))
            file.write(np.ascontiguousarray(logits).data)
        file.flush()
        return [
            (np.memmap(file, np.float32, mode="r", offset=start, shape=shape), documents)
            for start, shape, documents in places
        ]


@dataclass(frozen=True)
class Scoring:
    """A trained network with its planted scores, as the evaluation reads it."""

    network: PlantableNetwork
    inputs: Inputs
    planted: PlantedScores | None
    settings: Settings
    run: Run
    validation: Sequence[Logits] = ()  # of a network that was trained here
    log_odds: LogOdds = NOT_FITTED

    @property
    def documents(self) -> Encoded:
        """Return the documents under the labels that are scored."""
        return self.inputs.documents

    def scored(self) -> Scored:
        """Return what the evaluation reads of the network."""
        documents, settings, planted = self.documents, self.settings, self.planted
        is_tested = "test" in documents.arrays
        return Scored(
            model=settings.model_name,
            strategy=settings.strategy,
            device=f"{count()} × " * (count() > 1) + device_name(device_of(settings)),
            labels=documents.corpus.label_names,
            train_counts=documents.train_counts,
            num_train=documents.num_train,
            validation=self._validated if self.validation else None,
            test=self._tested if is_tested else None,
            outside=documents.outside("test") if is_tested else None,
            hashes=documents.hashes,
            counts={**documents.corpus.counts, **skipped_steps(self.run.folder)},
            truncated=documents.truncated,
            planted_scores={} if planted is None else planted.chosen,
        )

    def summed(self, split: str, batches: Iterable[Logits]) -> Iterator[ScoreBatch]:
        """Yield the sum of the network's logits and the planted scores, with truth and document numbers.

        Logits are sparse where nothing outside the shortlist is scored.
        """
        inputs, planted, listed = self.inputs, self.planted, self.inputs.shortlists.scores.get(split)
        for logits, documents in batches:
            summed = np.array(logits)
            if planted is not None and planted.weight:
                if listed is None:
                    added = planted.scores(inputs.documents.texts(split, documents))
                else:
                    added = listed[documents]
                planted.add_scores(summed, added)
            yield inputs.placed(split, documents, summed), inputs.documents.labels[split][documents], documents

    def _validated(self) -> Iterator[tuple[Floats | sparse.csr_array, sparse.csr_array]]:
        return ((logits, truth) for logits, truth, _ in self._log_odds("val", self.validation))

    def _log_odds(self, split: str, batches: Iterable[Logits]) -> Iterator[ScoreBatch]:
        """Yield what :meth:`summed` yields, as log odds."""
        for sums, truth, numbers in self.summed(split, batches):
            scores: Floats = sums.data if isinstance(sums, sparse.csr_array) else sums
            scores[:] = self.log_odds.of(scores)
            yield sums, truth, numbers

    def _tested(self) -> Iterator[ScoreBatch]:
        """Yield the test split's scores; write ``predictions.txt`` and the monitored metrics of ``logs.json``."""
        settings, documents, most = self.settings, self.documents, self.settings.save_k_predictions
        names = [name for name in settings.monitor_metrics if name != "Loss"]
        monitored = documents.evaluator(names, "test", settings)
        best: dict[int, tuple[Places, Floats]] = {}
        logits = network_logits(self.network, self.inputs, "test", settings)
        for scores, truth, numbers in self._log_odds("test", logits):
            monitored.update(scores, truth, numbers)
            if most:
                best.update(zip(numbers.tolist(), best_scored(scores, most), strict=True))
            yield scores, truth, numbers
        metrics = monitored.compute()
        append_log(self.run.log_path, "test", metrics)
        self.run.metrics.write(Place("test", 0, 0, "test"), metrics)
        if most:
            labels = documents.corpus.label_names  # batches go by length; the file follows the documents' order
            rows = (([labels[label] for label in best[row][0]], best[row][1]) for row in sorted(best))
            write_predictions(settings.predict_out_path or str(self.run.folder / "predictions.txt"), rows)
