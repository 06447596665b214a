"""Attention planted without a gradient: words and labels by factors of the relevance, or queries by least squares.

Shape key: **L** labels · **V** vocabulary · **A** heads · **D** width of one head · **F** factors.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from scipy.sparse.linalg import svds
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from plant_plugin.data.batches import move
from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.backbone import EmbeddedWords
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.training.prepare import Prepared

RIDGE = 0.01  # of the mean variance of a key, in least squares
SPREAD = 0.6  # standard deviation of planted word vectors: with tanh behind them still nearly linear


def plant_factors(network: PlantableNetwork, relevance: sparse.csr_array, best: float) -> None:
    """Let words and labels be factors of their relevance R (L, V), so that scores start near it; in place.

    A truncated singular value decomposition R ≈ U S Vᵀ has as many factors F as a head is wide. Word vectors are rows
    of V√S over the root of their length, convolutions pass each word on, keys are states, and queries are rows of U√S,
    each as long as lets its ``best`` word score so much: rare labels have small factors, and attention as flat as they
    are. No document is read. Words of no label, and dimensions beyond the factors, stay as they were.

    Raises:
        ConfigError: The network has no convolution over words, several heads, or keys that cannot be its states.

    Source: ours; the relevance is that of PLANT's stage 1.
    """
    backbone = getattr(network, "backbone", None)
    if not (isinstance(network, HeadNetwork) and isinstance(backbone, EmbeddedWords) and backbone.passes_words_on):
        what = f"{type(network).__name__} does not encode words by one layer of convolutions"
        raise _unfit(what, "leave stage1.start out, or use network_config: {encoder: cnn}")
    if network.head.num_heads > 1:
        raise _unfit(f"there are {network.head.num_heads} heads", "leave it out, or use network_config: {num_heads: 1}")
    try:
        network.head.plant_keys()
    except NotImplementedError as error:
        raise _unfit(f"the keys of {type(network.head).__name__} cannot be the states", "leave it out") from error
    vectors, width = backbone.embedding.weight, backbone.hidden_size
    count = min(width, vectors.shape[1], *(side - 1 for side in relevance.shape))
    if count < 1:
        raise _unfit("there is one label or one word alone", "leave it out")
    left: npt.NDArray[np.float32]
    right: npt.NDArray[np.float32]
    left, values, right = svds(relevance.astype(np.float32), k=count, random_state=0)
    words, labels = (torch.from_numpy(side * np.sqrt(values)) for side in (right.T, left))  # (V, F), (L, F)
    lengths = words.norm(dim=1, keepdim=True)
    known = lengths.flatten() > 0
    words /= lengths.clamp(min=1e-9).sqrt()
    words *= SPREAD / words[known].std()
    labels *= best / (labels @ words.T).amax(dim=1, keepdim=True).clamp(min=1e-9)
    with torch.no_grad():
        vectors[: len(words)][known] = functional.pad(words, (0, vectors.shape[1] - count))[known].to(vectors)
    backbone.pass_words_on()
    network.head.plant_queries(functional.pad(labels, (0, width - count))[:, None].to(vectors))


def plant_queries(
    network: PlantableNetwork, prepared: Prepared, strength: float, device: torch.device, *, silent: bool
) -> None:
    """Give every label the queries whose scores are nearest to its relevance, times ``strength``; in place.

    For label l and each head, over all token positions of the training split, means taken off:
    ``q_l = strength · (Σ k kᵀ + α·I)⁻¹ Σ r_l k``, with the keys k of the network as it is. One pass over the documents
    without gradients; (V, A·D) numbers are held.

    Raises:
        ConfigError: The network does not show its queries.

    Source: ours; least squares in the place of the ranking loss of PLANT's stage 1.
    """
    if not isinstance(network, HeadNetwork):
        what = f"{type(network).__name__} has no attention head whose queries could be set"
        fix = "use method: gradient, or derive the network from HeadNetwork"
        raise ConfigError(what, where="stage1.method: closed_form", fix=fix)
    assert prepared.relevance is not None
    relevance = prepared.relevance.matrix
    network.to(device).eval()
    of_types, counts, products = None, torch.zeros(relevance.shape[1]), None
    with torch.inference_mode():
        for batch in tqdm(prepared.split("train"), "stage 1", leave=False, disable=silent):
            hidden = network.encode(move(batch, device))
            keys = network.head.keys(hidden.states)[hidden.mask].float().cpu()  # (tokens, A, D)
            types = batch["text"][hidden.mask.cpu()]
            if of_types is None or products is None:
                of_types = torch.zeros(relevance.shape[1], *keys.shape[1:])
                products = torch.zeros(keys.shape[1], keys.shape[2], keys.shape[2], dtype=torch.float64)
            of_types.index_add_(0, types, keys)
            counts.index_add_(0, types, torch.ones(len(types)))
            products += torch.einsum("nad,nae->ade", keys, keys).double()
    network.train()
    assert of_types is not None
    assert products is not None
    heads = [_solve(relevance, of_types[:, head], counts, products[head]) for head in range(len(products))]
    network.head.plant_queries(strength * torch.stack(heads, dim=1).float().to(device))


def _solve(relevance: sparse.csr_array, sums: Tensor, counts: Tensor, products: Tensor) -> Tensor:
    """Queries (L, D) of a head: relevance (L, V), sums (V, D) and counts (V,) of keys by token, their Σ k kᵀ (D, D)."""
    total, mean = counts.sum().double(), sums.sum(dim=0).double() / counts.sum()
    covariance = products - total * torch.outer(mean, mean)
    covariance += RIDGE * covariance.diagonal().mean() * torch.eye(len(mean), dtype=torch.float64)
    with_relevance = torch.from_numpy(relevance @ sums.numpy()).double()
    of_labels = torch.from_numpy(relevance @ counts.numpy()).double()
    return torch.linalg.solve(covariance, (with_relevance - torch.outer(of_labels, mean)).T).T


def _unfit(what: str, fix: str) -> ConfigError:
    return ConfigError(what, where="stage1.start: factors", fix=fix)
