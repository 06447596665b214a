"""Checks around LibMultiLabel's calls: nothing is dropped silently, and its hidden errors are said aloud."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from libmultilabel.common_utils import AttributeDict
from libmultilabel.nn.model import Model
from transformers import PreTrainedTokenizerBase

from plant_plugin.config import Config
from plant_plugin.config.options import EvidenceOptions
from plant_plugin.config.sections import Settings
from plant_plugin.data.documents import Corpus, load_corpus
from plant_plugin.data.subword_tokens import load_tokenizer
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.evaluation.said import counted
from plant_plugin.files import cache_folder, write_text
from plant_plugin.networks.backbone.gguf import language_model

logger = logging.getLogger(__name__)


def read_checked(settings: AttributeDict, **changes: object) -> Corpus:
    """Read all splits with this package's reader, which counts what LibMultiLabel's drops; marks no setting as used."""
    no_evidence = {"evidence": EvidenceOptions()}  # which none of LibMultiLabel's models reads
    return load_corpus(cast(Settings, SimpleNamespace(**{**settings, **no_evidence, **changes})))


def cached_text(content: str, config: Config) -> Path:
    """Return the file of a text in the cache folder, which is written where it is not there."""
    target = cache_folder(config.cache_dir) / "read" / f"{hashlib.sha256(content.encode()).hexdigest()}.txt"
    if not target.is_file():
        write_text(target, content)
    return target


def warn_changed_labels(corpus: Corpus, as_read: Iterable[Iterable[str]]) -> None:
    """Say so when LibMultiLabel's reader renamed training labels: pandas takes a label ``038.9`` for a number, 38.9."""
    written = {label for split in (corpus.train, corpus.val) if split for names in split.labels for label in names}
    changed = {label for names in as_read for label in names} - written
    if changed:
        logger.warning(
            "%d training labels read as numbers or missing values by LibMultiLabel have other names than in the file; "
            "put a letter in front of every label to keep them apart",
            len(changed),
        )


def check_labels(corpus: Corpus, labels: list[str], checkpoint_path: str, *, training: bool) -> None:
    """Refuse a checkpoint whose label set is not that of the data.

    Further training needs a column for every training label; a test needs at least one label in common (LibMultiLabel
    leaves the others out of the truth, and ``result.json`` counts them).
    """
    known = set(labels)
    if training:
        missing = set(corpus.label_names) - known
        if missing:
            have = f"{len(missing)} of the {len(corpus.label_names)} labels of the data"
            what = f"the checkpoint has {counted(len(known), 'label')} and lacks {have}"
            fix = "train from scratch, or give the data that the checkpoint was made with"
            raise CheckpointError(what, where=checkpoint_path, fix=fix)
    elif corpus.test is not None:
        tested = {label for names in corpus.test.labels for label in names}
        if tested and not tested & known:
            what = f"no label of the test file ({len(tested)}) is among those of the checkpoint ({len(known)})"
            raise CheckpointError(what, where=checkpoint_path, fix="give the test file that belongs to the checkpoint")


@contextlib.contextmanager
def explained(model_name: str) -> Iterator[None]:
    """Turn LibMultiLabel's ``Failed to initialize`` into a ``ConfigError`` with the cause that it hides."""
    try:
        yield
    except AttributeError as error:
        if "Failed to initialize" not in str(error):
            raise
        cause = error.__cause__ or error.__context__ or error
        what = f"{model_name} cannot be built ({type(cause).__name__}: {cause})"
        fix = "compare network_config with the network's own arguments: plant list"
        raise ConfigError(what, where="network_config", fix=fix) from cause


@contextlib.contextmanager
def reading_pickle(what: str, path: str | Path, fix: str, *, in_full: bool = False) -> Iterator[None]:
    """Raise a ``CheckpointError`` in the place of what a damaged pickle raises, which is whatever its bytes say.

    The error repeats the message ``in_full`` only where the file holds no words of documents.
    """
    try:
        yield
    except Exception as error:
        cause = f"{type(error).__name__}: {error}" if in_full else type(error).__name__
        raise CheckpointError(f"not {what} ({cause})", where=str(path), fix=fix) from error


def load_checkpoint(kind: type[Model], path: str | Path, **options: str | int) -> Model:
    """Load a Lightning checkpoint of LibMultiLabel; it is a pickle, which the caller trusts."""
    fix = "give best_model.ckpt or last.ckpt of a run with the same LibMultiLabel"
    with reading_pickle("a checkpoint of LibMultiLabel that can be loaded", path, fix, in_full=True):
        return kind.load_from_checkpoint(path, weights_only=False, **options)


def padding_tokenizer(lm_weight: str) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a language model, which has a padding token."""
    tokenizer = load_tokenizer(language_model(lm_weight))
    if tokenizer.pad_token is None:
        what = "its tokenizer has no padding token, which LibMultiLabel's batches need"
        fix = "use model_name PLANT, which pads such models itself, or another language model"
        raise ConfigError(what, where=f"lm_weight: {lm_weight}", fix=fix)
    return tokenizer
