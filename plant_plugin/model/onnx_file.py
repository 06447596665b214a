"""A network over words as one file of ONNX, for programs without Python or without torch (extra ``onnx``).

Shape key: **B** documents · **T** token positions · **L** labels · **V** token types.

Its inputs are ``text`` (B, T) int64, ids of words, and ``length`` (B,) int64, how many of them are real; its output
``logits`` (B, L) float32. What else predicting takes lies in its metadata: words by id, labels, thresholds.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.errors import ConfigError, PlantError, needs_extra
from plant_plugin.files import atomic_write, sha256
from plant_plugin.model.manifest import MANIFEST
from plant_plugin.model.trained import TrainedModel, load_model, read_relevance
from plant_plugin.networks.attention_head import HeadNetwork, LinearReadoutHead
from plant_plugin.networks.kernels.label_attention import label_attention_reference
from plant_plugin.networks.kernels.prior import PriorLookup

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MOST = 100_000_000  # entries of relevance (L, V), which the file has written out
TRIED = ((1, 1), (3, 17), (2, 40))  # (B, T) of made-up documents that the file has to score as the network does
NEAR = 1e-4  # logits
FIX = "serve it: plant serve"


class Exported(nn.Module):
    """A network from ids of words to logits, with each tensor of its label attention written out."""

    def __init__(self, network: HeadNetwork, relevance: Tensor | None, model: TrainedModel) -> None:
        super().__init__()
        assert isinstance(network.head, LinearReadoutHead)
        self.backbone, self.head = network.backbone, network.head
        self.of_labels = [part.detach().clone() for part in self.head._of_labels()]
        self.relevance, self.log_odds = relevance, model.log_odds

    def forward(self, text: Tensor, length: Tensor) -> Tensor:
        """Return the logits (B, L) of ``text`` (B, T), ``length`` (B,) of it real."""
        mask = torch.arange(text.shape[1])[None] < length.clamp(min=1)[:, None]  # an empty document has one position
        keys, values = self.head._of_states(self.backbone(text, length, mask))
        queries, outputs, bias = self.of_labels
        prior = None if self.relevance is None else PriorLookup(self.relevance, text)
        operands = queries, keys, values, outputs, mask
        return self.log_odds.of(bias + label_attention_reference(*operands, prior, self.head.prior_strength))


def export_onnx(folder: Path, out: Path, *, trust_code: bool = False, check: bool = True) -> None:
    """Write the network of a model folder into a file of ONNX, which has scored made-up documents as the network does.

    Raises:
        CheckpointError: ``folder`` holds no model.
        ConfigError: The model is more than a network over words, which would be lost, or torch cannot write it.
        MissingExtraError: The extra is not installed.
        PlantError: ``out`` is there already, or the file scores otherwise than the network.
    """
    if out.exists():
        raise PlantError("it is there already", where=str(out), fix="name a new one")
    with needs_extra("onnx"):
        import onnx as onnx  # for torch, as onnxscript
        import onnxruntime
        import onnxscript as onnxscript
    model = load_model(folder, trust_code=trust_code, check=check)
    network = _exported(model, folder)
    try:
        content = _written(network, _properties(model, folder))
        same = all(_same(network, onnxruntime.InferenceSession(content), *tried) for tried in _documents(model))
    except Exception as error:  # of whatever kind: torch's exporter and onnxruntime have many
        what = f"torch cannot write {type(model.network).__name__} with this encoder as ONNX ({type(error).__name__})"
        raise ConfigError(what, where=str(folder), fix=FIX) from error
    if not same:
        raise PlantError("ONNX would score otherwise than the network", where=str(folder), fix=FIX)
    with atomic_write(out) as temporary:
        temporary.write_bytes(content)


def _exported(model: TrainedModel, folder: Path) -> Exported:
    """Return the network, where it is the whole model."""
    network, shape = model.network, (len(model.labels), model.tokens.size)
    more = {
        "planted scores": model.planted_scores is not None,
        "labels that only a name makes known": model.open_labels is not None,
        "a language model": not isinstance(model.tokens, WordTokens),
    }
    if parts := [name for name, there in more.items() if there]:
        what = f"the model has {' and '.join(parts)}, which ONNX would lack"
        raise ConfigError(what, where=str(folder), fix=FIX)
    if not isinstance(network, HeadNetwork) or not isinstance(network.head, LinearReadoutHead):
        raise ConfigError(f"{type(network).__name__} cannot be written as ONNX", where=str(folder), fix=FIX)
    relevance = None
    if network.has_prior:
        if shape[0] * shape[1] > MOST:
            what = f"relevance of {shape[0]:,} labels for {shape[1]:,} words, more than a file can have written out"
            raise ConfigError(what, where=str(folder), fix=FIX)
        matrix = read_relevance(folder, model.content, model.tokens, shape[0])
        relevance = torch.from_numpy(matrix.toarray().astype(np.float32))
    return Exported(network, relevance, model).eval()


def _properties(model: TrainedModel, folder: Path) -> dict[str, object]:
    assert isinstance(model.tokens, WordTokens)
    return {
        "words": model.tokens.words,
        "splitter": model.tokens.splitter,
        "labels": model.labels,
        "thresholds": model.thresholds,
        "max_tokens": model.max_tokens,
        "hash": sha256(folder / MANIFEST),
    }


def _written(network: Exported, properties: Mapping[str, object]) -> bytes:
    """Return the file."""
    example = torch.ones(2, 8, dtype=torch.int64), torch.tensor([8, 5])
    axes = torch.export.Dim("documents"), torch.export.Dim("tokens")
    with _quiet():
        program = torch.onnx.export(
            network, example, dynamo=True, input_names=["text", "length"], output_names=["logits"],
            dynamic_shapes={"text": dict(enumerate(axes)), "length": {0: axes[0]}},
        )  # fmt: skip
    assert program is not None
    made = program.model_proto
    for name, value in properties.items():
        entry = made.metadata_props.add()
        entry.key, entry.value = name, json.dumps(value)
    content: bytes = made.SerializeToString()
    return content


def _documents(model: TrainedModel) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of made-up documents, some of them empty."""
    random = torch.Generator().manual_seed(0)
    for documents, tokens in TRIED:
        text = torch.randint(1, model.tokens.size, (documents, tokens), generator=random)
        length = torch.randint(0, tokens + 1, (documents,), generator=random)
        yield text.masked_fill(torch.arange(tokens) >= length[:, None], 0), length


def _same(network: Exported, session: InferenceSession, text: Tensor, length: Tensor) -> bool:
    """Tell whether a file scores documents as its network does."""
    with torch.inference_mode():
        expected = network(text, length).numpy()
    scored = session.run(None, {"text": text.numpy(), "length": length.numpy()})[0]
    return np.allclose(scored, expected, rtol=NEAR, atol=NEAR)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Let torch's exporter say nothing of its steps."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
