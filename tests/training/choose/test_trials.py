"""Options on small made-up documents: what a trial says that each gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from plant_plugin.config import Config
from plant_plugin.data.documents import Corpus, Split
from plant_plugin.training.choose.trials import Trial

Make = Callable[..., Config]


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
    assert Trial(corpus, corpus.val, options).gain(replace(options, lead=40)).low > 0.05
    assert Trial(corpus, corpus.val, options).mined().low <= 0  # words alone tell: no run of them adds


def test_a_trial_finds_that_endings_do_not_matter(mine: Make) -> None:
    def split(name: str, documents: int, seed: int) -> Split:
        random = np.random.default_rng(seed)
        own = random.integers(8, size=documents)
        ends = random.choice(list("abcdefghijklmnop"), (documents, 3)).tolist()
        texts = [f"signu{label}{''.join(end)} filler{random.integers(9)}" for label, end in zip(own, ends, strict=True)]
        return Split(texts, [[f"L{label}"] for label in own], name=name)

    corpus = Corpus(split("train", 200, 1), split("val", 60, 2), None, [f"L{label}" for label in range(8)])
    options = mine().planted_scores
    assert Trial(corpus, corpus.val, options).gain(replace(options, word_letters=6)).low > 0.05


def test_a_trial_says_what_as_many_documents_more_as_are_held_out_would_gain(mine: Make) -> None:
    def split(name: str, labels: list[int]) -> Split:
        return Split([f"sign{label}x" for label in labels], [[f"L{label}"] for label in labels], name=name)

    def trial(train: list[int]) -> Trial:
        corpus = Corpus(split("train", train), split("val", [*range(8)] * 5), None, [f"L{label}" for label in range(8)])
        return Trial(corpus, corpus.val, mine().planted_scores)

    once = trial([*range(8)] * 5)  # half of all are held out, so every second document is left out
    assert once.held_out == 0.5
    assert once.more().low > 0  # of labels 0, 2, 4 and 6 no document is left
    assert trial([label for label in range(8) for _ in range(20)]).more().gain == 0
