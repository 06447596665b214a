"""Words with their vectors, and the label set, as LibMultiLabel builds them."""

from __future__ import annotations

import logging
import os
import pickle
from pathlib import Path
from typing import Any

import torch
from libmultilabel.common_utils import AttributeDict
from libmultilabel.nn import data_utils

from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.evaluation.names import check_ranks
from plant_plugin.host.glove import ensure_glove, is_glove_name

logger = logging.getLogger(__name__)

WORD_DICT = "word_dict.pickle"  # LibMultiLabel's name, beside its checkpoints


def read_word_vectors(
    settings: AttributeDict, documents: list[dict[str, Any]]
) -> tuple[dict[str, int] | None, torch.Tensor | None]:
    """Words and their vectors float32 (V, dim), when there is an ``embed_file``; the words are kept in the run folder.

    Raises:
        ConfigError: There is no such file.
        PlantError: GloVe vectors could not be downloaded.
    """
    if settings.embed_file is None:
        return None, None
    if is_glove_name(settings.embed_file):
        ensure_glove(settings.embed_file, Path(settings.embed_cache_dir or ".vector_cache"))
    elif not Path(settings.embed_file).is_file():
        raise ConfigError("no such file", where=f"embed_file: {settings.embed_file}", fix="check the path")
    word_dict, embed_vecs = data_utils.load_or_build_text_dict(
        dataset=documents,
        vocab_file=settings.vocab_file,
        min_vocab_freq=settings.min_vocab_freq,
        embed_file=settings.embed_file,
        silent=settings.silent,
        normalize_embed=settings.normalize_embed,
        embed_cache_dir=settings.embed_cache_dir,
    )
    with open(os.path.join(settings.checkpoint_dir, WORD_DICT), "wb") as stream:
        pickle.dump(word_dict, stream)
    return word_dict, embed_vecs


def read_labels(settings: AttributeDict, datasets: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The label set; the metrics that stop and choose join the monitored ones.

    Raises:
        ConfigError: A monitored metric needs more labels than there are.
    """
    labels: list[str] = data_utils.load_or_build_label(datasets, settings.label_file, settings.include_test_labels)
    for key in ("early_stopping_metric", "val_metric"):
        if settings[key] not in settings.monitor_metrics:
            logger.warning("%s is not among monitor_metrics and is added to them", settings[key])
            settings.monitor_metrics = [*settings.monitor_metrics, settings[key]]
    asked = dict.fromkeys(settings.monitor_metrics, "monitor_metrics")
    check_ranks(asked, settings.save_k_predictions, len(labels), most=len(labels) - 1)
    return labels


def saved_words(folder: Path, keep_in: Path | None = None) -> dict[str, int]:
    """The vocabulary beside a checkpoint.

    Args:
        folder: The checkpoint's folder.
        keep_in: Another run's folder that gets a copy, unless it has a vocabulary.

    Raises:
        CheckpointError: There is none.
    """
    path = folder / WORD_DICT
    if not path.is_file():
        fix = "keep the checkpoint in the folder of the run that made it"
        raise CheckpointError(f"{WORD_DICT}, the vocabulary of the checkpoint, is missing", where=str(folder), fix=fix)
    if keep_in is not None and not (keep_in / WORD_DICT).exists():
        (keep_in / WORD_DICT).write_bytes(path.read_bytes())
    with open(path, "rb") as stream:
        words: dict[str, int] = pickle.load(stream)
    return words
