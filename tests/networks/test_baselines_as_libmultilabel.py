"""The planted baselines against LibMultiLabel's own networks with copied weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from libmultilabel.nn import networks
from torch import Tensor

from plant_plugin.config import registry
from plant_plugin.networks.attention_head import HeadNetwork

LABELS, WORDS, DIM = 5, 30, 6
# LibMultiLabel's names of parameters by their beginnings, and ours; the queries' bias it holds and never reads
NAMES = {
    "CAML": {
        "embedding.": "backbone.embedding.",
        "conv.": "backbone.encoder.conv.",
        "Q.weight": "head.query.weight",
        "Q.bias": None,
        "output.": "head.output.",
    },
    "BiGRULWAN": {
        "embedding.embedding.": "backbone.embedding.",
        "encoder.": "backbone.encoder.encoder.",
        "attention.attention.": "head.query.",
        "output.output.": "head.output.",
    },
}
OPTIONS: dict[str, dict[str, Any]] = {
    "CAML": {"filter_sizes": [3], "num_filter_per_size": 8, "embed_dropout": 0.1},
    "BiGRULWAN": {"rnn_dim": 8},
}


def both(name: str, **changes: Any) -> tuple[torch.nn.Module, HeadNetwork]:
    """LibMultiLabel's network and ours with its weights; what is left over on either side is an error."""
    torch.manual_seed(1)
    vectors = torch.randn(WORDS, DIM)
    vectors[0] = 0  # as LibMultiLabel's <pad>
    options = {**OPTIONS[name], **changes}
    theirs = getattr(networks, name)(embed_vecs=vectors.clone(), num_classes=LABELS, **options).eval()
    ours = registry.get("networks", f"Planted{name}").load()(
        num_classes=LABELS, embed_vecs=torch.zeros(WORDS, DIM), **options
    )
    state = {}
    for key, value in theirs.state_dict().items():
        start = max((start for start in NAMES[name] if key.startswith(start)), key=len)
        if NAMES[name][start] is not None:
            state[f"{NAMES[name][start]}{key.removeprefix(start)}"] = value
    ours.load_state_dict(state)
    return theirs, ours.eval()


def documents(rows: list[list[int]]) -> dict[str, Tensor]:
    longest = max(len(row) for row in rows)
    text = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return {"text": text, "length": torch.tensor([len(row) for row in rows])}


@pytest.mark.parametrize("name", list(NAMES))
class TestSameAsLibMultiLabel:
    def test_logits(self, name: str) -> None:
        theirs, ours = both(name)
        given = documents([[3, 7, 2, 9, 11], [29, 28, 3, 3, 4]])
        torch.testing.assert_close(ours(given)["logits"], theirs(given)["logits"])

    def test_logits_of_padded_documents_are_those_of_each_document_alone(self, name: str) -> None:
        theirs, ours = both(name)
        rows = [[3, 7, 2, 9, 11], [29, 28], [4, 4, 4]]
        alone = torch.cat([theirs(documents([row]))["logits"] for row in rows])
        torch.testing.assert_close(ours(documents(rows))["logits"], alone)

    def test_gradients(self, name: str) -> None:
        theirs, ours = both(name)
        given = documents([[3, 7, 2, 9, 11], [29, 28, 3, 3, 4]])
        for network in (theirs, ours):
            network(given)["logits"].square().sum().backward()
        expected = sorted(float(p.grad.square().sum()) for p in theirs.parameters() if p.grad is not None)
        found = sorted(float(p.grad.square().sum()) for p in ours.parameters() if p.grad is not None)
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)

    def test_defaults_are_the_same(self, name: str) -> None:
        theirs = registry.get("networks", name).signature()
        ours = registry.get("networks", f"Planted{name}").signature()
        for argument in theirs.keys() & ours.keys() - {"filter_sizes"}:  # LibMultiLabel has no default for these
            assert ours[argument] == theirs[argument], argument
        assert theirs.keys() - ours.keys() <= {"labelwise_attention_dropout", "rnn_layers", "encoder_dropout"}


def test_attention_of_caml_is_libmultilabels() -> None:
    theirs, ours = both("CAML")
    given = documents([[3, 7, 2, 9, 11]])
    labels = torch.arange(LABELS)[None]
    torch.testing.assert_close(ours.attention(ours.encode(given), labels), theirs(given)["attention"])


def test_an_even_filter_gives_a_position_per_token_where_libmultilabel_gives_one_more() -> None:
    theirs, ours = both("CAML", filter_sizes=[4])
    given = documents([[3, 7, 2, 9, 11]])
    one_more = torch.tanh(theirs.conv(theirs.embedding(given["text"]).transpose(1, 2)).transpose(1, 2))
    assert one_more.shape[1] == 6
    torch.testing.assert_close(ours.encode(given).states, one_more[:, :5])
