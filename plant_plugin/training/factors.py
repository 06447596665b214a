"""Attention planted without a gradient: words and labels by factors of the relevance.

Shape key: **L** labels · **V** vocabulary · **F** factors.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from scipy.sparse.linalg import svds
from torch.nn import functional

from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.backbone import EmbeddedWords
from plant_plugin.networks.plantable import PlantableNetwork

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
    try:
        network.head.plant(functional.pad(labels, (0, width - count))[:, None].to(vectors))
    except NotImplementedError as error:
        raise _unfit(f"the keys of {type(network.head).__name__} cannot be the states", "leave it out") from error
    with torch.no_grad():
        vectors[: len(words)][known] = functional.pad(words, (0, vectors.shape[1] - count))[known].to(vectors)
    backbone.pass_words_on()


def _unfit(what: str, fix: str) -> ConfigError:
    return ConfigError(what, where="stage1.start: factors", fix=fix)
