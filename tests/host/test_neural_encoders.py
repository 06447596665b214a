"""Our encoders of words against LibMultiLabel's: the same parameters by name, the same numbers."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from libmultilabel.nn.networks.modules import CNNEncoder, GRUEncoder, LSTMEncoder, RNNEncoder
from torch import nn

from plant_plugin.host.neural import without_packing
from plant_plugin.networks.encoders import Convolution, Recurrent

KINDS = [(GRUEncoder, nn.GRU), (LSTMEncoder, nn.LSTM)]


@pytest.mark.parametrize(("theirs", "ours"), KINDS)
def test_recurrent(theirs: type[RNNEncoder], ours: type[nn.GRU | nn.LSTM]) -> None:
    torch.manual_seed(0)
    expected = theirs(5, 3, 2, 0.25, 0.5)
    torch.manual_seed(0)
    found = Recurrent(ours(5, 3, 2, batch_first=True, dropout=0.25, bidirectional=True), 0.5)
    same_state(found, expected)
    states, length = torch.randn(4, 8, 5), torch.tensor([3, 7, 0, 1])
    for mode in (True, False):
        outputs = []
        for encoder in (expected, found):
            torch.manual_seed(1)
            outputs.append(encoder.train(mode)(states, length))
        if mode:  # packed documents lie in another order, and so does what dropout draws
            assert outputs[0].shape == outputs[1].shape
        else:
            torch.testing.assert_close(*outputs)


def test_convolution() -> None:
    torch.manual_seed(0)
    expected = CNNEncoder(5, [3], 4, "tanh", 0.5, channel_last=True)
    torch.manual_seed(0)
    found = Convolution(5, 3, 4, 0.5)
    same_state(found, expected)
    embedded = torch.randn(2, 9, 5)
    for mode in (True, False):
        outputs = []
        for encoder in (expected, found):
            torch.manual_seed(1)
            outputs.append(encoder.train(mode)(embedded))
        assert torch.equal(*outputs)


def same_state(found: nn.Module, expected: nn.Module) -> None:
    one, other = found.state_dict(), expected.state_dict()
    assert list(one) == list(other)
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("kind", [GRUEncoder, LSTMEncoder])
def test_libmultilabels_own_encoders_do_without_packing_for_a_while(kind: type[RNNEncoder]) -> None:
    torch.manual_seed(0)
    encoder = kind(5, 3, 1, 0, 0.5).double()
    states, length, found = torch.randn(4, 8, 5, dtype=torch.float64), torch.tensor([3, 7, 0, 1]), []
    packed = RNNEncoder.forward
    for context in (nullcontext, without_packing):
        with context():
            assert (RNNEncoder.forward is packed) == (context is nullcontext)
            torch.manual_seed(1)  # dropout draws as many numbers
            encoded = encoder(states, length)
            with torch.no_grad():
                assert encoder(states, length).shape == encoded.shape == (4, 7, 6)
        encoder.zero_grad()
        encoded.square().sum().backward()
        found.append([encoded.detach(), *(weight.grad.clone() for weight in encoder.parameters())])
    assert RNNEncoder.forward is packed
    torch.testing.assert_close(found[0], found[1])
