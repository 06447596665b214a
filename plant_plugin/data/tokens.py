"""From text to token ids: vocabularies are built, kept and read back, and splits encoded by them.

Shapes: N documents, V token types. Both vocabularies have ``size`` (V), ``pad_id``, ``special_ids``, ``hash()``,
``token(id)``, ``encode(texts, max_length)`` and ``save(folder)``; :func:`load_tokens` reads either back.
"""

from __future__ import annotations

import hashlib
import zlib
from importlib.metadata import version
from pathlib import Path

import numpy as np
from typing_extensions import Required, TypedDict

from plant_plugin.config import registry
from plant_plugin.config.sections import Settings
from plant_plugin.data.documents import Split
from plant_plugin.data.subword_tokens import TOKENIZER_FOLDER, SubwordTokens
from plant_plugin.data.token_arrays import WHOLE_DOCUMENT, TokenArrays
from plant_plugin.data.word_tokens import VOCABULARY_FILE, WordTokens
from plant_plugin.data.words import splitter_of
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.evaluation.arrays import cuts, mapped
from plant_plugin.files import atomic_folder, cache_folder, cached, read_json

CACHE_VERSION = 4  # counts up when encoding or the files' layout changes

Tokens = WordTokens | SubwordTokens


def build_tokens(settings: Settings, train: Split) -> Tokens:
    """Build or read the vocabulary that a configuration asks for.

    ``network_config: {lm_weight: …}`` names a tokenizer; otherwise the words are those of the folder that the network
    or its encoder names (:func:`.registry.vocabulary_folder`), or come from ``vocab_file``, or from the training texts
    (never from other splits) with ``min_vocab_freq``. Words from texts are kept in ``cache_dir``.
    The texts say what cuts them into words, see :mod:`.words`.
    """
    splitter = splitter_of(train.texts)
    lm_weight = settings.network_config.get("lm_weight")
    if lm_weight:
        return SubwordTokens(lm_weight, add_special_tokens=settings.add_special_tokens, splitter=splitter)
    if place := registry.vocabulary_folder(settings.model_name, settings.network_config):
        folder, argument, command = place
        if not Path(folder, VOCABULARY_FILE).is_file():
            fix = f"make it first: `plant {command}` with this configuration"
            raise ConfigError(f"there is no vocabulary in {folder}", where=f"network_config.{argument}", fix=fix)
        return load_tokens(folder)
    if settings.vocab_file:
        return WordTokens.from_file(settings.vocab_file, splitter)
    return cached(
        kept_at(settings, "words", version("nltk"), train.hash(), settings.min_vocab_freq, splitter),
        load_tokens,
        lambda: WordTokens.build(train.texts, settings.min_vocab_freq, splitter),
        lambda folder, tokens: tokens.save(folder),
        "The vocabulary is",
    )


def encode_cached(
    tokens: Tokens, split: Split, max_length: int | None, cache_dir: str | Path | None = None
) -> TokenArrays:
    """Encode a split, or map the arrays that an earlier run made from the same texts, vocabulary and length.

    Without ``max_length`` all tokens of a document are kept; without ``cache_dir`` the user's cache folder is taken.
    """
    rules = version("nltk"), version("tokenizers")  # another version may cut text otherwise
    return cached(
        _kept(cache_dir, "tokens", *rules, tokens.hash(), split.hash(), max_length),
        lambda folder: _read_arrays(folder, tokens.size),
        lambda: tokens.encode(split.texts, max_length or WHOLE_DOCUMENT),
        _write_arrays,
        "The token cache is",
    )


def kept_at(settings: Settings, kind: str, *depends_on: object) -> Path:
    """Return where a run keeps for others what depends on these and on nothing else."""
    return _kept(settings.cache_dir, kind, *depends_on)


def _kept(cache_dir: str | Path | None, kind: str, *depends_on: object) -> Path:
    key = "\n".join(map(str, (CACHE_VERSION, *depends_on)))
    return cache_folder(cache_dir) / kind / hashlib.sha256(key.encode()).hexdigest()


def _read_arrays(folder: Path, size: int) -> TokenArrays:
    """Map arrays of ids below ``size`` from the disk; a ``ValueError`` where they are not as written."""
    ids, offsets = mapped(folder / "ids.npy", np.int32, (None,)), mapped(folder / "offsets.npy", np.int64, (None,))
    unknown_only, truncated, *checksums = mapped(folder / "counts.npy", np.int64, (4,)).tolist()
    if checksums != [zlib.crc32(ids.data), zlib.crc32(offsets.data)]:
        raise ValueError("changed")
    if not cuts(offsets, len(ids)) or not 0 <= ids.min(initial=0) <= ids.max(initial=0) < size:
        raise ValueError("of another vocabulary")
    return TokenArrays(ids, offsets, unknown_only, truncated)


def _write_arrays(folder: Path, arrays: TokenArrays) -> None:
    counts = [arrays.unknown_only, arrays.truncated, zlib.crc32(arrays.ids.data), zlib.crc32(arrays.offsets.data)]
    with atomic_folder(folder) as temporary:
        np.save(temporary / "ids.npy", arrays.ids)
        np.save(temporary / "offsets.npy", arrays.offsets)
        np.save(temporary / "counts.npy", np.array(counts))


class KeptVocabulary(TypedDict, total=False):
    """``vocabulary.json``."""

    kind: Required[str]  # `word`, or `subword` beside the tokenizer's own files
    hash: Required[str]
    words: list[str]
    splitter: str
    add_special_tokens: bool


def load_tokens(folder: str | Path) -> Tokens:
    """Read what ``save`` wrote, without network and without pickle.

    Raises:
        CheckpointError: ``vocabulary.json`` or the tokenizer's files are missing, torn or of another vocabulary.
    """
    path = Path(folder) / VOCABULARY_FILE
    fix = "use the checkpoint folder of a finished run"
    try:
        content = read_json(path, KeptVocabulary, what="a vocabulary", fix=fix)
        expected, is_word, splitter = content["hash"], content["kind"] == "word", content.get("splitter")
        if (key := "words" if is_word else "add_special_tokens") not in content:
            raise CheckpointError(f"not a vocabulary: it holds no {key}", where=str(path), fix=fix)
        if is_word:
            tokens: Tokens = WordTokens(content["words"], splitter)
        else:
            tokenizer = path.parent / TOKENIZER_FOLDER
            special = content["add_special_tokens"]
            tokens = SubwordTokens(tokenizer, add_special_tokens=special, local_only=True, splitter=splitter)
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        what = f"the vocabulary cannot be read ({type(error).__name__})"
        raise CheckpointError(what, where=str(path), fix=fix) from error
    if tokens.hash() != expected:
        what = f"the vocabulary file was saved for {expected[:12]}, its content is {tokens.hash()[:12]}"
        raise CheckpointError(what, where=str(path), fix=fix)
    return tokens
