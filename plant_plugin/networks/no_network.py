"""What stands in a network's place where planted scores are to do without one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from plant_plugin.config.values import Value
from plant_plugin.networks.plantable import Hidden, PlantableNetwork

NO_NETWORK = f"{__name__}:NoNetwork"  # the name that `construct` and a checkpoint know it by


class NoNetwork(PlantableNetwork):
    """Logits of 0 for every label, attention alike on every token, nothing to train."""

    def __init__(self, num_classes: int, **unread: Value) -> None:
        super().__init__()
        self.num_labels = num_classes
        self.backbone = _NoStates()

    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Zeros (B, M, T)."""
        return torch.zeros(*labels.shape, hidden.mask.shape[1], device=labels.device)

    def logits(self, hidden: Hidden) -> Tensor:
        """Zeros (B, L)."""
        return torch.zeros(len(hidden.mask), self.num_labels, device=hidden.mask.device)

    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Zeros (B, M, T) and (B, M): no token adds anything."""
        return self.scores(hidden, labels), torch.zeros(labels.shape, device=labels.device)

    def planted_parameters(self) -> list[nn.Parameter]:
        """None."""
        return []


class _NoStates(nn.Module):
    """States of width 0."""

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        """(B, T, 0)."""
        return torch.zeros(*text.shape, 0, device=text.device)
