"""A trained model: as a folder holds it, and on the device that it runs on; scores of documents.

Shape key: **N** documents · **B** documents of a batch · **L** labels · **V** token types.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from typing_extensions import Self

from plant_plugin.data.batches import Batches, Places, TokenMarks, move
from plant_plugin.data.documents import label_hash
from plant_plugin.data.several import several
from plant_plugin.data.token_arrays import WHOLE_DOCUMENT, TokenArrays
from plant_plugin.data.tokens import Tokens, load_tokens
from plant_plugin.data.unicode_forms import composed
from plant_plugin.data.word_tokens import VOCABULARY_FILE
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.model.folder import (
    COMPLETE,
    HALF,
    Content,
    read_content,
    read_labels,
    read_log_odds,
    read_network,
)
from plant_plugin.model.manifest import CONFIG, LABELS, RELEVANCE, verify
from plant_plugin.model.named_evidence import ReadsNames
from plant_plugin.model.passages import EvidenceRule, read_rule
from plant_plugin.model.places import model_folder
from plant_plugin.model.scored_label import ScoredLabel as ScoredLabel  # where its users look for it
from plant_plugin.networks.backbone.loading import made_on
from plant_plugin.networks.kernels.label_attention import plain_where_short
from plant_plugin.networks.no_network import NO_NETWORK
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.relevance.log_odds import NOT_FITTED, LogOdds
from plant_plugin.relevance.marks import phrase_marks
from plant_plugin.relevance.mutual_information import Floats, Relevance, Small
from plant_plugin.relevance.names.open_labels import OpenLabels, all_scored, read_open
from plant_plugin.relevance.phrases import Phrases
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.report.record import FIRST_PASS

Names = Callable[[str], str | None]
# Labels (B, S) ascending, or None for all L; their logits, places of the texts (B,) and tokens read (B,): each batch.
ScoredBatches = Iterator[tuple[Small | None, Floats, Places, Places]]
Loaded = TypeVar("Loaded", bound="ReadyModel")
Item = TypeVar("Item")

CHUNK_BATCHES = 16  # batches read ahead and sorted by length: less padding, and still a bounded number of texts
# owner/name on the hub; no path that climbs or starts at the root
REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
TUNED = "micro"  # the threshold taken where none is asked for and the model has it


def in_chunks(items: Iterable[Item], batch_size: int) -> Iterator[list[Item]]:
    """Take as many texts, or documents, at a time as a model reads ahead."""
    items = iter(items)
    while chunk := list(itertools.islice(items, CHUNK_BATCHES * batch_size)):
        yield chunk


@dataclass(eq=False, repr=False)
class TrainedModel:
    """The content of a model folder."""

    network: PlantableNetwork  # with its relevance planted where it has a prior
    tokens: Tokens  # the vocabulary
    labels: list[str]  # in column order
    thresholds: dict[str, float]  # name -> threshold, in logits; ``0.5`` is always there
    content: Content
    log_odds: LogOdds  # what makes the sums of all its parts log odds
    planted_scores: PlantedScores | None = None  # what is added to the network's scores
    open_labels: OpenLabels | None = None  # None: there are no labels but those of training

    @property
    def phrases(self) -> Phrases | None:
        """Return the phrases that its evidence was, or None."""
        return None if self.planted_scores is None else self.planted_scores.phrases

    @property
    def max_tokens(self) -> int:
        """Return how many tokens of a document are read."""
        return (self.content["max_seq_length"] if self.has_network else None) or WHOLE_DOCUMENT

    @property
    def has_network(self) -> bool:
        """Tell whether there is a network beside the planted scores."""
        return self.content["model_name"] != NO_NETWORK

    def check_calibrated(self, where: str) -> None:
        """Refuse to add up probabilities that were not fitted to validation documents: a ConfigError."""
        if self.log_odds == NOT_FITTED:
            what = "it adds up probabilities, and those of this model were not fitted to validation documents"
            fix = "leave it out, or train anew, with validation documents (val_file, or val_size)"
            raise ConfigError(what, where=where, fix=fix)

    @property
    def network_name(self) -> str:
        """Return what the network is called, or that there is none."""
        return self.content["model_name"] if self.has_network else "none, planted scores alone"

    def batches(self, texts: Sequence[str], batch_size: int, shortlist: Small | None = None) -> Batches:
        """Return texts as batches for the network, the longest first, with what phrases mark where it reads that.

        ``shortlist`` (N, S) is :meth:`shortlist`'s where that is known.
        """
        arrays, marks = self.tokens.encode(texts, self.max_tokens), None
        strength = self.content["phrase_prior"]
        if self.phrases is not None and strength:
            places = partial(self.tokens.spans, max_length=self.max_tokens)
            marks = phrase_marks(self.phrases, texts, arrays, places, strength)
        return self.unlabelled(arrays, batch_size, marks, self.shortlist(texts) if shortlist is None else shortlist)

    def shortlist(self, texts: Sequence[str]) -> Small | None:
        """Return the labels of each text that the network scores, (N, S) ascending; None: all."""
        size = self.content["shortlist"]
        return None if size is None or self.planted_scores is None else self.planted_scores.proposed(texts, size)

    def unlabelled(
        self,
        arrays: TokenArrays,
        batch_size: int,
        marks: TokenMarks | None = None,
        shortlist: Small | None = None,
    ) -> Batches:
        """Return token ids as batches for the network, the longest documents first."""
        nothing = (np.empty(0, np.float32), np.empty(0, np.int64), np.zeros(len(arrays) + 1, np.int64))
        labels = sparse.csr_array(nothing, shape=(len(arrays), len(self.labels)))
        pad = self.tokens.pad_id
        return Batches(arrays, labels, batch_size, pad, shuffle=False, seed=0, marks=marks, shortlist=shortlist)


def load_model(
    folder: Path, lm_weight: str | None = None, *, trust_code: bool = False, check: bool = True
) -> TrainedModel:
    """Read the folder of a finished run, or of ``plant export``.

    Args:
        folder: The model folder.
        lm_weight: Where the language model lies on this machine, if it is not part of the checkpoint; None: where it
            lay in training.
        trust_code: Import and run what the folder names beside this package's networks: a network of somebody's own,
            code that comes with a language model. It is said on standard error before.
        check: Compare every file with the folder's manifest; else only their sizes.

    Raises:
        CheckpointError: The folder is no model, or torn, or its parts do not belong together, or it names code.
    """
    content = read_content(folder, trust_code=trust_code)
    verify(folder, contents=check)
    labels, thresholds = read_labels(folder)
    if label_hash(labels) != content["hashes"]["labels"]:
        what = "not the labels that the model was trained for, or not in their order"
        raise CheckpointError(what, where=str(folder / LABELS), fix=COMPLETE)
    tokens = load_tokens(folder)
    if tokens.hash() != content["hashes"]["vocabulary"]:
        what = "not the vocabulary that the model was trained for"
        raise CheckpointError(what, where=str(folder / VOCABULARY_FILE), fix=COMPLETE)
    if (vectors := content["word_vectors"]) is not None and vectors[0] != tokens.size:
        what = f"word_vectors of {vectors[0]:,} words, and the vocabulary has {tokens.size:,}"
        raise CheckpointError(what, where=str(folder / CONFIG), fix=COMPLETE)
    network = read_network(folder, content, len(labels), lm_weight)
    if network.has_prior:
        network.plant_relevance(read_relevance(folder, content, tokens, len(labels)))
    of_labels = content["hashes"]["labels"], len(labels)
    planted = PlantedScores.load(folder, *of_labels) if content["planted_scores"] else None
    log_odds, named = read_log_odds(folder), read_open(folder, labels, planted)
    return TrainedModel(network, tokens, labels, thresholds, content, log_odds, planted, named)


def one_text(text: object) -> str:
    """Return a text in composed form (NFC); a ConfigError where it is something else."""
    if not isinstance(text, str):
        fix = "give each document as a string, an empty one where it has no text"
        raise ConfigError(f"{type(text).__name__}, where a text is expected", where="texts", fix=fix)
    return composed(text)


def read_relevance(folder: Path, content: Content, tokens: Tokens, num_labels: int) -> sparse.csr_array:
    """Read the relevance (L, V) that belongs to a model; a CheckpointError where it is torn or another's."""
    hashes = {"labels": content["hashes"]["labels"], "vocabulary": tokens.hash()}
    return Relevance.load(folder / RELEVANCE, hashes, (num_labels, tokens.size)).matrix


class ReadyModel(ReadsNames, TrainedModel):
    """A model on its device, as every use of a model folder needs it.

    Its methods are not to be called from two threads at once.

    Attributes:
        name: What explanations call the model: the folder's name, until another is set.
        labels: The label set, in column order: those of training, then those that only a name makes known.
        num_trained: The number of the former.
        thresholds: Name -> threshold, in logits.
        max_tokens: How many tokens of a document are read.
    """

    def __init__(
        self, model: TrainedModel, folder: Path, device: torch.device, names: Names | None = None, batch_size: int = 32
    ) -> None:
        super().__init__(**vars(model))
        self.folder, self.device = folder, device
        self.names: Names = names or dict[str, str]().get
        self.widen()
        self.name, self.batch_size = folder.resolve().name, batch_size
        self.network.to(device).eval()
        self.network.fold()

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        device: str | None = None,
        names: Names | None = None,
        batch_size: int = 32,
        trust_code: bool = False,
        check: bool = True,
    ) -> Self:
        """Read the folder of a finished run of our strategies: any network, word-level or over a language model.

        Args:
            folder: The run's folder.
            device: E.g. ``cpu`` or ``cuda:1``; None: the first GPU where there is one.
            names: Names of labels; see :func:`plant_plugin.data.label_names.label_names`.
            batch_size: Documents scored at once.
            trust_code: Import and run code that the folder names beside this package's networks.
            check: Compare every file with the folder's manifest; else only their sizes.

        Raises:
            CheckpointError: The folder is no model, or torn, or of another version, or names code.
            ConfigError: There is no such device, or ``batch_size`` is below 1.
        """
        if batch_size < 1:
            raise ConfigError(f"{batch_size} is below 1", where="batch_size", fix="give a number of documents")
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            torch.empty(0, device=chosen)
        except (RuntimeError, AssertionError) as error:
            what = f"{chosen!r} cannot be used here ({type(error).__name__})"
            raise ConfigError(what, where="device", fix="`plant doctor` lists the devices that there are") from error
        with made_on(torch.device(chosen)):
            model = load_model(Path(folder), trust_code=trust_code, check=check)
        return cls(model, Path(folder), torch.device(chosen), names, batch_size)

    @classmethod
    def from_pretrained(cls, name: str | Path, *, device: str | None = None, trust_code: bool = False) -> Self:
        """Load a folder, a ``model.zip`` of ``plant export`` or a repository on Hugging Face's hub.

        Where no folder is called so, ``owner/repository`` is fetched by ``huggingface_hub``, which comes with
        transformers; nothing of it is imported or run that :meth:`load` would not.

        Raises:
            CheckpointError: There is neither; else as :meth:`load`.
        """
        folder = model_folder(Path(name))
        if not folder.exists() and REPOSITORY.fullmatch(str(name)):
            from huggingface_hub import snapshot_download

            try:
                folder = Path(snapshot_download(str(name)))
            except (OSError, ValueError) as error:  # its own errors are such; the latter of a name that none can have
                what = f"neither a folder nor a repository that can be fetched ({type(error).__name__})"
                raise CheckpointError(what, where=str(name), fix=COMPLETE) from error
        return cls.load(folder, device=device, trust_code=trust_code)

    @cached_property
    def relevance(self) -> sparse.csr_array | None:
        """Read the relevance (L, V) of token types for labels, where the run has one; CheckpointError: it is torn."""
        there = (self.folder / RELEVANCE).is_file()
        return read_relevance(self.folder, self.content, self.tokens, self.num_trained) if there else None

    @cached_property
    def evidence_rule(self) -> EvidenceRule:
        """Read which words are predicted evidence: `plant plausibility --write-threshold` may have chosen it."""
        return read_rule(self.folder)

    def logits(self, texts: Iterable[str]) -> Floats:
        """Return logits (N, L) of all labels, planted scores included."""
        parts = [np.empty((0, len(self.labels)), np.float32)]
        for chunk in self.chunks(texts):
            part = np.empty((len(chunk), len(self.labels)), np.float32)
            for _, logits, documents, _ in self.scored(chunk):
                part[documents] = logits
            parts.append(part)
        return np.concatenate(parts)

    def limit(self, threshold: float | str | None = None, top: int | None = None) -> float:
        """Return the threshold, in logits, above which labels are chosen.

        Raises:
            ConfigError: A threshold that the model does not have, or that is no probability; or ``top`` is below 1.
        """
        if top is not None and (top < 1 or top % 1):
            raise ConfigError(f"{top} is no number of labels", where="top", fix="give a whole number from 1 on")
        if threshold is None:
            return -math.inf if top is not None else self.thresholds.get(TUNED, self.thresholds[HALF])
        if isinstance(threshold, str):
            if threshold in self.thresholds:
                return self.thresholds[threshold]
            have = ", ".join(self.thresholds)
            fix = f"take one of {have}, or a probability; training with validation documents tunes `micro` and `macro`"
            raise ConfigError(f"the model has no threshold {threshold!r}", where="threshold", fix=fix)
        if not 0 < threshold < 1:
            raise ConfigError(f"{threshold} is not between 0 and 1", where="threshold", fix="give a probability")
        return math.log(threshold) - math.log1p(-threshold)

    def chunks(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield as many texts at a time as are read ahead."""
        return in_chunks(map(one_text, several(texts, "texts")), self.batch_size)

    def scored(self, texts: Sequence[str]) -> ScoredBatches:
        """Yield scores of all labels of each text, the longest first."""
        batches, planted = self.batches(texts, self.batch_size), self.planted_scores
        for logits, documents, lengths in self.by_batch(batches, lambda batch, _: self.network(batch)["logits"]):
            read = [texts[document] for document in documents]
            if planted and planted.weight:
                planted.add_scores(logits, planted.scores(read))
            sums = self.log_odds.of(self.with_named(logits, read))
            yield None, all_scored(sums) if self.open_labels else sums, documents, lengths

    def listed(self, planted: PlantedScores, texts: Sequence[str], size: int) -> ScoredBatches:
        """Yield scores of only the shortlist, as :meth:`scored`.

        They are the highest of all, since outside a label has the lowest logit inside and no higher planted score.
        """
        top = planted.top(texts, size)
        labels, scores = top.indices.reshape(len(texts), -1), top.data.reshape(len(texts), -1)
        batches = self.batches(texts, self.batch_size, labels)
        for logits, documents, lengths in self.by_batch(batches, lambda batch, _: self.network.listed_logits(batch)):
            planted.add_scores(logits, scores[documents])
            yield labels[documents], self.log_odds.of(logits), documents, lengths

    def by_batch(
        self, batches: Batches, compute: Callable[[dict[str, Tensor], Places], Tensor]
    ) -> Iterator[tuple[Floats, Places, Places]]:
        """Yield what ``compute`` makes of each batch on the device, its documents' numbers and tokens read."""
        for batch in batches:
            documents = batch["document"].numpy()
            with torch.inference_mode(), plain_where_short():
                values = compute(move(batch, self.device), documents).float().cpu().numpy()
            yield values, documents, batches.arrays.lengths[documents]


def with_unrefitted(load: Callable[[Path], Loaded], folder: Path) -> tuple[Loaded, Loaded]:
    """Load a run's model, and the one that no validation document trained: with ``refit`` of its first pass."""
    model, first = load(folder), folder / FIRST_PASS
    return model, load(first) if first.is_dir() else model
