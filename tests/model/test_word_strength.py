from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from test_predictor import NETWORKS

from plant_plugin import Predictor
from plant_plugin.model.word_strength import (
    word_strengths,
    words_of_tokens,
)

NOTE = "filler1, filler2 SIGN3x!\nfiller3 12 sign5x filler7 sign3x"


def test_subwords_are_joined() -> None:
    text = "Über-große  hyper_tension, x"
    spans = [(0, 0), (0, 2), (2, 4), (4, 5), (5, 10), (10, 17), (17, 25), (25, 26), (26, 28), (0, 0)]
    words = words_of_tokens(text, spans)  # (10, 17) and (26, 28) hold the spaces before them
    assert [text[start:end] for start, end in words.spans] == ["Über", "-", "große", "hyper_tension", ",", "x"]
    assert words.of_token.tolist() == [-1, 0, 0, 1, 2, 3, 3, 4, 5, -1]
    summed, elsewhere = words.summed(np.arange(10, dtype=np.float32))
    assert summed.tolist() == [3, 3, 4, 11, 7, 8]
    assert elsewhere == 9
    assert words.highest(np.arange(10, dtype=np.float32)).tolist() == [2, 3, 4, 6, 7, 8]


def test_linear_strengths_sum_to_the_linear_score(predictor: Predictor) -> None:
    planted = predictor.planted_scores
    assert planted is not None
    _, found = word_strengths(predictor, NOTE, [3, 5])
    scores = planted.linear.scores_of(planted.linear.features([NOTE]))[0, [3, 5]]
    np.testing.assert_allclose(found["linear"].sum(axis=1), scores, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in NETWORKS if not name.startswith(("PLM", "PlantedPLM", "PLANTL2R"))])
def test_gradient_times_input_is_the_gradient(untrained: Callable[..., Path], name: str) -> None:
    predictor = Predictor.load(untrained(model_name=name, network_config=dict(NETWORKS[name])), device="cpu")
    network = predictor.network.double()
    embedding = network.backbone.embedding
    assert isinstance(embedding, torch.nn.Embedding)
    text = "sign1x filler2 sign4x"
    _, found = word_strengths(predictor, text, [1, 4])
    ids = predictor.tokens.encode([text], 10).ids
    for place, token in enumerate(ids):
        start = embedding.weight.data[token].clone()
        logits = []
        for step in (1 + 1e-5, 1 - 1e-5):
            embedding.weight.data[token] = start * step
            batch = {"text": torch.from_numpy(ids.astype(np.int64))[None], "length": torch.tensor([len(ids)])}
            with torch.no_grad():
                network.fold()
                logits.append(network(batch)["logits"][0, [1, 4]])
        embedding.weight.data[token] = start
        slope = ((logits[0] - logits[1]) / 2e-5).numpy()
        np.testing.assert_allclose(found["gradient × input"][:, place], slope, atol=1e-5, rtol=1e-3)
