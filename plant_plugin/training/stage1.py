"""Stage 1: plant the attention by learning to rank tokens by their relevance (method §3), or in closed form.

Shape key: **B** documents · **T** token positions · **L** labels · **V** vocabulary · **A** heads · **D** width of one
head · **M** labels chosen for a document.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from scipy import sparse
from torch import Tensor, nn
from tqdm import tqdm

from plant_plugin.config import Config
from plant_plugin.config.options import Stage1Options
from plant_plugin.data.batches import Batches, move
from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.losses import attention_ndcg, distribution_mse_loss, lambda_rank_loss
from plant_plugin.networks.plantable import Hidden, PlantableNetwork
from plant_plugin.report.logs import append_log
from plant_plugin.report.run import Run
from plant_plugin.training.devices import at_first, device_of, from_first, is_first, same_weights
from plant_plugin.training.loop import train_stage
from plant_plugin.training.prepare import Prepared
from plant_plugin.training.stage import StageModule, place_of, positives_of

RIDGE = 0.01  # of the mean variance of a key, in closed form
VALIDATION_SEED = 20_240_229  # the same labels are drawn at every validation, so that epochs can be compared


class Stage1(StageModule):
    """Trains the encoder and the planted part of the head; watches nDCG@K of the attention on validation documents."""

    stage = "stage1"
    logs = ("stage1",)
    options: Stage1Options

    def trained_groups(self) -> dict[str, list[nn.Parameter]]:
        """Without ``rest``: boosts, values and classifier have no gradient here."""
        return {**super().trained_groups(), "rest": []}

    def training_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Ranking loss summed over the chosen labels of a document, averaged over documents."""
        hidden = self.network.encode(batch)
        labels, chosen = choose_labels(positives_of(batch, self.network.num_labels), self.options.labels)
        relevance = relevance_of(self.network, batch, labels)
        losses = attention_loss(self.network, hidden, labels, relevance, self.options)
        return (losses * chosen).sum(dim=1).mean()

    def on_validation_epoch_start(self) -> None:
        """Forget the last epoch's values."""
        self._found: list[Tensor] = []

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        """NDCG@K of the scores against the relevance over all tokens of each document, for its chosen labels."""
        found = ranked(self.network, batch, self.options, place_of(batch_idx))
        if "surplus" not in batch:
            self._found.append(found)

    def on_validation_epoch_end(self) -> None:
        """Log the mean over (document, label) pairs that have anything to rank."""
        found = [values for process in at_first(self._found) for values in process]
        self.keep_epoch({self.monitor: from_first(lambda: _mean(found))})


def monitor_of(options: Stage1Options) -> str:
    """Name of the watched metric."""
    return f"attention-nDCG@{options.k}"


def relevance_of(network: PlantableNetwork, batch: dict[str, Tensor], labels: Tensor) -> Tensor:
    """Relevance (B, M, T) of a batch's tokens for chosen labels (B, M).

    Where the batch has evidence, a token inside a document's own spans of a label has 1/2 and more, all others half
    of their mutual information: method §9.
    """
    prior = network.relevance_of(batch, "evidence")
    if prior is None:
        raise RuntimeError("stage 1 needs a planted relevance")
    return prior.of_labels(labels) / (1 if prior.marks is None else 2)


def ranked(network: PlantableNetwork, batch: dict[str, Tensor], options: Stage1Options, place: int) -> Tensor:
    """NDCG@K of the attention's scores against the relevance, of each chosen (document, label) pair of a batch.

    Its ``place`` among all batches decides which labels are drawn.
    """
    generator = torch.Generator(device=batch["text"].device).manual_seed(VALIDATION_SEED + place)
    labels, chosen = choose_labels(positives_of(batch, network.num_labels), options.labels, generator)
    scores = network.scores(network.encode(batch), labels)
    return attention_ndcg(scores, relevance_of(network, batch, labels), batch["mask"], options.k)[chosen].cpu()


def _mean(found: Sequence[Tensor]) -> float:
    """Over the pairs that have anything to rank; 0 where none has."""
    value = float(torch.cat(list(found)).nanmean()) if found else 0.0
    return 0.0 if value != value else value


def choose_labels(
    positives: Tensor, wanted: int | str, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """The labels whose attention is trained for each document: all, its positives, or with random others so many.

    Returns:
        ``labels`` (B, M) ids and ``chosen`` (B, M) bool, false where a row is only filled up.
    """
    batch, num_labels = positives.shape
    counts = positives.sum(dim=1)
    if wanted == "all":
        labels = torch.arange(num_labels, device=positives.device).expand(batch, -1)
        return labels, torch.ones_like(labels, dtype=torch.bool)
    most = int(counts.max()) if batch else 0
    width = max(1, min(num_labels, most if wanted == "positive" else max(most, int(wanted))))
    keys = torch.rand(batch, num_labels, device=positives.device, generator=generator)
    labels = keys.masked_fill(positives, 2.0).topk(width, dim=1).indices
    limit = counts if wanted == "positive" else counts.clamp(min=min(int(wanted), num_labels))
    return labels, torch.arange(width, device=positives.device) < limit[:, None]


def attention_loss(
    network: PlantableNetwork, hidden: Hidden, labels: Tensor, relevance: Tensor, options: Stage1Options
) -> Tensor:
    """The configured loss (B, M) of the attention for chosen labels."""
    if options.loss == "mse":
        return distribution_mse_loss(network.attention(hidden, labels), relevance, hidden.mask)
    probability = options.score == "probability"
    scores = network.attention(hidden, labels) if probability else network.scores(hidden, labels)
    return lambda_rank_loss(
        scores.float(), relevance, hidden.mask, k=options.k, sigma=options.sigma, pairs=options.pairs
    )


def run_stage1(network: PlantableNetwork, prepared: Prepared, config: Config, run: Run) -> None:
    """Plant the attention in place, by training or in closed form."""
    options = config.stage1
    if options.method == "gradient":
        module = Stage1(network, options, config, *prepared.batches(options, config))
        module.monitor = module.stop_on = monitor_of(options)
        module.guard.hashes = functools.partial(prepared.text_hashes, "train")
        train_stage(module, run)
        return
    if is_first():
        device = device_of(config.cpu)
        plant_queries(network, prepared, options.strength, device, silent=config.silent)
        run.log("stage 1 in closed form: no epochs, no loss")
        if "val" in prepared.arrays:
            append_log(config.log_path, "stage1", _validated(network, prepared.split("val"), options, device))
    same_weights(network)


def _validated(
    network: PlantableNetwork, batches: Batches, options: Stage1Options, device: torch.device
) -> dict[str, float]:
    """What a network without epochs of stage 1 ranks."""
    network.eval()
    with torch.inference_mode():
        found = [ranked(network, move(batch, device), options, place) for place, batch in enumerate(batches)]
    network.train()
    return {monitor_of(options): _mean(found)}


def plant_queries(
    network: PlantableNetwork, prepared: Prepared, strength: float, device: torch.device, *, silent: bool
) -> None:
    """Give every label the queries whose scores are nearest to its relevance, times ``strength``; in place.

    For label l and each head, over all token positions of the training split, means taken off:
    ``q_l = strength · (Σ k kᵀ + α·I)⁻¹ Σ r_l k``, with the keys k of the network as it is. One pass over the documents
    without gradients; (V, A·D) numbers are held.

    Raises:
        ConfigError: The network does not show its queries.

    Source: ours; least squares in the place of the ranking loss of PLANT's stage 1.
    """
    if not isinstance(network, HeadNetwork):
        what = f"{type(network).__name__} has no attention head whose queries could be set"
        fix = "use method: gradient, or derive the network from HeadNetwork"
        raise ConfigError(what, where="stage1.method: closed_form", fix=fix)
    assert prepared.relevance is not None
    relevance = prepared.relevance.matrix
    network.to(device).eval()
    of_types, counts, products = None, torch.zeros(relevance.shape[1]), None
    with torch.inference_mode():
        for batch in tqdm(prepared.split("train"), "stage 1", leave=False, disable=silent):
            hidden = network.encode(move(batch, device))
            keys = network.head.keys(hidden.states)[hidden.mask].float().cpu()  # (tokens, A, D)
            types = batch["text"][hidden.mask.cpu()]
            if of_types is None or products is None:
                of_types = torch.zeros(relevance.shape[1], *keys.shape[1:])
                products = torch.zeros(keys.shape[1], keys.shape[2], keys.shape[2], dtype=torch.float64)
            of_types.index_add_(0, types, keys)
            counts.index_add_(0, types, torch.ones(len(types)))
            products += torch.einsum("nad,nae->ade", keys, keys).double()
    network.train()
    assert of_types is not None
    assert products is not None
    heads = [_solve(relevance, of_types[:, head], counts, products[head]) for head in range(len(products))]
    network.head.plant_queries(strength * torch.stack(heads, dim=1).float().to(device))


def _solve(relevance: sparse.csr_array, sums: Tensor, counts: Tensor, products: Tensor) -> Tensor:
    """Queries (L, D) of a head: relevance (L, V), sums (V, D) and counts (V,) of keys by token, their Σ k kᵀ (D, D)."""
    total, mean = counts.sum().double(), sums.sum(dim=0).double() / counts.sum()
    covariance = products - total * torch.outer(mean, mean)
    covariance += RIDGE * covariance.diagonal().mean() * torch.eye(len(mean), dtype=torch.float64)
    with_relevance = torch.from_numpy(relevance @ sums.numpy()).double()
    of_labels = torch.from_numpy(relevance @ counts.numpy()).double()
    return torch.linalg.solve(covariance, (with_relevance - torch.outer(of_labels, mean)).T).T
