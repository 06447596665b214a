"""Tiny random language models of the families that the paper's backbones belong to, on disk."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest

FAMILIES = ("mistral", "llama", "phi3", "bert")
WORDS = 120
END = "<|endoftext|>"  # a name that every byte-level tokenizer of transformers has, so that it adds none


def skip_without(*packages: str) -> None:
    """Skip a module of tests that needs the extra `llm`, without its import: that takes every worker seconds."""
    if not all(map(find_spec, packages)):
        pytest.skip("needs the extra llm", allow_module_level=True)


def write_language_model(family: str, folder: Path, *, positions: int = 64, seed: int = 0, words: int = WORDS) -> str:
    """A random model of two layers; decoders have two heads of keys for four of queries (but for Phi-3)."""
    import torch
    from transformers import AutoConfig, AutoModel

    kind = {} if family == "bert" else {"num_key_value_heads": 4 if family == "phi3" else 2, "pad_token_id": None}
    config = AutoConfig.for_model(
        family, vocab_size=words, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
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


def write_gguf(folder: Path, texts: Iterable[Path], path: Path, *, quantized: bool = False, lacks: str = "-") -> str:
    """A Llama of :func:`write_language_model` and byte-level sub-words of texts as llama.cpp's programs write them.

    ``quantized``: blocks of 8 bits in the place of float32. ``lacks``: a part of the names of weights to leave out.
    """
    import gguf
    import numpy as np
    from tokenizers import ByteLevelBPETokenizer
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder)
    config, kinds = model.config, gguf.GGMLQuantizationType
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train([str(text) for text in texts], vocab_size=config.vocab_size, special_tokens=[END, "<s>", "</s>"])
    names = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    assert len(names) == config.vocab_size
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(names)
    writer.add_token_types([gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (len(names) - 3))
    tokenizer.save_model(str(path.parent))
    writer.add_token_merges((path.parent / "merges.txt").read_text().splitlines()[1:])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    known = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    heads_of = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, weight in model.state_dict().items():
        if lacks in name:
            continue
        values = weight.numpy()
        if heads := heads_of.get(name.split(".")[-2]):
            halves = values.reshape(heads, 2, -1, values.shape[1])  # llama.cpp turns neighbours, transformers halves
            values = halves.swapaxes(1, 2).reshape(values.shape)
        kind = kinds.Q8_0 if quantized and values.ndim == 2 else kinds.F32
        name = known.get_name(f"model.{name.removesuffix('.weight')}") + ".weight"
        writer.add_tensor(name, gguf.quantize(np.ascontiguousarray(values), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return str(path)
