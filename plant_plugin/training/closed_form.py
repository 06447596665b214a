"""Stage 1 without a gradient step: the queries that come nearest to the relevance, by ridge regression.

Shape key: **B** documents · **T** token positions · **L** labels · **V** vocabulary · **A** heads · **D** width of one
head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from tqdm import tqdm

from plant_plugin.config import Config
from plant_plugin.data.batches import move
from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.training.prepare import Prepared
from plant_plugin.training.stage import device_of

if TYPE_CHECKING:
    from scipy import sparse

RIDGE = 0.01  # of the mean variance of a key


def plant_queries(network: PlantableNetwork, prepared: Prepared, config: Config) -> None:
    """Give every label the queries whose scores are nearest to its relevance, times ``stage1.strength``; in place.

    For label l and each head, over all token positions of the training split, means taken off:
    ``q_l = strength · (Σ k kᵀ + α·I)⁻¹ Σ r_l k``, with the keys k of the network as it is. One pass over the documents
    without gradients; (V, A·D) numbers are held.

    Args:
        network: With relevance planted.
        prepared: Its training split is read.
        config: ``stage1.strength``, ``eval_batch_size``, ``cpu`` and ``silent`` are read.

    Raises:
        ConfigError: The network does not show its queries.

    Source: ours; least squares in the place of the ranking loss of PLANT's stage 1.
    """
    if not isinstance(network, HeadNetwork):
        raise ConfigError(
            f"{type(network).__name__} has no attention head whose queries could be set",
            where="stage1.method: closed_form",
            fix="use method: gradient, or derive the network from HeadNetwork",
        )
    assert prepared.relevance is not None
    relevance = prepared.relevance.matrix
    device = device_of(config)
    network.to(device).eval()
    batches = prepared.split("train", config.eval_batch_size)
    of_types, counts, products = None, torch.zeros(relevance.shape[1]), None
    with torch.inference_mode():
        for batch in tqdm(batches, "stage 1", leave=False, disable=config.silent):
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
    network.head.plant_queries(config.stage1.strength * torch.stack(heads, dim=1).float().to(device))


def _solve(relevance: sparse.csr_array, sums: Tensor, counts: Tensor, products: Tensor) -> Tensor:
    """Queries (L, D) of one head.

    Args:
        relevance: (L, V).
        sums: (V, D), of the keys of each token type.
        counts: (V,), how often it occurs.
        products: (D, D) float64, Σ k kᵀ.
    """
    total, mean = counts.sum().double(), sums.sum(dim=0).double() / counts.sum()
    covariance = products - total * torch.outer(mean, mean)
    covariance += RIDGE * covariance.diagonal().mean() * torch.eye(len(mean), dtype=torch.float64)
    with_relevance = torch.from_numpy(relevance @ sums.numpy()).double()
    of_labels = torch.from_numpy(relevance @ counts.numpy()).double()
    return torch.linalg.solve(covariance, (with_relevance - torch.outer(of_labels, mean)).T).T
