"""A network as a user would write it: the mean of a word and its neighbours, under a query per label."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from plant_plugin.networks.plantable import Hidden, PlantableNetwork


class Neighbours(nn.Module):
    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors.clone(), freeze=False, padding_idx=0)

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        words = self.embedding(text) * mask[:, :, None]
        return words + nn.functional.pad(words, (0, 0, 1, 0))[:, :-1]


class OwnNetwork(PlantableNetwork):
    def __init__(self, num_classes: int, embed_vecs: Tensor, sharpness: float = 1.0, prior: bool = False) -> None:
        super().__init__()
        self.num_labels, self.sharpness, self.has_prior = num_classes, sharpness, prior
        self.backbone = Neighbours(embed_vecs)
        self.queries = nn.Parameter(torch.randn(num_classes, embed_vecs.shape[1]))
        self.readout = nn.Linear(embed_vecs.shape[1], num_classes)

    def planted_parameters(self) -> list[nn.Parameter]:
        return [self.queries]

    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        return self.sharpness * self.queries[labels] @ hidden.states.transpose(1, 2)

    def logits(self, hidden: Hidden) -> Tensor:
        labels = torch.arange(self.num_labels).expand(len(hidden.states), -1)
        scores = self.scores(hidden, labels)
        if hidden.prior is not None:
            scores = scores + 4 * hidden.prior.of_labels(labels)
        attention = scores.masked_fill(~hidden.mask[:, None], float("-inf")).softmax(dim=-1)
        return (attention @ hidden.states * self.readout.weight).sum(dim=-1) + self.readout.bias
