"""The network ``PlantedPLMCA``: PLM-CA with an output of each label's own, without which planting loses.

Shape key: **B** documents · **T** token positions · **L** labels · **H** hidden width · **M** chosen labels of a
document.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from typing_extensions import override

from plant_plugin.networks.language_baselines import PLMCA, CrossAttentionHead
from plant_plugin.networks.plantable import Hidden


class OwnOutputsHead(CrossAttentionHead):
    """logit_l = w_l · LayerNorm(softmax(c_l · (W_k h_t)) (W_v h_t + b_v)) + b.

    With one w for all labels only the attention can say whether a label holds. A planted one looks at the nearest words
    in any case, so that what a label reads there has to decide.

    Source: :class:`CrossAttentionHead`; w_l are ours, and all start as its w does.
    """

    def __init__(self, hidden_size: int, num_labels: int, prior_strength: float | None = None) -> None:
        super().__init__(hidden_size, num_labels, prior_strength)
        self.output.weight = nn.Parameter(self.output.weight.detach().repeat(num_labels, 1))

    @override
    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Split the logit as that of the class above, where w is that of each label."""
        values = self._wide(self.value(hidden.states))
        weights = self._weights(hidden, self._wide(self.keys(hidden.states)), labels)[:, 0]  # (B, M, T)
        spread = ((weights @ values).var(dim=-1, unbiased=False) + self.norm.eps).sqrt()  # (B, M)
        readouts = self.output.weight[labels]  # (B, M, H)
        centred = values - values.mean(dim=-1, keepdim=True)
        read = (readouts * self.norm.weight) @ centred.transpose(1, 2)
        return weights * read / spread[..., None], readouts @ self.norm.bias + self.output.bias

    @override
    def _read(self, hidden: Hidden, keys: Tensor, values: Tensor, labels: Tensor) -> Tensor:
        narrow = self._product_dtype(hidden)
        with torch.autocast(device_type=values.device.type, dtype=narrow, enabled=narrow is not None):
            attended = self.norm(self._weights(hidden, keys, labels)[:, 0] @ values)
        return self._wide((attended * self.output.weight[labels]).sum(dim=-1) + self.output.bias)


class PlantedPLMCA(PLMCA):
    """PLM-CA whose labels have outputs of their own; takes the same options."""

    head_class = OwnOutputsHead
