from __future__ import annotations

import random

import pytest

from plant_plugin.relevance.names.index import WINDOW, NameIndex, Translated, stems_of


def test_covers_are_what_trying_every_window_finds() -> None:
    drawn = random.Random(0)
    words = [f"w{number}" for number in range(12)]
    rows = [(f"L{number}", " ".join(drawn.sample(words, drawn.randint(1, 4)))) for number in range(30)]
    index = NameIndex.of(rows)
    for _ in range(20):
        text = drawn.choices([*words, "other"], k=25)
        result = index.find(text, Translated(index.stems, {}))
        assert len(result.names)
        for name, cover, whole in zip(result.names.tolist(), result.cover, result.of_text, strict=True):
            stems = {stem: index.idf[index.stems[stem]] for stem in stems_of(index.names[name])}
            sums = [
                sum(idf for stem, idf in stems.items() if stem in text[start : start + WINDOW])
                for start in range(len(text))
            ]
            assert cover == pytest.approx(max(sums) / sum(stems.values()), rel=1e-5)
            assert whole == pytest.approx(
                sum(idf for s, idf in stems.items() if s in text) / sum(stems.values()), rel=1e-5
            )
