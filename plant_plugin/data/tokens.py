"""From text to token ids: everything the rest of the package needs, under one name.

Shapes: N documents, V token types. Both vocabularies have ``size`` (V), ``pad_id``, ``special_ids``, ``hash()``,
``token(id)``, ``encode(texts, max_length)`` and ``save(folder)``; :func:`load_tokens` reads either back.
"""

from __future__ import annotations

import hashlib
import json
import logging
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from plant_plugin.data.cache import cache_folder
from plant_plugin.data.documents import Split
from plant_plugin.data.subword_tokens import TOKENIZER_FOLDER, SubwordTokens
from plant_plugin.data.token_arrays import CACHE_VERSION, TokenArrays, encode_cached
from plant_plugin.data.word_tokens import VOCABULARY_FILE, WordTokens, words_of
from plant_plugin.data.word_vectors import embedding_matrix
from plant_plugin.errors import CheckpointError, ConfigError, PlantError

if TYPE_CHECKING:
    from plant_plugin.config import Config

__all__ = [
    "SubwordTokens",
    "TokenArrays",
    "Tokens",
    "WordTokens",
    "build_tokens",
    "embedding_matrix",
    "encode_cached",
    "load_tokens",
    "words_of",
]

logger = logging.getLogger(__name__)

Tokens = WordTokens | SubwordTokens


def build_tokens(config: Config, train: Split) -> Tokens:
    """The vocabulary that a configuration asks for.

    ``network_config: {lm_weight: …}`` names a tokenizer; otherwise the words come from ``vocab_file``, or from the
    training texts (never from other splits) with ``min_vocab_freq``. Words from texts are kept in ``cache_dir``.
    """
    lm_weight = config.network_config.get("lm_weight")
    if lm_weight:
        trusted = bool(config.network_config.get("trust_remote_code"))
        return SubwordTokens(lm_weight, add_special_tokens=config.add_special_tokens, trust_remote_code=trusted)
    if config.vocab_file:
        return WordTokens.from_file(config.vocab_file)
    return _words_cached(train, config.min_vocab_freq, config.cache_dir)


def _words_cached(train: Split, min_vocab_freq: int, cache_dir: str | Path | None) -> WordTokens:
    """Build the words, or read those that an earlier run built from the same texts.

    A torn file is made again; a cache folder that cannot be written only costs a warning.
    """
    key = "\n".join([str(CACHE_VERSION), version("nltk"), train.hash(), str(min_vocab_freq)])
    folder = cache_folder(cache_dir) / "words" / hashlib.sha256(key.encode()).hexdigest()
    try:
        kept = load_tokens(folder) if folder.is_dir() else None
    except CheckpointError:
        logger.warning("The kept vocabulary %s is damaged and made again.", folder.name)
        kept = None
    if isinstance(kept, WordTokens):
        return kept
    tokens = WordTokens.build(train.texts, min_vocab_freq)
    try:
        tokens.save(folder)
    except PlantError as error:
        logger.warning("The vocabulary is not kept: %s", error)
    return tokens


def load_tokens(folder: str | Path) -> Tokens:
    """Read what ``save`` wrote, without network and without pickle.

    Raises:
        CheckpointError: ``vocabulary.json`` or the tokenizer's files are missing, torn or of another vocabulary.
    """
    path = Path(folder) / VOCABULARY_FILE
    fix = "use the checkpoint folder of a finished run"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind, expected = content["kind"], content["hash"]
        if kind == "word":
            tokens: Tokens = WordTokens(content["words"])
        else:
            tokenizer = path.parent / TOKENIZER_FOLDER
            tokens = SubwordTokens(tokenizer, add_special_tokens=content["add_special_tokens"], local_only=True)
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        what = f"the vocabulary cannot be read ({type(error).__name__})"
        raise CheckpointError(what, where=str(path), fix=fix) from error
    if tokens.hash() != expected:
        what = f"the vocabulary file was saved for {expected[:12]}, its content is {tokens.hash()[:12]}"
        raise CheckpointError(what, where=str(path), fix=fix)
    return tokens
