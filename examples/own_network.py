"""A network of your own on the made-up notes, with its attention planted and without: ``python own_network.py``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from plant_plugin.config import load_config
from plant_plugin.networks.backbone import WordBackbone
from plant_plugin.networks.plantable import Hidden, PlantableNetwork
from plant_plugin.training.run import run


class DotProduct(PlantableNetwork):
    """One query for each label over a convolution of the words."""

    def __init__(self, num_classes: int, embed_vecs: Tensor, hidden_size: int = 64, embed_dim: int = 64) -> None:
        super().__init__()
        self.num_labels = num_classes
        self.backbone = WordBackbone("cnn", embed_vecs, hidden_size=hidden_size, filter_sizes=[5])
        self.queries = nn.Parameter(torch.randn(num_classes, hidden_size) / hidden_size**0.5)
        self.readout = nn.Linear(hidden_size, num_classes)

    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        return self.queries[labels] @ hidden.states.transpose(1, 2)  # (B, M, T)

    def logits(self, hidden: Hidden) -> Tensor:
        labels = torch.arange(self.num_labels, device=hidden.states.device).expand(len(hidden.states), -1)
        attended = self.attention(hidden, labels) @ hidden.states  # (B, L, H)
        return (attended * self.readout.weight).sum(dim=-1) + self.readout.bias

    def planted_parameters(self) -> list[nn.Parameter]:
        return [self.queries]  # what stage 1 trains besides the backbone


def main(**changes: Any) -> None:
    network = {"model_name": "own_network:DotProduct", "network_config": {"hidden_size": 64}}
    for strategy, epochs in (("plant", 3), ("end_to_end", 4)):  # stage 1's epoch is given to the single stage
        values = {**network, "strategy": strategy, "stage2.epochs": epochs, "silent": True, **changes}
        result = run(load_config("plant_demo.yml", values))
        print(f"{strategy:<10}  P@5 {result['metrics']['P@5']:.3f}  nDCG@5 {result['metrics']['nDCG@5']:.3f}")


if __name__ == "__main__":
    main()
