"""Made-up documents, features, word vectors and a tiny language model for the tests of the seam."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABELS, WORDS, DIMENSIONS = 12, 80, 8
RNN = {"embed_dropout": 0.1, "rnn_dim": 8}
CNN = {"embed_dropout": 0.1, "filter_sizes": [2], "num_filter_per_size": 8}


def write_documents(path: Path, size: int, *, labels: int = LABELS, words: int = WORDS, seed: int = 0) -> None:
    """Lines of LibMultiLabel's format whose words hint at their labels; the first documents cover every label."""
    draw = random.Random(seed)
    lines = []
    for number in range(size):
        chosen = sorted({number % labels, *draw.choices(range(labels), k=draw.randint(1, 3))})
        text = [f"word{(label * 5 + draw.randrange(5)) % words}x" for label in chosen for _ in range(4)]
        text += [f"word{draw.randrange(words)}x" for _ in range(draw.randint(3, 15))]
        lines.append(f"{' '.join(f'label{label}' for label in chosen)}\t{' '.join(text)}\n")
    path.write_text("".join(lines))


def write_vectors(path: Path, *, words: int = WORDS, dimensions: int = DIMENSIONS) -> None:
    draw = random.Random(5)
    path.write_text(
        "".join(
            f"word{word}x {' '.join(f'{draw.gauss(0, 1):.3f}' for _ in range(dimensions))}\n" for word in range(words)
        )
    )


def write_features(path: Path, size: int, *, seed: int = 0) -> None:
    """LibSVM's multi-label format."""
    draw = random.Random(seed)
    lines = []
    for number in range(size):
        labels = sorted({number % LABELS, draw.randrange(LABELS)})
        features = sorted({*(label + 1 for label in labels), *(draw.randint(1, 30) for _ in range(4))})
        lines.append(
            f"{','.join(map(str, labels))} {' '.join(f'{feature}:{draw.random():.3f}' for feature in features)}\n"
        )
    path.write_text("".join(lines))


def write_language_model(folder: Path, *, words: int = WORDS, positions: int = 512) -> None:
    from transformers import BertConfig, BertModel, BertTokenizerFast

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{word}x" for word in range(words))]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 8, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(vocabulary), max_position_embeddings=positions, **sizes)).save_pretrained(
        folder
    )


@dataclass
class Outcome:
    """What a run left behind."""

    result: dict[str, Any]
    folder: Path
    predictions: Path

    @property
    def logs(self) -> dict[str, Any]:
        return json.loads((self.folder / "logs.json").read_text())
