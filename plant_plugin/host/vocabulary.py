"""Words with their vectors (GloVe by name), and the label set, as LibMultiLabel builds them."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

import torch
from libmultilabel.common_utils import AttributeDict
from libmultilabel.nn import data_utils

from plant_plugin.errors import CheckpointError, DataError, PlantError
from plant_plugin.evaluation.names import check_ranks
from plant_plugin.host.checks import reading_pickle

logger = logging.getLogger(__name__)

WORD_DICT = "word_dict.pickle"  # LibMultiLabel's name, beside its checkpoints


class Document(TypedDict):
    """A document as LibMultiLabel's networks read it."""

    text: str | list[str]  # words, unless a tokenizer takes the whole
    label: list[str]


def vectors_file(embed_file: str, cache_dir: str | Path | None = None) -> Path:
    """Return the file of word vectors that ``embed_file`` names: itself, or a GloVe release, downloaded once.

    Raises:
        DataError: Neither a file nor one of LibMultiLabel's six names, e.g. ``glove.6B.100d``.
        PlantError: The download failed or was cut short; nothing of it is left.
    """
    if embed_file not in data_utils.GLOVE_WORD_EMBEDDING:
        if Path(embed_file).is_file():
            return Path(embed_file)
        what, fix = "no such file, and not a name of GloVe vectors", "make one with: plant embeddings TRAIN --out FILE"
        raise DataError(what, where=f"embed_file: {embed_file}", fix=fix)
    folder = Path(cache_dir or ".vector_cache")
    file = folder / f"{embed_file}.txt"
    if file.is_file():
        return file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as temporary:
            data_utils._download_glove_embedding(embed_file, cache_dir=temporary)
            for whole in Path(temporary).glob("*.txt"):  # a release may hold several sizes
                whole.replace(folder / whole.name)
    except Exception as error:
        # LibMultiLabel's clean-up names a variable that is not yet set when the download itself fails.
        cause = error.__context__ if isinstance(error, UnboundLocalError) and error.__context__ else error
        what = f"the vectors {embed_file} could not be downloaded ({type(cause).__name__}: {cause})"
        fix = f"put {file.name} into {folder}, or train vectors on your own text: plant embeddings TRAIN --out FILE"
        raise PlantError(what, where="embed_file", fix=fix) from cause
    return file


def read_word_vectors(
    settings: AttributeDict, documents: list[Document]
) -> tuple[dict[str, int] | None, torch.Tensor | None]:
    """Read words and vectors float32 (V, dim), if there is an ``embed_file``; the run folder keeps the words."""
    if settings.embed_file is None:
        return None, None
    vectors_file(settings.embed_file, settings.embed_cache_dir)  # it is there, or comes
    word_dict, embed_vecs = data_utils.load_or_build_text_dict(
        dataset=documents,
        vocab_file=settings.vocab_file,
        min_vocab_freq=settings.min_vocab_freq,
        embed_file=settings.embed_file,
        silent=settings.silent,
        normalize_embed=settings.normalize_embed,
        embed_cache_dir=settings.embed_cache_dir,
    )
    Path(settings.checkpoint_dir, WORD_DICT).write_bytes(pickle.dumps(word_dict))
    return word_dict, embed_vecs


def read_labels(settings: AttributeDict, datasets: dict[str, list[Document]]) -> list[str]:
    """Read the label set, large enough for all metrics; those that stop and choose join the monitored ones."""
    labels: list[str] = data_utils.load_or_build_label(datasets, settings.label_file, settings.include_test_labels)
    for key in ("early_stopping_metric", "val_metric"):
        if settings[key] not in settings.monitor_metrics:
            logger.warning("%s is not among monitor_metrics and is added to them", settings[key])
            settings.monitor_metrics = [*settings.monitor_metrics, settings[key]]
    metrics = dict.fromkeys(settings.monitor_metrics, "monitor_metrics")
    check_ranks(metrics, settings.save_k_predictions, len(labels), most=len(labels) - 1)
    return labels


def saved_words(folder: Path, keep_in: Path | None = None) -> dict[str, int]:
    """Read the vocabulary beside a checkpoint; ``keep_in`` gets a copy, unless it has one."""
    path = folder / WORD_DICT
    if not path.is_file():
        fix = "keep the checkpoint in the folder of the run that made it"
        raise CheckpointError(f"{WORD_DICT}, the vocabulary of the checkpoint, is missing", where=str(folder), fix=fix)
    content = path.read_bytes()
    if keep_in is not None and not (keep_in / WORD_DICT).exists():
        (keep_in / WORD_DICT).write_bytes(content)
    with reading_pickle("a vocabulary of LibMultiLabel", path, "keep the file of the run that made the checkpoint"):
        return dict(pickle.loads(content))
