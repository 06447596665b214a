"""A network before its first step, a trained one read again for a test, and the model folder at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plant_plugin.config import Config
from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.data.label_names import names_beside
from plant_plugin.data.tokens import WordTokens, embedding_matrix
from plant_plugin.errors import CheckpointError
from plant_plugin.model.folder import load_weights, save_model
from plant_plugin.model.trained import load_model
from plant_plugin.networks.construct import construct
from plant_plugin.networks.no_network import NO_NETWORK
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.report.run import Run
from plant_plugin.training.prepare import Prepared, add_relevance, mark_phrases, prepare


def build_network(prepared: Prepared, config: Config, run: Run, *, planted: bool) -> PlantableNetwork:
    """The configured network with fresh weights, its relevance computed and planted where anything reads it."""
    name, options = network_of(config)
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
    if config.checkpoint_path:
        load_weights(model_folder(config), network, prepared.hashes)
    return network


def _vectors_file(config: Config) -> Path | None:
    """Where the word vectors lie, downloaded if need be; None: they are drawn at random."""
    if not config.embed_file or Path(config.embed_file).is_file():
        return Path(config.embed_file) if config.embed_file else None
    from plant_plugin.host.vocabulary import vectors_file  # imports LibMultiLabel, seconds

    return vectors_file(config.embed_file, config.embed_cache_dir)


def network_of(config: Config) -> tuple[str, dict[str, Any]]:
    """Name and options of the network that the strategy trains."""
    alone = config.strategy == PLANTED_SCORES
    return (NO_NETWORK, {}) if alone else (config.model_name, dict(config.network_config))


def model_folder(config: Config) -> Path:
    """The folder that ``checkpoint_path`` names, or a file in it names."""
    path = Path(config.checkpoint_path or config.resume or "")
    return path.parent if path.is_file() else path


def load(config: Config, run: Run) -> tuple[PlantableNetwork, Prepared, dict[str, float]]:
    """A trained model and the data to test it on, under the model's own labels and vocabulary."""
    folder = model_folder(config)
    name, given = network_of(config)
    model = load_model(folder, given.get("lm_weight"))
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
