"""A made-up task that a label attention network learns in seconds: each label has its own words."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plant_plugin.config import Config, load_config
from plant_plugin.data.evidence import write_evidence
from plant_plugin.data.tables import read_any
from plant_plugin.data.text import DocumentEvidence

LABELS = 12


def write_split(path: Path, documents: int, seed: int) -> None:
    path.write_text(_split(documents, seed))


@functools.cache
def _split(documents: int, seed: int) -> str:
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(documents):
        labels = random.choice(LABELS, size=random.integers(1, 4), replace=False)
        words = [f"filler{random.integers(30)}" for _ in range(20)]
        words += [f"sign{label}x" for label in labels for _ in range(2)]
        lines.append(" ".join(f"L{label}" for label in labels) + "\t" + " ".join(random.permutation(words)) + "\n")
    return "".join(lines)


def write_splits(folder: Path) -> None:
    for name, documents, seed in (("train", 120, 1), ("valid", 30, 2), ("test", 40, 3)):
        write_split(folder / f"{name}.txt", documents, seed)


def made_config(folder: Path, **changes: Any) -> Config:
    """A configuration on the files of a folder; keyword arguments override keys (dots as ``__``)."""
    values: dict[str, Any] = {
        "training_file": str(folder / "train.txt"),
        "val_file": str(folder / "valid.txt"),
        "test_file": str(folder / "test.txt"),
        "data_name": "made",
        "model_name": "PLANT",
        "network_config.encoder": "cnn",
        "network_config.hidden_size": 16,
        "network_config.filter_sizes": [3],
        "network_config.embed_dim": 16,
        "network_config.num_heads": 2,
        "network_config.pool_size": 8,
        "network_config.planted_prior": "additive",
        "stage1.k": 10,
        "stage1.labels": 6,
        "stage1.epochs": 2,
        "stage2.epochs": 3,
        "stage2.hard_negatives": 5,
        "learning_rate": 0.01,
        "batch_size": 30,
        "monitor_metrics": ["P@1", "nDCG@5", "Macro-F1", "Loss"],
        "val_metric": "nDCG@5",
        "seed": 1,
        "cpu": True,
        "silent": True,
        "result_dir": str(folder / "runs"),
        "cache_dir": str(folder / "cache"),
        "predict_out_path": str(folder / "predictions.txt"),
    }
    if "network_config" in changes:
        values = {name: value for name, value in values.items() if not name.startswith("network_config.")}
    values |= {name.replace("__", "."): value for name, value in changes.items()}
    return load_config(None, values)


def write_language_model(folder: Path) -> Path:
    """A tokenizer of the folder's training file and a BERT of one layer, in ``folder/bert``."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train([str(folder / "train.txt")], trainers.WordPieceTrainer(vocab_size=120, special_tokens=special))
    target = folder / "bert"
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(target)
    torch.manual_seed(0)
    BertModel(
        BertConfig(
            vocab_size=120, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
            max_position_embeddings=32,
        )
    ).save_pretrained(target)  # fmt: skip
    return target


def evidence_of(path: Path) -> tuple[list[str], list[DocumentEvidence]]:
    """The words of each label, in every document."""
    documents = read_any(path)
    found = [
        {label: [m.span() for m in re.finditer(rf"\bsign{label[1:]}x\b", text)] for label in sorted(labels)}
        for text, labels in zip(documents.texts, documents.labels, strict=True)
    ]
    return documents.texts, found


def write_spans(path: Path, evidence: list[DocumentEvidence]) -> None:
    """An evidence file in which each span is a mark of its own."""
    write_evidence(path, [{label: [[span] for span in spans] for label, spans in own.items()} for own in evidence])
