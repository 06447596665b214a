"""The strategies: ``plant`` (stage 1, then stage 2), ``end_to_end`` (stage 2 only), ``planted_scores`` (no network)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightning as L
import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.data.batches import move
from plant_plugin.data.label_names import names_beside
from plant_plugin.data.tokens import WordTokens, embedding_matrix
from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.ranking import top_labels
from plant_plugin.model.folder import load_weights, save_model
from plant_plugin.model.trained import document_scores, load_trained, with_planted
from plant_plugin.networks.construct import construct
from plant_plugin.networks.kernels import triton_choice
from plant_plugin.networks.no_network import NO_NETWORK
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.report.logs import append_log, shorten_log, write_log_config
from plant_plugin.report.metric_log import MetricLog, Place
from plant_plugin.report.record import skipped_steps
from plant_plugin.report.scored import Scored, device_name, report, tuned_thresholds, write_predictions
from plant_plugin.training.devices import at_first, count, first_alone, from_first, is_first, rank
from plant_plugin.training.frozen_states import add_frozen_states
from plant_plugin.training.interruption import full_disk_resumes, sigterm_stops
from plant_plugin.training.prepare import Prepared, add_relevance, mark_evidence, mark_phrases, prepare
from plant_plugin.training.refit import trained_once
from plant_plugin.training.resume import finish, has_ended, read_result, same_data
from plant_plugin.training.stage import device_of, warn_of_slow_bf16
from plant_plugin.training.stage1 import run_stage1
from plant_plugin.training.stage2 import run_stage2
from plant_plugin.training.weights import (
    centred,
    fit_phrases,
    fit_planted_scores,
    plant_weight,
    weighed_on_validation,
)

if TYPE_CHECKING:
    from plant_plugin.config import Config
    from plant_plugin.report.run import Run

Scores = npt.NDArray[np.float32]
Stages = dict[str, Callable[[PlantableNetwork, Prepared, "Config", "Run"], None]]
ScoreBatch = tuple[Scores, Any, npt.NDArray[np.int64]]


def plant(config: Config, run: Run) -> dict[str, Any]:
    """Stage 1 plants the attention, stage 2 trains everything.

    Returns:
        The content of ``result.json``, or an empty dictionary without a test split.
    """
    return _train_and_test(config, run, {"stage1": run_stage1, "stage2": run_stage2})


def end_to_end(config: Config, run: Run) -> dict[str, Any]:
    """Stage 2 only, on the same network (a configured prior included).

    Returns:
        The content of ``result.json``, or an empty dictionary without a test split.
    """
    return _train_and_test(config, run, {"stage2": run_stage2})


def planted_scores(config: Config, run: Run) -> dict[str, Any]:
    """The planted scores alone: what they are without the configured network, in the time that they take.

    Returns:
        The content of ``result.json``, or an empty dictionary without a test split.
    """
    return _train_and_test(config, run, {})


def _train_and_test(config: Config, run: Run, stages: Stages) -> dict[str, Any]:
    triton_choice.choose(config.kernels)
    with contextlib.ExitStack() as stack:
        stack.enter_context(sigterm_stops(config, run))
        stack.enter_context(full_disk_resumes(config, run))
        if is_first():
            run.metrics = stack.enter_context(contextlib.closing(MetricLog(config, run.folder)))
        return _results(config, run, stages)


def _results(config: Config, run: Run, stages: Stages) -> dict[str, Any]:
    asked, thresholds = config, None
    if not config.eval and from_first(lambda: has_ended(config, run)):
        run.log("this run has ended before; these are its results")
        return read_result(run.folder) if is_first() else {}
    if config.refit != "none":
        config, thresholds = trained_once(config, run, functools.partial(_train_and_test, stages=stages))
    L.seed_everything(config.seed if config.seed is not None else 0, workers=True, verbose=False)
    if config.eval:
        with first_alone():
            network, prepared, thresholds = _load(config, run)
    else:
        with first_alone():
            network, prepared = _ready(config, run, planted="stage1" in stages)
        for stage, train in stages.items():
            with run.phase(stage):
                train(network, prepared, config, run)
    if not is_first():
        _assist(network, prepared, config, run)
        return {}
    if not config.eval:
        if prepared.planted_scores is not None:
            with run.phase("planted_scores"):
                plant_weight(prepared, config, run, lambda: score_batches(network, prepared, config, "val"))
        if thresholds is None:
            thresholds = tuned_thresholds(run, _scored(network, prepared, config, run))
        save(run.folder, network, prepared, config, thresholds)
    write_log_config(config.log_path, asked.as_dict())
    shorten_log(config.log_path, {"test": 0})  # of a run that was killed behind its test
    run.metrics.go_on("test", 0)
    result = report(config, run, _scored(network, prepared, config, run), thresholds)
    if not config.eval:
        finish(config, run)
    return result


def save(
    folder: Path, network: PlantableNetwork, prepared: Prepared, config: Config, thresholds: Mapping[str, float]
) -> None:
    """Write the model folder; what labels stand for comes with it where that lies beside the training file."""
    phrased = any("phrase" in marks for marks in prepared.marks.values())
    save_model(
        folder,
        network,
        prepared.tokens,
        prepared.corpus.label_names,
        thresholds,
        hashes={**prepared.hashes, "config": config.hash()},
        max_seq_length=config.max_seq_length,
        planted_scores=prepared.planted_scores,
        phrase_prior=config.evidence.prior if phrased else 0,
        label_names=names_beside(config.training_file),
    )


def _ready(config: Config, run: Run, *, planted: bool) -> tuple[PlantableNetwork, Prepared]:
    """The data and the network before its first step."""
    if is_first():
        warn_of_slow_bf16(config)
    prepared = prepare(config, run)
    if is_first():
        same_data(config, run, prepared)
    phrases = None
    if config.planted_scores.model != "none":
        with run.phase("planted_scores"):
            phrases = fit_phrases(prepared, config)
            if is_first():
                fit_planted_scores(prepared, config, run, phrases)
    network = build_network(prepared, config, run, planted=planted)
    if network.has_prior:
        mark_phrases(prepared, config, phrases, config.evidence.prior)
    if planted:
        mark_evidence(prepared, config)
    if config.checkpoint_path:
        load_weights(_model_folder(config), network, prepared.hashes)
    add_frozen_states(network, prepared, config, run)
    return network, prepared


def _assist(network: PlantableNetwork, prepared: Prepared, config: Config, run: Run) -> None:
    """Score this process's part in every pass over documents that the first process makes its results of."""
    passes = [] if config.eval else ["val"] * (weighed_on_validation(config) + 1)
    if run.tests:
        passes.append("test")
    for split in passes:
        if split in prepared.arrays:
            for _ in score_batches(network, prepared, config, split):
                pass


def build_network(prepared: Prepared, config: Config, run: Run, *, planted: bool) -> PlantableNetwork:
    """The configured network with fresh weights, its relevance computed and planted where anything reads it."""
    name, options = _network_of(config)
    vectors = None
    if isinstance(prepared.tokens, WordTokens):
        vectors = embedding_matrix(
            prepared.tokens,
            _vectors_file(config),
            normalize=config.normalize_embed,
            seed=config.seed or 0,
            dim=options.get("embed_dim"),
        )
    network = construct(name, prepared.num_labels, vectors, options)
    if planted or network.has_prior:
        add_relevance(prepared, config.relevance, run)
        assert prepared.relevance is not None
        network.plant_relevance(prepared.relevance.matrix)
    return network


def _vectors_file(config: Config) -> Path | None:
    """Where the word vectors lie, downloaded if need be; None: they are drawn at random."""
    if not config.embed_file or Path(config.embed_file).is_file():
        return Path(config.embed_file) if config.embed_file else None
    from plant_plugin.host.glove import vectors_file  # imports LibMultiLabel, seconds

    return vectors_file(config.embed_file, config.embed_cache_dir)


def _network_of(config: Config) -> tuple[str, dict[str, Any]]:
    """Name and options of the network that the strategy trains."""
    alone = config.strategy == PLANTED_SCORES
    return (NO_NETWORK, {}) if alone else (config.model_name, dict(config.network_config))


def _model_folder(config: Config) -> Path:
    """The folder that ``checkpoint_path`` names, or a file in it names."""
    path = Path(config.checkpoint_path or config.resume or "")
    return path.parent if path.is_file() else path


def _load(config: Config, run: Run) -> tuple[PlantableNetwork, Prepared, dict[str, float]]:
    """A trained model and the data to test it on, under the model's own labels and vocabulary."""
    folder = _model_folder(config)
    name, given = _network_of(config)
    model = load_trained(folder, given.get("lm_weight"))
    content = model.content
    if name != content["model_name"]:
        raise CheckpointError(
            f"it holds {content['model_name']}, the configuration names {name}",
            where=str(folder),
            fix="use the configuration of the training run",
        )
    trained = content["network_config"]
    if given and content.get("base"):  # its weights were compared, wherever they lie
        given["lm_weight"] = trained["lm_weight"]
    if given and given != trained:
        raise CheckpointError(
            "it was trained with another network_config than the configuration names",
            where=str(folder),
            fix="use the configuration of the training run",
        )
    prepared = prepare(config, run, model.tokens, model.labels)
    prepared.planted_scores = model.planted_scores
    mark_phrases(prepared, config, model.phrases, content.get("phrase_prior", 0))  # older models lack it
    has = model.planted_scores is not None
    if has != (config.planted_scores.model != "none"):
        run.log(f"the model has {'' if has else 'no '}planted scores, whatever the configuration says")
    return model.network, prepared, model.thresholds


def score_batches(network: PlantableNetwork, prepared: Prepared, config: Config, split: str) -> Iterator[ScoreBatch]:
    """Logits (B, L) float32, sparse truth and document numbers of a split, batch by batch; all in the first process.

    Args:
        network: Trained.
        prepared: The data.
        config: ``eval_batch_size`` and ``limit_*_batches`` are read.
        split: ``val`` or ``test``.
    """
    device = device_of(config)
    network.to(device).eval()
    batches = prepared.split(split, config.eval_batch_size).take_part(rank(), count())
    share = config.limit_test_batches if split == "test" else config.limit_val_batches
    wanted = int(share) if share > 1 else max(1, int(share * len(batches)))
    progress = tqdm(zip(range(wanted), batches, strict=False), split, wanted, leave=False, disable=config.silent)
    planted = prepared.planted_scores
    with torch.inference_mode():
        for _, batch in progress:
            scored = None
            if "surplus" not in batch:
                scored = document_scores(network, move(batch, device), None, []), batch["document"].numpy()
            for logits, documents in at_first(scored):
                texts = [] if planted is None else prepared.texts(split, documents)
                yield with_planted(logits, planted, texts), prepared.labels[split][documents], documents


def _tested(network: PlantableNetwork, prepared: Prepared, config: Config, run: Run) -> Iterator[ScoreBatch]:
    """The test split's scores; writes ``predictions.txt`` and the monitored metrics of ``logs.json`` on the way."""
    monitored = prepared.evaluator(config, [name for name in config.monitor_metrics if name != "Loss"], "test")
    best: dict[int, tuple[npt.NDArray[np.int64], Scores]] = {}
    for logits, truth, documents in score_batches(network, prepared, config, "test"):
        monitored.update(logits, truth, documents)
        if config.save_k_predictions:
            labels = top_labels(logits, config.save_k_predictions)
            chosen = np.take_along_axis(logits, labels, axis=1)
            best.update((int(document), pair) for document, *pair in zip(documents, labels, chosen, strict=True))  # type: ignore[misc]
        yield logits, truth, documents
    found = monitored.compute()
    append_log(config.log_path, "test", found)
    run.metrics.write(Place("test", 0, 0, "test"), found)
    if config.save_k_predictions:
        names = prepared.corpus.label_names  # batches go by length; the file follows the documents' order
        rows = (([names[label] for label in best[document][0]], best[document][1]) for document in sorted(best))
        write_predictions(config.predict_out_path, rows)


def _scored(network: PlantableNetwork, prepared: Prepared, config: Config, run: Run) -> Scored:
    """What the evaluation reads of a trained network."""

    def validation() -> Iterator[tuple[Scores, Any]]:
        return ((logits, truth) for logits, truth, _ in score_batches(network, prepared, config, "val"))

    planted = prepared.planted_scores
    return Scored(
        model=config.model_name,
        strategy=config.strategy,
        device=f"{count()} × " * (count() > 1) + device_name(device_of(config)),
        labels=prepared.corpus.label_names,
        train_counts=prepared.train_counts,
        num_train=prepared.num_train,
        validation=validation if "val" in prepared.arrays else None,
        test=(lambda: _tested(network, prepared, config, run)) if "test" in prepared.arrays else None,
        outside=prepared.outside("test") if "test" in prepared.arrays else None,
        hashes=prepared.hashes,
        counts={**prepared.corpus.counts, **skipped_steps(run.folder)},
        truncated=prepared.truncated,
        planted_scores={} if planted is None else planted.chosen,
        centred=None if planted is None else lambda tuned: centred(planted, tuned, config),
    )
