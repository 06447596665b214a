"""Tiny random language models of the families that the paper's backbones belong to, on disk."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

FAMILIES = ("mistral", "llama", "phi3", "bert")
WORDS = 120


def write_language_model(family: str, folder: Path, *, positions: int = 64, seed: int = 0) -> str:
    """A random model of two layers; decoders have two heads of keys for four of queries (but for Phi-3)."""
    import torch
    from transformers import AutoConfig, AutoModel

    kind = {} if family == "bert" else {"num_key_value_heads": 4 if family == "phi3" else 2, "pad_token_id": None}
    config = AutoConfig.for_model(
        family, vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=positions, bos_token_id=1, eos_token_id=2, **kind,
    )  # fmt: skip
    torch.manual_seed(seed)
    AutoModel.from_config(config).save_pretrained(folder)
    return str(folder)


def write_tokenizer(texts: Iterable[Path], folder: Path, *, padding: bool = False) -> None:
    """A tokenizer of sub-words, with a padding token or, as of Llama and Mistral, without."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["<unk>", "<s>", "</s>", *(["<pad>"] if padding else [])]
    tokenizer.train([str(path) for path in texts], trainers.WordPieceTrainer(vocab_size=WORDS, special_tokens=special))
    given = {"pad_token": "<pad>"} if padding else {}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>", **given
    ).save_pretrained(folder)
