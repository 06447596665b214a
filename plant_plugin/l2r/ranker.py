"""Stage 1 of the first PLANT: the ranker of tokens for labels is trained by itself, on the relevance of word types.

Shape key: **M** labels of a batch · **K** tokens of a label's list · **L** labels · **V** words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from plant_plugin.config.sections import Settings
from plant_plugin.data.batches import Batches
from plant_plugin.errors import ConfigError
from plant_plugin.l2r.network import PLANTL2R, Ranker
from plant_plugin.networks.kernels.ranking_loss import lambda_rank_loss
from plant_plugin.networks.losses import attention_ndcg
from plant_plugin.report.run import Run
from plant_plugin.training.inputs import Inputs
from plant_plugin.training.loop import train_stage
from plant_plugin.training.stage import StageModule

LIST = 256  # most relevant words of a label that are ranked, and as many drawn ones


class LabelLists(Batches):
    """Batches of labels, each with its most relevant words and as many drawn ones; or, to validate, with all words.

    Each batch holds ``document`` (M,), the labels, ``text`` (M, K), their words, and ``relevance`` (M, K). Epoch, seed
    and label decide which words are drawn.
    """

    def __init__(
        self, relevance: sparse.csr_array, words: npt.NDArray[np.int64], batch_size: int, seed: int, *, whole: bool
    ) -> None:
        self.relevance, self.words, self.batch_size, self.seed, self.whole = relevance, words, batch_size, seed, whole
        self.known = np.flatnonzero(np.diff(relevance.indptr))  # labels with relevant words
        self.epoch, self.start = 0, 0

    def __len__(self) -> int:
        return -(-len(self.known) // self.batch_size)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        return map(self.batch, self.order()[self.start :])

    def order(self) -> list[npt.NDArray[np.int64]]:
        """Return the labels of each batch of the next pass."""
        order = self.known if self.whole else np.random.default_rng([self.seed, self.epoch]).permutation(self.known)
        return [order[first : first + self.batch_size] for first in range(0, len(order), self.batch_size)]

    def positions(self, documents: npt.NDArray[np.int64]) -> int:
        """Return the number of labels: all lists are equally long."""
        return len(documents)

    def batch(self, documents: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """Return the batch of these labels."""
        rows = self.relevance[documents].toarray()
        if self.whole:
            text = np.broadcast_to(self.words, (len(documents), len(self.words)))
        else:
            text = self._drawn(documents, rows)
        relevance = np.take_along_axis(rows, text, axis=1)
        none = np.empty(0, np.int64)  # documents' labels
        named = {"document": documents.astype(np.int64), "text": np.ascontiguousarray(text), "relevance": relevance,
                 "label_row": none, "label_column": none}  # fmt: skip
        return {name: torch.from_numpy(value) for name, value in named.items()}

    def _drawn(self, labels: npt.NDArray[np.int64], rows: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
        """Return the most relevant words of each label and as many drawn ones; all rows are equally long."""
        width = min(LIST, int(np.diff(self.relevance.indptr)[labels].max()), len(self.words))
        random = np.random.default_rng([self.seed, self.epoch, int(labels[0])])
        best = np.argpartition(-rows, width - 1, axis=1)[:, :width]
        drawn = random.choice(self.words, size=(len(labels), width))
        # a word that occurs twice makes a pair of equal relevance, which does not count
        return np.concatenate([best, drawn], axis=1)


class RankerStage(StageModule):
    """Training of the ranker; it watches nDCG@k over all words, which is the quality of the training: all is known."""

    stage = "stage1"
    log_name = "stage1"
    ranker: Ranker

    def trained_groups(self) -> dict[str, list[nn.Parameter]]:
        """Return the ranker, as the planted part."""
        return {"encoder": [], "attention": [*self.ranker.parameters()], "rest": []}

    def training_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the ranking loss of the lists, a mean over labels (the paper's sum: a constant factor)."""
        options = self.settings.stage1
        scores = self.ranker.of_pairs(batch["document"], batch["text"])
        return lambda_rank_loss(*_lists(scores, batch), k=options.k, pairs=options.pairs).mean()

    def on_validation_epoch_start(self) -> None:
        """Forget the last epoch's values."""
        self._ndcg: list[Tensor] = []

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        """Compute the nDCG@k of each label over all words."""
        scores = self.ranker(batch["text"][0], batch["document"]).t()
        self._ndcg.append(attention_ndcg(*_lists(scores, batch), k=self.settings.stage1.k))

    def on_validation_epoch_end(self) -> None:
        """Log their mean."""
        self.keep_epoch({self.monitor: float(torch.cat(self._ndcg).nanmean())})


def _lists(scores: Tensor, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return scores, relevance and mask as the losses take them, each label as a document."""
    return scores[:, None], batch["relevance"][:, None], torch.ones_like(scores, dtype=torch.bool)


def run_ranker(network: PLANTL2R, inputs: Inputs, settings: Settings, run: Run) -> None:
    """Train the ranker, and let each direction start from it.

    Raises:
        ConfigError: The network has no ranker.
    """
    rankers, options = network.rankers(), settings.stage1
    if not rankers:
        fix = "say strategy: end_to_end, or differentiable: true"
        raise ConfigError(
            "stage 1 trains the ranker, and there is none", where="network_config.differentiable", fix=fix
        )
    tokens = inputs.documents.tokens
    assert inputs.relevance is not None
    words = np.setdiff1d(np.arange(tokens.size), tokens.special_ids)
    lists = inputs.relevance.matrix, words, settings.stage1_batch_size, settings.seed or 0
    train, val = (LabelLists(*lists, whole=whole) for whole in (False, True))
    module = RankerStage(network, options, settings, train, val)
    module.ranker, module.monitor, module.stop_on = rankers[0], *[f"ranker-nDCG@{options.k}"] * 2
    train_stage(module, run)
    for other in rankers[1:]:
        other.load_state_dict(rankers[0].state_dict())
