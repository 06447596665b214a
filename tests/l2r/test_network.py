"""The first PLANT's equations against literal versions, word by word and label by label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from plant_plugin.l2r.network import PLANTL2R, PlantedHead, Ranker, lowest_kept, mean_logits

LABELS, WORDS, WIDTH = 5, 30, 6
SIZES = {"embed_dim": WIDTH, "hidden_size": 7, "num_layers": 2, "ranker_size": 4, "ranker_hidden": 3}
RELEVANCE = sp.random(LABELS, WORDS, density=0.5, format="csr", random_state=0, dtype=np.float32)
Batch = dict[str, torch.Tensor]


@pytest.fixture
def batch() -> Batch:
    length = torch.tensor([11, 1, 6])
    text = torch.randint(1, WORDS, (3, 11), generator=torch.Generator().manual_seed(3))
    text = text * (torch.arange(11) < length[:, None])
    return {"text": text, "length": length, "mask": torch.arange(11) < length[:, None]}


def made(**options: Any) -> PLANTL2R:
    torch.manual_seed(1)
    network = PLANTL2R(LABELS, torch.randn(WORDS, WIDTH), **{**SIZES, "segment_tokens": None, **options})
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    network.plant_relevance(RELEVANCE)
    return network.double().eval()


def arrays(module: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: value.detach().numpy() for name, value in module.named_parameters()}


def rank(ranker: Ranker, label: int, word: int) -> float:
    """Equations 1 and 2: the embeddings joined, two layers."""
    own = arrays(ranker)
    joined = np.concatenate([own["label.weight"][label], own["token.weight"][word]])
    first = np.concatenate([own["of_label.weight"], own["of_token.weight"]], axis=1)
    return float(own["weight"] @ np.maximum(first @ joined + own["of_token.bias"], 0) + own["bias"])


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def literal(head: PlantedHead, states: np.ndarray, words: list[int]) -> np.ndarray:
    """Equations 5 to 8 and A.5, one label after the other."""
    given, own, logits = head.options, arrays(head), []
    for label in range(LABELS):
        weights = softmax(states @ own["query.weight"][label])
        if given.static:
            weights = weights + given.static * RELEVANCE.toarray()[label, words]
        if head.ranker is not None:
            scores = np.array([rank(head.ranker, label, word) for word in words])
            if given.inattention is not None:
                last = np.sort(scores)[::-1][min(given.inattention, len(words)) - 1]
                scores = np.where(scores >= last, scores, -np.inf)
            weights = weights + softmax(scores)
        boosted = (weights @ states) * own["output.weight"][label]
        logits.append(boosted.sum() + own["output.bias"][label])
    return np.array(logits)


PARTS = pytest.mark.parametrize(
    "options",
    [
        {"static": 0, "differentiable": False},
        {"static": 0.5, "differentiable": False},
        {"static": 0},
        {},
        {"inattention": 1},
        {"inattention": 3},
        {"inattention": 50},
    ],
    ids=str,
)


@PARTS
@pytest.mark.parametrize("segment", [None, 1, 4])
def test_logits_are_those_of_the_equations_in_one_pass_and_segment_by_segment(batch, options, segment):
    network = made(**options, segment_tokens=segment)
    hidden = network.encode(batch)
    logits = network.logits(hidden).detach().numpy()
    for row, length in enumerate(batch["length"].tolist()):
        states, words = hidden.states[row, :length].detach().numpy(), batch["text"][row, :length].tolist()
        np.testing.assert_allclose(logits[row], literal(network.heads[0], states, words), atol=1e-9)


@PARTS
def test_the_stateful_decoder_is_the_whole_pass_in_single_precision_with_its_gradients(batch, options):
    whole, stateful = (made(**options, segment_tokens=segment).float() for segment in (None, 3))
    found = [network(batch)["logits"] for network in (whole, stateful)]
    torch.testing.assert_close(*found, atol=1e-5, rtol=0)
    states = whole.encode(batch).states.detach()
    for network, _logits in zip((whole, stateful), found, strict=True):
        network.zero_grad()
        hidden = network.encode(batch)._replace(states=states)
        network.logits(hidden).sum().backward()
    for (name, one), other in zip(whole.heads.named_parameters(), stateful.heads.parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None), name
        if one.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-4)


def test_inattention_by_hand():
    scores = torch.tensor([[3.0], [1.0], [2.0], [0.0]])  # (U, L) of the words 0 to 3
    columns, mask = torch.tensor([[0, 1, 2, 3, 3]]), torch.tensor([[True] * 4 + [False]])
    assert [float(lowest_kept(scores, columns, mask, k)) for k in (1, 2, 3, 4, 9)] == [3, 2, 1, 0, 0]
    twice = torch.tensor([[0, 0, 1, 2, 3]])
    assert float(lowest_kept(scores, twice, torch.ones(1, 5, dtype=torch.bool), 2)) == 3, "positions, not words"


def test_the_ranker_has_the_same_scores_for_all_pairs_for_some_and_one_by_one():
    torch.manual_seed(0)
    ranker = Ranker(LABELS, WORDS, 4, 3).double()
    torch.nn.init.normal_(ranker.bias)
    words, labels = torch.tensor([3, 29, 3]), torch.tensor([4, 1])
    whole = ranker(words)
    for place, word in enumerate(words.tolist()):
        for label in range(LABELS):
            assert whole[place, label].item() == pytest.approx(rank(ranker, label, word), abs=1e-12)
    torch.testing.assert_close(ranker(words, labels), whole[:, labels])
    torch.testing.assert_close(ranker.of_pairs(labels, words.expand(2, -1)), whole[:, labels].t())


def test_planted_weights_are_the_rankers_before_training(batch):
    network = made(inattention=None)
    hidden, labels = network.encode(batch), torch.arange(LABELS).expand(3, -1)
    parts = network.heads[0].parts(hidden, labels)
    scores = network.scores(hidden, labels).masked_fill(~batch["mask"][:, None], float("-inf"))
    torch.testing.assert_close(parts["differentiable"], scores.softmax(dim=-1))
    relevance = torch.from_numpy(RELEVANCE.toarray())[:, batch["text"]].transpose(0, 1) * batch["mask"][:, None]
    torch.testing.assert_close(parts["static"].float(), relevance, atol=1e-7, rtol=0)


@PARTS
@pytest.mark.parametrize("directions", ["forward", "both"])
def test_contributions_and_bias_are_the_logit_and_attention_sums_to_one(batch, options, directions):
    network = made(**options, directions=directions)
    hidden, labels = network.encode(batch), torch.tensor([[0, 4], [1, 1], [2, 3]])
    added, bias = network.contributions(hidden, labels)
    wanted = network.logits(hidden).gather(1, labels)
    torch.testing.assert_close(added.sum(dim=-1) + bias, wanted)
    attention = network.attention(hidden, labels, with_prior=True)
    torch.testing.assert_close(attention.sum(dim=-1), torch.ones_like(wanted))
    for part in (added, attention):
        assert not part.masked_select(~batch["mask"][:, None]).any(), "padding has no part"
    torch.testing.assert_close(network.selected_logits(hidden, labels), wanted)


def test_two_directions_are_averaged_as_probabilities_and_train_apart(batch):
    network = made(directions="both")
    hidden = network.encode(batch)
    (first, own), (second, other) = network.members(hidden)
    mean = (first(own).sigmoid() + second(other).sigmoid()) / 2
    torch.testing.assert_close(network.logits(hidden).sigmoid(), mean)
    first(own).sum().backward()
    backward = [*network.backbone.models[1].parameters(), *network.heads[1].parameters()]
    assert all(parameter.grad is None or not parameter.grad.any() for parameter in backward)
    extreme = [torch.tensor([200.0, -200.0]), torch.tensor([150.0, -250.0])]
    assert mean_logits(extreme).isfinite().all()


def test_a_document_has_the_same_logits_alone_and_among_longer_ones(batch):
    network = made(inattention=2, segment_tokens=4)
    alone = {name: value[2:3, :6] if value.ndim == 2 else value[2:3] for name, value in batch.items()}
    torch.testing.assert_close(network(alone)["logits"], network(batch)["logits"][2:3])
