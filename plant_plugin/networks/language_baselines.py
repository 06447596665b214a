"""The networks ``PLMICD`` and ``PLMCA``: a pretrained encoder over windows of a long document, under label attention.

Shape key: **B** documents · **T** token positions · **L** labels · **H** hidden width · **M** chosen labels of a
document.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from typing_extensions import override

from plant_plugin.config.values import Value
from plant_plugin.networks import options
from plant_plugin.networks.attention_head import INITIAL_SPREAD, AttentionHead, HeadNetwork, LabelwiseHead, pick
from plant_plugin.networks.backbone import HuggingFaceBackbone, backbone_class, read_options
from plant_plugin.networks.plantable import Hidden

BLOCK_ELEMENTS = 2**22  # of one (B, labels, T or H) tensor; 16 MiB in float32


class PLMICD(HeadNetwork):
    """Windows of a document through a pretrained encoder, their states joined, then LAAT's attention over all of them.

    Padding gets no attention here, unlike in the authors' program.

    Source: Huang, Tsai and Chen 2022, PLM-ICD: Automatic ICD Coding with Pretrained Language Models, section 3; start
    values of the head's weights as in Edin et al. 2023.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor | None = None, **network_config: Value) -> None:
        settings, _ = read_options(options.PLMICD, network_config)
        backbone = _backbone(settings)
        width = backbone.hidden_size
        head = LabelwiseHead(width, num_classes, settings.projection_size or width, settings.strength, INITIAL_SPREAD)
        super().__init__(backbone, head, settings)


class CrossAttentionHead(AttentionHead):
    """logit_l = w · LayerNorm(softmax(c_l · (W_k h_t)) (W_v h_t + b_v)) + b, with one w for all labels.

    The layer norm is between attention and output, so the output cannot be folded into the attention. The attended
    values exist for one block of labels at a time, and the backward pass computes them again.

    Source: Edin et al. 2024, An Unsupervised Approach to Achieve Supervised-Level Explainability in Healthcare Records,
    section on PLM-CA; the authors' program for biases and start values.
    """

    def __init__(self, hidden_size: int, num_labels: int, prior_strength: float | None = None) -> None:
        super().__init__(num_labels, 1, prior_strength)
        self.label_embeddings = nn.Parameter(torch.empty(num_labels, hidden_size))
        self.key = nn.Linear(hidden_size, hidden_size, bias=False)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)
        self.output = nn.Linear(hidden_size, 1)
        for weight in (self.label_embeddings, self.key.weight, self.value.weight, self.output.weight):
            nn.init.normal_(weight, std=INITIAL_SPREAD)

    @override
    def attention_parameters(self) -> list[nn.Parameter]:
        return [self.label_embeddings, *self.key.parameters()]

    @override
    def queries(self, labels: Tensor | None = None) -> Tensor:
        return pick(self.label_embeddings, labels).unsqueeze(-2)

    @override
    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.key(states)
        return keys.unsqueeze(-2)

    @override
    def forward(self, hidden: Hidden) -> Tensor:
        keys, values = self._wide(self.keys(hidden.states)), self._wide(self.value(hidden.states))
        documents, positions, width = values.shape
        size = max(1, BLOCK_ELEMENTS // (documents * max(positions, width)))
        blocks = []
        for labels in torch.arange(self.num_labels, device=values.device).split(size):
            arguments = (hidden, keys, values, labels.expand(documents, -1))
            again = torch.is_grad_enabled()
            blocks.append(checkpoint(self._read, *arguments, use_reentrant=False) if again else self._read(*arguments))
        return torch.cat(blocks, dim=1)

    @override
    def selected_logits(self, hidden: Hidden, labels: Tensor) -> Tensor:
        keys, values = self._wide(self.keys(hidden.states)), self._wide(self.value(hidden.states))
        return self._read(hidden, keys, values, labels)

    @override
    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Split the logit, with the layer norm's divisor σ of a document and label taken as a constant.

        The norm's centring is linear, so that the logit is Σ_t softmax_t · (w ⊙ g) · (v_t - mean(v_t)) / σ, plus a rest
        from the norm's shift and the bias.
        """
        values = self._wide(self.value(hidden.states))
        weights = self._weights(hidden, self._wide(self.keys(hidden.states)), labels)[:, 0]  # (B, M, T)
        spread = ((weights @ values).var(dim=-1, unbiased=False) + self.norm.eps).sqrt()  # (B, M)
        readout = self.output.weight[0]
        read = (values - values.mean(dim=-1, keepdim=True)) @ (readout * self.norm.weight)  # (B, T)
        rest = self.norm.bias @ readout + self.output.bias
        return weights * read[:, None] / spread[..., None], rest.expand(labels.shape)

    def _read(self, hidden: Hidden, keys: Tensor, values: Tensor, labels: Tensor) -> Tensor:
        narrow = self._product_dtype(hidden)
        with torch.autocast(device_type=values.device.type, dtype=narrow, enabled=narrow is not None):
            attended = self._weights(hidden, keys, labels)[:, 0] @ values  # (B, M, H)
            logits: Tensor = self.output(self.norm(attended)).squeeze(-1)
        return self._wide(logits)


class PLMCA(HeadNetwork):
    """Windows of a document through a pretrained encoder, then cross attention of label embeddings to its states.

    Source: Edin et al. 2024, An Unsupervised Approach to Achieve Supervised-Level Explainability in Healthcare Records.
    """

    head_class = CrossAttentionHead

    def __init__(self, num_classes: int, embed_vecs: Tensor | None = None, **network_config: Value) -> None:
        settings, _ = read_options(options.PLMCA, network_config)
        backbone = _backbone(settings)
        super().__init__(backbone, self.head_class(backbone.hidden_size, num_classes, settings.strength), settings)


def _backbone(settings: options.Windows) -> HuggingFaceBackbone:
    build = backbone_class(settings.lm_weight)
    return build(settings.lm_weight, settings.lm_window, dropout=settings.post_encoder_dropout)
