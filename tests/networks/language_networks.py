"""Small networks over tiny language models, and a batch for them."""

from __future__ import annotations

from typing import Any

import torch
from tiny_language_models import WORDS
from torch import Tensor

from plant_plugin.networks.options import LoraOptions
from plant_plugin.networks.plant import PLANT

LORA = LoraOptions(r=4)


def network(lm_weight: str, seed: int = 1, **options: Any) -> PLANT:
    torch.manual_seed(seed)
    return PLANT(5, lm_weight=lm_weight, num_heads=2, pool_size=4, **options)


def batch() -> dict[str, Tensor]:
    length = torch.tensor([20, 7])
    text = torch.randint(3, WORDS, (2, 20), generator=torch.Generator().manual_seed(0))
    return {"text": text, "length": length, "mask": torch.arange(20) < length[:, None]}
