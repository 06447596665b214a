"""MultiResCNN against its formula."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from plant_plugin.networks import baselines
from plant_plugin.networks.baselines import MultiResCNN, RealBatchNorm

LABELS, WORDS, DIM = 5, 30, 6


@pytest.mark.parametrize("training", [False, True])
def test_multi_res_cnn_is_its_formula(training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "RESIDUAL_DROPOUT", 0.0)
    torch.manual_seed(3)
    network = MultiResCNN(LABELS, torch.randn(WORDS, DIM), filter_sizes=[3, 5], num_filter_per_size=4).double()
    for norm in (module for module in network.modules() if isinstance(module, nn.BatchNorm1d)):
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
        nn.init.uniform_(norm.running_mean)
        nn.init.uniform_(norm.running_var, 0.5, 2.0)
    text = torch.tensor([[5, 6], [12, 13], [7, 8]])  # no padding: the textbook's modules know none
    network.train(training)

    def plain(states: Tensor, norm: RealBatchNorm) -> Tensor:
        return norm.norm(states)

    words = network.backbone.embedding(text).transpose(1, 2)
    joined = []
    state = {key: value.clone() for key, value in network.state_dict().items()}
    for width, convolution, block in zip(
        (3, 5), network.backbone.encoder.convolutions, network.backbone.encoder.blocks, strict=True
    ):
        states = nn.functional.conv1d(words, convolution.weight, convolution.bias, padding=width // 2).tanh()
        inner = nn.functional.conv1d(states, block.first.weight, padding=width // 2)
        left = nn.functional.conv1d(plain(inner, block.norms[0]).tanh(), block.second.weight, padding=width // 2)
        short = plain(nn.functional.conv1d(states, block.shortcut.weight), block.norms[2])
        joined.append((plain(left, block.norms[1]) + short).tanh())
    network.load_state_dict(state)  # training moved the running means
    expected = torch.cat(joined, dim=1).transpose(1, 2)
    given = {"text": text, "length": torch.tensor([2, 2, 2])}
    torch.testing.assert_close(network.encode(given).states, expected)
    assert expected.shape == (3, 2, 8)


def test_batch_norm_counts_real_tokens_only_and_survives_a_single_one() -> None:
    norm = RealBatchNorm(2).train()
    real = torch.tensor([[True, True, False], [True, False, False]])
    states = torch.randn(2, 2, 3)
    found = norm(states, real)
    tokens = states.transpose(1, 2)[real]
    expected = (tokens - tokens.mean(0)) / (tokens.var(0, unbiased=False) + norm.norm.eps).sqrt()
    torch.testing.assert_close(found.transpose(1, 2)[real], expected)
    assert not found.transpose(1, 2)[~real].any()
    one = norm(states[1:, :, :1], real[1:, :1])
    means = (states[1, :, 0] - norm.norm.running_mean) / (norm.norm.running_var + norm.norm.eps).sqrt()
    torch.testing.assert_close(one[0, :, 0], means)
