"""A network before its first step, a trained one read again for a test, and the model folder at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from plant_plugin.config.options import AUTO, PLANTED_SCORES
from plant_plugin.config.sections import Settings
from plant_plugin.config.values import Keys
from plant_plugin.data.names_beside import names_for_model
from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.errors import CheckpointError
from plant_plugin.model.folder import load_weights, read_content, save_model
from plant_plugin.model.trained import load_model
from plant_plugin.networks.backbone.loading import made_on
from plant_plugin.networks.construct import construct, word_width
from plant_plugin.networks.no_network import NO_NETWORK
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.relevance.mutual_information import Relevance
from plant_plugin.report.record import Further
from plant_plugin.report.run import Run
from plant_plugin.training.devices import device_of, first_before_others
from plant_plugin.training.further import folder_before, load_grown
from plant_plugin.training.inputs import Encoded, Inputs, Shortlists, mark_tokens, planted_relevance, prepare
from plant_plugin.training.open_labels import OpenScoring
from plant_plugin.training.scoring import Scoring
from plant_plugin.training.shortlist import shortlists_of
from plant_plugin.training.word_vectors import word_vectors


@first_before_others()
def build_network(documents: Encoded, settings: Settings, run: Run, further: Further | None = None) -> PlantableNetwork:
    """Build the configured network with fresh weights, or with those of a language model or a trained model."""
    name, options = _network_of(settings)
    vectors = None
    if isinstance(documents.tokens, WordTokens):
        starts = settings.checkpoint_path is None and further is None
        vectors = word_vectors(
            documents, documents.tokens, settings, word_width(name, options), run, trained=not starts
        )
    with made_on(device_of(settings)):
        network = construct(name, documents.num_labels, vectors, options)
    network.start(documents.hashes["vocabulary"])
    if settings.checkpoint_path:
        load_weights(_folder_of(settings.checkpoint_path), network, documents.hashes)
    if further is not None:
        load_grown(folder_before(further, settings), network, documents)
    return network


@first_before_others()
def plant_relevance(
    network: PlantableNetwork, documents: Encoded, settings: Settings, run: Run, *, planted: bool
) -> Relevance | None:
    """Plant the relevance of words in a network that is ``planted`` by stage 1 or has a prior; None in all others."""
    if not (planted or network.has_prior):
        return None
    relevance = planted_relevance(documents, settings.relevance, run)
    network.plant_relevance(relevance.matrix)
    return relevance


def _network_of(settings: Settings) -> tuple[str, Keys]:
    """Return name and options of the network that the strategy trains."""
    if settings.strategy == PLANTED_SCORES:
        return NO_NETWORK, {}
    return settings.model_name, dict(settings.network_config)


def _folder_of(named: str) -> Path:
    """Return the folder of a model, of which the folder or a file in it is named."""
    path = Path(named)
    return path.parent if path.is_file() else path


@first_before_others()
def load(settings: Settings, run: Run) -> tuple[Scoring, dict[str, float]]:
    """Read a trained network with the documents to test under its own labels and words, and its thresholds.

    Raises:
        CheckpointError: The folder is no model, or of another network than the configuration names.
    """
    folder = _folder_of(settings.checkpoint_path or settings.resume or "")
    content, what = read_content(folder, trust_code=True), ""  # imports nothing
    if settings.strategy == AUTO and content["model_name"] == NO_NETWORK:
        settings = replace(settings, strategy=PLANTED_SCORES)
    name, options = _network_of(settings)
    lm_weight = options.get("lm_weight")
    trained = content["network_config"]
    if options and content["base"]:  # its weights are compared, wherever they lie
        options["lm_weight"] = trained["lm_weight"]
    if name != content["model_name"]:
        what = f"it holds {content['model_name']}, the configuration names {name}"
    elif options and options != trained:
        what = "it was trained with another network_config than the configuration names"
    if what:
        raise CheckpointError(what, where=str(folder), fix="use the configuration of the training run")
    with made_on(device_of(settings)):
        model = load_model(folder, lm_weight, trust_code=":" in name)  # the configuration names it too
    documents, planted = prepare(settings, run, model.tokens, model.labels), model.planted_scores
    marks = mark_tokens(documents, model.phrases, content["phrase_prior"], run, trains=False)
    size = content["shortlist"]
    shortlists = Shortlists() if size is None or planted is None else shortlists_of(planted, documents, size)
    if (planted is not None) != (settings.planted_scores.model != "none"):
        has = "" if planted is not None else "no "
        run.log(f"the model has {has}planted scores, whatever the configuration says")
    inputs = Inputs(documents, marks=marks, shortlists=shortlists)
    scoring = Scoring(model.network, inputs, planted, settings, run, log_odds=model.log_odds)
    return OpenScoring.of(scoring, model.open_labels), model.thresholds


def save(scoring: Scoring, thresholds: Mapping[str, float]) -> None:
    """Write the model folder, with the names of labels where there are any."""
    inputs, settings = scoring.inputs, scoring.settings
    documents = inputs.documents
    save_model(
        scoring.run.folder,
        scoring.network,
        documents.tokens,
        documents.corpus.label_names,
        thresholds,
        hashes={**documents.hashes, "config": scoring.run.config_hash},
        max_seq_length=settings.max_seq_length,
        log_odds=scoring.log_odds,
        planted_scores=scoring.planted,
        phrase_prior=settings.evidence.prior if inputs.marks else 0,
        shortlist=inputs.shortlists.length,
        names=names_for_model(settings, documents.corpus.label_names),
    )
