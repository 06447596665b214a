"""Scores of whole splits, in which all processes of a run take part, and what the evaluation reads of them.

Shape key: **B** documents · **L** labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from scipy import sparse
from tqdm import tqdm

from plant_plugin.config import Config
from plant_plugin.data.batches import move
from plant_plugin.evaluation.ranking import best_scored
from plant_plugin.model.trained import with_planted
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.report.logs import append_log
from plant_plugin.report.metric_log import Place
from plant_plugin.report.record import skipped_steps
from plant_plugin.report.result import Result, Scored, device_name, write_predictions
from plant_plugin.report.run import Run
from plant_plugin.training.devices import at_first, count, device_of, from_first, rank
from plant_plugin.training.prepare import Prepared
from plant_plugin.training.stage import so_many
from plant_plugin.training.weights import Floats, Places, ScoreBatch, centred

MOST_KEPT = 50_000_000  # logits of validation documents that are kept for a second pass: 200 MB


@dataclass(frozen=True)
class Scoring:
    """A trained network that scores the splits of its run."""

    network: PlantableNetwork
    prepared: Prepared
    config: Config
    run: Run
    _kept: dict[str, list[tuple[Floats, Places]]] = field(default_factory=dict, init=False)

    def batches(self, split: str) -> Iterator[ScoreBatch]:
        """Logits (B, L), sparse truth and document numbers of a split, batch by batch; for the first process.

        Logits are sparse where nothing outside the shortlist is scored.
        """
        kept = self._kept.get(split, [])
        if not kept:
            from_first(lambda: split)
        prepared, planted = self.prepared, self.prepared.planted_scores
        listed = prepared.shortlist_scores.get(split)
        columns = prepared.num_labels if listed is None else listed.shape[1]
        room = MOST_KEPT // columns if split == "val" else 0  # validation is asked for twice
        few = prepared.labels[split].shape[0] <= room
        found = []
        for logits, documents in kept or self._pass(split):
            if few and not kept:
                found.append((logits, documents))
            summed = logits.copy()
            if listed is not None and planted is not None and planted.weight:
                planted.add_scores(summed, listed[documents])
            elif listed is None:
                texts = [] if planted is None else prepared.texts(split, documents)
                known = prepared.evidence_scores.get(split)
                with_planted(summed, planted, texts, None if known is None else known[documents])
            yield prepared.placed(split, documents, summed), prepared.labels[split][documents], documents
        if found:
            self._kept[split] = found

    def assist(self) -> Result:
        """Score this process's part in every pass that the first one starts, until that has its result; have none."""
        while split := from_first(str):
            for _ in self._pass(split):
                pass
        return {}

    def end(self) -> None:
        """No further pass is started."""
        from_first(str)

    def _pass(self, split: str) -> Iterator[tuple[Floats, Places]]:
        """The network's own logits and document numbers, batch by batch."""
        device, prepared = device_of(self.config.cpu), self.prepared
        self.network.to(device).eval()
        batches = prepared.split(split).take_part(rank(), count())
        share = self.config.limit_test_batches if split == "test" else self.config.limit_val_batches
        wanted = so_many(share, len(batches))
        taken = zip(range(wanted), batches, strict=False)
        with torch.inference_mode():
            for _, batch in tqdm(taken, split, wanted, leave=False, disable=self.config.silent):
                scored = None
                if "surplus" not in batch:
                    on_device = move(batch, device)
                    if prepared.shortlist_scores:
                        logits = self.network.listed_logits(on_device)
                    else:
                        logits = self.network(on_device)["logits"]
                    scored = logits.float().cpu().numpy(), batch["document"].numpy()
                yield from at_first(scored)

    def scored(self) -> Scored:
        """What the evaluation reads of the network."""
        prepared, config = self.prepared, self.config
        planted, tested = prepared.planted_scores, "test" in prepared.arrays
        return Scored(
            model=config.model_name,
            strategy=config.strategy,
            device=f"{count()} × " * (count() > 1) + device_name(device_of(config.cpu)),
            labels=prepared.corpus.label_names,
            train_counts=prepared.train_counts,
            num_train=prepared.num_train,
            validation=self._validation if "val" in prepared.arrays else None,
            test=self._tested if tested else None,
            outside=prepared.outside("test") if tested else None,
            hashes=prepared.hashes,
            counts={**prepared.corpus.counts, **skipped_steps(self.run.folder)},
            truncated=prepared.truncated,
            planted_scores={} if planted is None else planted.chosen,
            centred=None if planted is None else lambda tuned: centred(planted, tuned, config.planted_scores.offset),
        )

    def _validation(self) -> Iterator[tuple[Floats | sparse.csr_array, sparse.csr_array]]:
        return ((logits, truth) for logits, truth, _ in self.batches("val"))

    def _tested(self) -> Iterator[ScoreBatch]:
        """The test split's scores; writes ``predictions.txt`` and the monitored metrics of ``logs.json`` on the way."""
        config, most = self.config, self.config.save_k_predictions
        monitored = self.prepared.evaluator([name for name in config.monitor_metrics if name != "Loss"], "test")
        best: dict[int, tuple[Places, Floats]] = {}
        for logits, truth, documents in self.batches("test"):
            monitored.update(logits, truth, documents)
            if most:
                best.update(zip(documents.tolist(), best_scored(logits, most), strict=True))
            yield logits, truth, documents
        found = monitored.compute()
        append_log(config.log_path, "test", found)
        self.run.metrics.write(Place("test", 0, 0, "test"), found)
        if most:
            names = self.prepared.corpus.label_names  # batches go by length; the file follows the documents' order
            rows = (([names[label] for label in best[document][0]], best[document][1]) for document in sorted(best))
            write_predictions(config.predictions_path, rows)
