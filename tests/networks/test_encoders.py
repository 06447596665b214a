from __future__ import annotations

import pytest
import torch
from torch import nn

from plant_plugin.errors import ConfigError
from plant_plugin.networks.encoders import word_encoder

KINDS = [
    ("cnn", {"filter_sizes": (1,)}),
    ("cnn", {"filter_sizes": (4,)}),
    ("cnn", {"filter_sizes": (3, 10)}),
    ("bigru", {}),
    ("bilstm", {"num_layers": 2}),
]


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_one_output_per_token_whatever_the_padding(kind: str, options: dict) -> None:
    torch.manual_seed(0)
    encoder, size = word_encoder(kind, 6, hidden_size=8, **options)
    encoder.eval()
    embedded, length = torch.randn(3, 12, 6), torch.tensor([5, 9, 1])
    encoded = encoder(embedded, length)
    assert size == 8
    assert encoded.shape == (3, 12, 8)
    other_padding = torch.cat([embedded[:, :9], torch.randn(3, 4, 6)], dim=1)
    for document, tokens in enumerate(length.tolist()):
        torch.testing.assert_close(
            encoder(other_padding, length)[document, :tokens], encoded[document, :tokens], rtol=1e-5, atol=1e-6
        )
        alone = encoder(embedded[document : document + 1, :tokens], length[document : document + 1])
        torch.testing.assert_close(alone[0], encoded[document, :tokens], rtol=1e-5, atol=1e-6)


def test_convolution_sees_floor_left_and_ceil_right() -> None:
    """A filter of width 4 that picks its first input sees one token to the left; one that picks its last, two right."""
    encoder, _ = word_encoder("cnn", 1, hidden_size=2, filter_sizes=(4,))
    convolution = encoder.encoders[0].convs[0]
    with torch.no_grad():
        convolution.weight.copy_(torch.tensor([[[0.1, 0, 0, 0]], [[0, 0, 0, 0.1]]]))
        convolution.bias.zero_()
    tokens = torch.tensor([[[1.0], [2], [3], [4], [5]]])
    encoded = encoder.eval()(tokens, torch.tensor([5]))[0].T
    torch.testing.assert_close(encoded.atanh(), torch.tensor([[0.0, 0.1, 0.2, 0.3, 0.4], [0.3, 0.4, 0.5, 0.0, 0.0]]))


@pytest.mark.parametrize(
    ("kind", "options", "key"),
    [
        ("lstm", {}, "encoder"),
        ("bigru", {"hidden_size": 7}, "hidden_size"),
        ("cnn", {"hidden_size": 8, "filter_sizes": (2, 3, 4)}, "filter_sizes"),
        ("cnn", {"hidden_size": 8, "filter_sizes": ()}, "filter_sizes"),
    ],
)
def test_what_does_not_fit_is_named(kind: str, options: dict, key: str) -> None:
    with pytest.raises(ConfigError, match=f"network_config: {key}"):
        word_encoder(kind, 6, **options)


def test_gradients_reach_the_encoder() -> None:
    for kind in ("cnn", "bigru", "bilstm"):
        encoder, _ = word_encoder(kind, 4, hidden_size=6)
        encoder(torch.randn(2, 5, 4), torch.tensor([5, 3])).sum().backward()
        assert all(parameter.grad is not None for parameter in encoder.parameters())


@pytest.mark.parametrize("kind", ["bigru", "bilstm"])
def test_a_gradient_on_a_cpu_does_without_packing_and_changes_no_number(kind: str) -> None:
    torch.manual_seed(0)
    encoder, _ = word_encoder(kind, 5, hidden_size=6, num_layers=2)
    encoder = encoder.double()
    length = torch.tensor([3, 7, 0, 1])  # one position of an empty document is read
    states, outputs, gradients = torch.randn(4, 8, 5, dtype=torch.float64), [], []
    arriving = torch.randn(4, 8, 6, dtype=torch.float64)
    for packed in (True, False):
        embedded = states.clone().requires_grad_()
        if packed:
            encoded = nn.functional.pad(encoder.encoder(embedded, length), (0, 0, 0, 1))
        else:
            encoded = encoder(embedded, length)
        encoder.zero_grad()
        (encoded * arriving).sum().backward()
        outputs.append(encoded.detach())
        gradients.append([embedded.grad, *(weight.grad.clone() for weight in encoder.parameters())])
    torch.testing.assert_close(outputs[0], outputs[1])
    torch.testing.assert_close(gradients[0], gradients[1])
    with torch.no_grad():
        torch.testing.assert_close(encoder(states, length), outputs[0])


@pytest.mark.parametrize("kind", ["bigru", "bilstm"])
def test_states_stay_wide_under_autocast(kind: str) -> None:
    torch.manual_seed(0)
    encoder, _ = word_encoder(kind, 5, hidden_size=6)
    states, length = torch.randn(2, 4, 5), torch.tensor([4, 2])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        narrow = encoder(states, length)
    assert torch.equal(narrow, encoder(states, length))
