"""A model without the rare words and phrases of its training documents, which may name a patient.

What is left of a vocabulary, of terms and of phrases is in so many training documents at least. The network's weights
stay, but for the vectors of words that are gone: a public vector beside them could reveal the word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from plant_plugin.data.word_tokens import WordTokens, documents_with_words
from plant_plugin.errors import ConfigError, PlantError
from plant_plugin.files import atomic_folder, write_json
from plant_plugin.model.folder import write_tensors
from plant_plugin.model.manifest import CONFIG, MODEL, RELEVANCE, copy_files, model_files, write_manifest
from plant_plugin.model.trained import TrainedModel, load_model
from plant_plugin.networks.trained_state import trained_state
from plant_plugin.relevance.mutual_information import Relevance
from plant_plugin.relevance.names.rare import save_open, without_rare
from plant_plugin.relevance.phrases import FREQUENT


@dataclass(frozen=True)
class Removed:
    """Counts of what was removed."""

    words: int
    terms: int
    phrases: int


def strip_model(
    folder: Path, out: Path, texts: Sequence[str], least: int, *, trust_code: bool = False, check: bool = True
) -> Removed:
    """Write a copy of a run folder's model without what fewer than ``least`` of its training texts hold.

    It works where the run folder does, for new texts. A text that holds nothing of what is gone gets the same scores,
    to the last bit; in another one a removed word is an unknown one, and a removed term or phrase is not there.
    ``trust_code`` and ``check`` are as in :func:`.load_model`.

    Raises:
        CheckpointError: ``folder`` holds no model of ours.
        ConfigError: ``least`` is so high that words would count as rare and as too frequent at once.
        PlantError: ``out`` is there already, or cannot be written.
    """
    if not 2 <= least <= FREQUENT * len(texts):
        fix = f"choose 2 to {int(FREQUENT * len(texts)):,}, which is {FREQUENT:.0%} of the {len(texts):,} documents"
        raise ConfigError(f"{least} is no number of documents to be rare by", where="--min-documents", fix=fix)
    if out.exists():
        raise PlantError("it is there already", where=str(out), fix="name a new folder")
    model = load_model(folder, trust_code=trust_code, check=check)
    rare = _rare_words(model, texts, least)
    planted = model.planted_scores and model.planted_scores.without_rare(texts, least)
    stripped = replace(model, planted_scores=planted, open_labels=without_rare(model.open_labels, texts, least))
    if isinstance(model.tokens, WordTokens):
        stripped = replace(stripped, tokens=model.tokens.without(rare))
    with torch.no_grad():
        for table in model.network.word_tables():
            table[rare] = 0
    with atomic_folder(out) as partial:
        _write(stripped, folder, partial, rare)
    (terms, phrases), (terms_left, phrases_left) = _counts(model), _counts(stripped)
    return Removed(len(rare), terms - terms_left, phrases - phrases_left)


def _rare_words(model: TrainedModel, texts: Sequence[str], least: int) -> list[int]:
    """List ids of rare words; none of sub-words, which the language model had before it saw the texts."""
    if not isinstance(model.tokens, WordTokens):
        return []
    held, special = documents_with_words(texts, model.tokens.splitter), model.tokens.special_ids
    return [number for number, word in enumerate(model.tokens.words) if number not in special and held[word] < least]


def _write(model: TrainedModel, source: Path, folder: Path, rare: list[int]) -> None:
    hashes = {**model.content["hashes"], "vocabulary": model.tokens.hash()}
    copy_files(source, folder, model_files(source))
    if (folder / RELEVANCE).is_file():
        relevance = Relevance.load(folder / RELEVANCE)
        relevance.matrix.data[np.isin(relevance.matrix.indices, rare)] = 0
        relevance.matrix.eliminate_zeros()
        relevance.save(folder / RELEVANCE, **{name: hashes[name] for name in ("labels", "vocabulary")})
    if model.planted_scores is not None:
        model.planted_scores.save(folder, hashes["labels"])
    save_open(model.open_labels, folder)
    model.tokens.save(folder)
    write_json(folder / CONFIG, {**model.content, "hashes": hashes})
    write_tensors(folder / MODEL, trained_state(model.network))
    write_manifest(folder)


def _counts(model: TrainedModel) -> tuple[int, int]:
    """Count terms, those of sentences too, and phrases."""
    planted = model.planted_scores
    if planted is None:
        return 0, 0
    of_sentences = [] if planted.sentences is None else planted.sentences.model.terms
    return len(planted.linear.terms) + len(of_sentences), len(planted.phrases or ())
