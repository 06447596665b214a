"""A plain LSTM, word by word, and small backbones to compare with it."""

from __future__ import annotations

import numpy as np
import torch

from plant_plugin.l2r.awd_lstm import AwdLstm
from plant_plugin.l2r.encoder import AwdLstmBackbone

WORDS, WIDTH, INNER = 30, 6, 9
LENGTHS = torch.tensor([23, 5, 14])


def small_backbone(directions: str = "forward", **more: int) -> AwdLstmBackbone:
    torch.manual_seed(1)
    sizes = {"hidden_size": INNER, "num_layers": 3, "embed_dropout": 0.0}
    return AwdLstmBackbone(torch.randn(WORDS, WIDTH), directions=directions, **sizes, **more).eval()


def plain(model: AwdLstm, words: list[int]) -> np.ndarray:
    """Merity et al. 2017, section 2, word by word."""
    states = model.embedding.weight.detach().double().numpy()[words]
    for layer in model.layers:
        parts = [getattr(layer, f"{name}_l0").detach().double().numpy()
                 for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]  # fmt: skip
        hidden = cell = np.zeros(layer.hidden_size)
        found = []
        for word in states:
            gates = parts[0] @ word + parts[2] + parts[1] @ hidden + parts[3]
            enter, forget, new, leave = np.split(gates, 4)
            enter, forget, leave = (1 / (1 + np.exp(-gate)) for gate in (enter, forget, leave))
            cell = forget * cell + enter * np.tanh(new)
            hidden = leave * np.tanh(cell)
            found.append(hidden)
        states = np.array(found)
    return states
