"""The empty network, for planted scores that do without a network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from typing_extensions import override

from plant_plugin.config.values import Value
from plant_plugin.networks.plantable import Hidden, PlantableNetwork

NO_NETWORK = f"{__name__}:NoNetwork"  # the name that `construct` and a checkpoint know it by


class NoNetwork(PlantableNetwork):
    """Logits of 0 for every label, attention alike on every token, nothing to train."""

    def __init__(self, num_classes: int, **unread: Value) -> None:
        super().__init__()
        self.num_labels = num_classes
        self.backbone = _NoStates()

    @override
    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        return torch.zeros(*labels.shape, hidden.mask.shape[1], device=labels.device)

    @override
    def logits(self, hidden: Hidden) -> Tensor:
        return torch.zeros(len(hidden.mask), self.num_labels, device=hidden.mask.device)

    @override
    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        return self.scores(hidden, labels), torch.zeros(labels.shape, device=labels.device)

    @override
    def planted_parameters(self) -> list[nn.Parameter]:
        return []


class _NoStates(nn.Module):
    """States of width 0."""

    @override
    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        return torch.zeros(*text.shape, 0, device=text.device)
