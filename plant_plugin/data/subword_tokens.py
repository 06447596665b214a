"""The vocabulary of a Hugging Face tokenizer."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.data.word_tokens import write_vocabulary
from plant_plugin.errors import ConfigError
from plant_plugin.files import atomic_folder

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import BatchEncoding, PreTrainedTokenizerBase

TOKENIZER_FOLDER = "tokenizer"
SUBWORD_BATCH = 1024  # documents handed to the tokenizer at once: bounds memory


class SubwordTokens:
    """A Hugging Face tokenizer, by name, folder or file.

    A tokenizer without a padding token (Llama, Mistral) pads with its end-of-text token: batches carry a true mask,
    so the id itself never matters.

    Args:
        lm_weight: A preset, a GGUF file, or a name or folder that ``AutoTokenizer`` can load.
        add_special_tokens: Whether [CLS], [SEP], <s>, … are put around each text.
        local_only: Never ask the network.
        splitter: What cuts texts into words where words are wanted, see :mod:`.words`; tokens are never cut so.

    Raises:
        ConfigError: Nothing of that name can be loaded, or it has neither a padding nor an end-of-text token.
    """

    def __init__(
        self,
        lm_weight: str | Path,
        *,
        add_special_tokens: bool = True,
        local_only: bool = False,
        splitter: str | None = None,
    ) -> None:
        self.lm_weight, self.add_special_tokens, self.splitter = str(lm_weight), add_special_tokens, splitter
        from plant_plugin.networks.backbone.gguf import language_model  # imports torch, which words do without

        self.tokenizer = load_tokenizer(language_model(self.lm_weight), local_only)
        if self.tokenizer.pad_token_id is None:
            if self.tokenizer.eos_token_id is None:
                what = "the tokenizer has neither a padding nor an end-of-text token"
                fix = "set pad_token in its tokenizer_config.json"
                raise ConfigError(what, where=f"lm_weight: {self.lm_weight}", fix=fix)
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.tokenizer.padding_side = self.tokenizer.truncation_side = "right"
        self._hash = _tokenizer_hash(self.tokenizer, add_special_tokens)  # before any call changes its state

    @cached_property
    def size(self) -> int:
        """Return V, which is above all ids, those of added tokens too: a tokenizer may leave ids out."""
        return max(len(self.tokenizer), 1 + max(self.tokenizer.get_vocab().values()))

    @property
    def pad_id(self) -> int:
        """Return id of the padding token."""
        return int(self.tokenizer.pad_token_id)

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Return ids of padding, unknown and the other special tokens, ascending."""
        return tuple(sorted({self.pad_id, *map(int, self.tokenizer.all_special_ids)}))

    def hash(self) -> str:
        """Return SHA-256 (hex) over the tokenizer's definition and ``add_special_tokens``."""
        return self._hash

    def token(self, number: int) -> str:
        """Return the sub-word with this id, as the tokenizer spells it."""
        return str(self.tokenizer.convert_ids_to_tokens(int(number)))

    def encode(self, texts: Iterable[str], max_length: int) -> TokenArrays:
        """Return ids of each text, cut to ``max_length`` sub-words, special tokens included."""
        texts = list(texts)
        ids, lengths, truncated = array("i"), [], 0
        for start in range(0, len(texts), SUBWORD_BATCH):
            part = texts[start : start + SUBWORD_BATCH]
            encoded = self._cut(part, max_length)
            # A slow tokenizer, written in Python, does not say: a text that fills the length counts as cut.
            fast: Sequence[Encoding | None] = encoded.encodings or [None] * len(part)
            for text, row, cut in zip(part, encoded["input_ids"], fast, strict=True):
                ids.extend(row)
                lengths.append(len(row))
                truncated += len(row) >= max_length and (cut is None or _ends_before(text, cut))
        return TokenArrays.from_flat(ids, lengths, self.special_ids, truncated)

    def _cut(self, texts: str | list[str], max_length: int, **more: bool) -> BatchEncoding:
        return self.tokenizer(
            texts,
            add_special_tokens=self.add_special_tokens,
            truncation=True,
            max_length=max_length,
            return_attention_mask=False,
            return_token_type_ids=False,
            **more,
        )

    def spans(self, text: str, max_length: int) -> list[tuple[int, int]]:
        """Return where each token of :meth:`encode` begins and ends, in characters; (0, 0): special tokens.

        Raises:
            ConfigError: The tokenizer knows no places (it is one of the slow ones, written in Python).
        """
        try:
            encoded = self._cut(text, max_length, return_offsets_mapping=True)
        except NotImplementedError as error:
            what = "the tokenizer does not know the places of its tokens in the text"
            fix = "train with a model that has a fast tokenizer (tokenizer.json)"
            raise ConfigError(what, where=f"lm_weight: {self.lm_weight}", fix=fix) from error
        return list(encoded["offset_mapping"])

    def save(self, folder: str | Path) -> None:
        """Write the tokenizer's files into ``folder/tokenizer``, then ``vocabulary.json`` with their hash."""
        folder = Path(folder)
        with atomic_folder(folder / TOKENIZER_FOLDER) as temporary:
            self.tokenizer.save_pretrained(str(temporary))
        content = {"kind": "subword", "hash": self.hash(), "add_special_tokens": self.add_special_tokens}
        write_vocabulary(folder, content, self.splitter)


def load_tokenizer(lm_weight: str, local_only: bool = False) -> PreTrainedTokenizerBase:
    """Load a tokenizer by the name, folder or file of its language model; a ConfigError where there is none."""
    from transformers import AutoTokenizer  # slow to import

    try:
        return AutoTokenizer.from_pretrained(
            lm_weight, use_fast=True, local_files_only=local_only, trust_remote_code=False
        )
    except Exception as error:  # transformers and the hub raise errors of a dozen kinds here
        what = f"no tokenizer could be loaded from it ({type(error).__name__})"
        fix = "give the folder of a saved Hugging Face model, a GGUF file, or a name that this machine can download"
        raise ConfigError(what, where=f"lm_weight: {lm_weight}", fix=fix) from error


def _ends_before(text: str, cut: Encoding) -> bool:
    """Tell whether tokens end before their text does; `Encoding.overflowing` is empty in some versions."""
    return max(end for _, end in cut.offsets) < len(text.rstrip())


def _tokenizer_hash(tokenizer: PreTrainedTokenizerBase, add_special_tokens: bool) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        definition: dict[str, object] = dict(tokenizer.get_vocab())
    else:
        definition = json.loads(backend.to_str())
        for state in ("truncation", "padding"):  # left over from the last call
            definition.pop(state, None)
    special = {name: str(value) for name, value in tokenizer.special_tokens_map.items()}
    content = json.dumps([definition, special, add_special_tokens], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
