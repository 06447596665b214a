"""What is seen of small files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plant_plugin.config import Config
from plant_plugin.data.documents import Corpus, Split
from plant_plugin.data.tables import read_any
from plant_plugin.training.choose.facts import Trial, language_of, look
from plant_plugin.training.choose.settle import settle

Make = Callable[..., Config]


def test_labels_outside_a_label_file_are_not_counted(mine: Make, tmp_path: Path) -> None:
    labels = sorted({label for labels in read_any(tmp_path / "train.txt").labels for label in labels})
    (tmp_path / "labels.txt").write_text("\n".join(labels[:3]))
    config = mine(label_file=str(tmp_path / "labels.txt"))
    assert look(config, set(), network=False).labels == 3 < len(labels) - 2
    assert settle(config).val_metric == "nDCG@2"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The patient was admitted with a fever and a cough of three days.", "en"),
        ("Paciente de 67 años con hipertensión que acude por una fiebre de tres días.", "es"),
        ("Der Patient wurde mit Fieber und Husten in die Klinik gebracht.", "de"),
        ("xqz kvv wwx", "unknown"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert language_of([text] * 3) == language


def test_a_trial_finds_where_words_count_and_phrases_tell(mine: Make) -> None:
    def split(name: str, documents: int, seed: int) -> Split:
        random, texts, labels = np.random.default_rng(seed), [], []
        for _ in range(documents):
            own, *others = random.permutation(8)[:5].tolist()
            head = [f"sign{own}x", *(f"filler{random.integers(9)}" for _ in range(39))]
            rest = [f"sign{other}x" for other in others] + [f"filler{random.integers(9)}" for _ in range(40)]
            texts.append(" ".join([*random.permutation(head), *random.permutation(rest)]))
            labels.append([f"L{own}"])
        return Split(texts, labels, name=name)

    corpus = Corpus(split("train", 200, 1), split("val", 60, 2), None, [f"L{label}" for label in range(8)])
    options = mine().planted_scores
    assert Trial(corpus, corpus.val, options).gain(replace(options, lead=40)) > 0.05
    assert Trial(corpus, corpus.val, options).mined() <= 0.05  # words alone tell: no run of them adds


def test_a_trial_finds_that_endings_do_not_matter(mine: Make) -> None:
    def split(name: str, documents: int, seed: int) -> Split:
        random = np.random.default_rng(seed)
        own = random.integers(8, size=documents)
        ends = random.choice(list("abcdefghijklmnop"), (documents, 3)).tolist()
        texts = [f"signu{label}{''.join(end)} filler{random.integers(9)}" for label, end in zip(own, ends, strict=True)]
        return Split(texts, [[f"L{label}"] for label in own], name=name)

    corpus = Corpus(split("train", 200, 1), split("val", 60, 2), None, [f"L{label}" for label in range(8)])
    options = mine().planted_scores
    assert Trial(corpus, corpus.val, options).gain(replace(options, word_letters=6)) > 0.05
