"""PLM-CA with an output of each label's own; its formula is tried with that of the head with one."""

from __future__ import annotations

import torch
from literal_heads import LABELS, hidden_states

from plant_plugin.networks.language_baselines import CrossAttentionHead
from plant_plugin.networks.planted_plm_ca import OwnOutputsHead


def test_it_starts_as_the_head_with_one_output() -> None:
    hidden, _ = hidden_states(4)
    torch.manual_seed(1)
    one = CrossAttentionHead(4, LABELS).double()
    torch.manual_seed(1)
    each = OwnOutputsHead(4, LABELS).double()
    torch.testing.assert_close(each(hidden), one(hidden))
    assert each.output.weight.shape == (LABELS, 4)
    each.start_at(-2)
    assert each.output.bias.tolist() == [-2]
