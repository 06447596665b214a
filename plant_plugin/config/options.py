"""The configuration blocks that PLANT adds, each a dataclass whose fields hold the defaults and the values allowed.

A value of ``None`` in a stage means: LibMultiLabel's own top-level key (``learning_rate``, ``epochs``, …) applies.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from plant_plugin.config.values import AtLeast0, AtLeast1, NotNegative, Positive, Share, Text, Truth, key

NO_NAMES = "none"
NAME_SOURCES = ("icd9", "icd10", "icd10pcs")  # of labels' names, in the place of a file
AUTO = "auto"  # of several keys: found out by the run
WORD2VEC = "word2vec"  # an `embed_file` that the run makes of its training texts
PLANTED_SCORES = "planted_scores"  # the strategy that trains no network
SHORTLIST_SIZES = (25, 50, 100, 200, 400)  # whose recall is reported; `auto` takes one of them


class Fault(NamedTuple):
    """Keys of a block that do not go together."""

    key: str  # empty: the block itself
    what: str
    fix: str


@dataclass(frozen=True)
class Block:
    """Keys of one block; others are refused."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    unknown: ClassVar[str] = "there is no such key"  # what is said of others

    def faults(self) -> Iterator[Fault]:
        """Yield keys that do not go together."""
        yield from ()


@dataclass(frozen=True)
class NetworkOptions(Block):
    """Base of what ``network_config`` may hold: a network declares its options as the fields of such a class."""

    unknown: ClassVar[str] = "the network has no such argument"


@dataclass(frozen=True)
class RelevanceOptions(Block):
    """Relevance of each token type for each label, from the training split only (method §1)."""

    measure: Literal["mig", "term_frequency"] = key("mig", "mutual information or, as an ablation, frequency")
    association: Literal["positive", "any"] = key("positive", "any: the paper to the letter, blind to the sign")
    unit: Literal["share", "nats"] = key(
        "share", "of mutual information: a share of the label's highest, or nats as the first PLANT has it"
    )
    top: AtLeast1 = key(4000, "token types kept per label")


@dataclass(frozen=True)
class StageOptions(Block):
    """Keys of both stages: how long, how fast, when to stop."""

    epochs: AtLeast0 | None = key(None, "null: the top-level epochs; 0: there is no such stage")
    patience: AtLeast0 | None = key(None, "null: the top-level patience")
    learning_rate: Positive | None = key(None, "null: the top-level learning_rate")
    encoder_learning_rate: NotNegative | None = key(None, "null: this stage's learning rate; 0: the encoder stays")
    clip_norm: Positive | None = key(1.0, "gradient norm; null: no clipping")


@dataclass(frozen=True)
class Stage1Options(StageOptions):
    """Attention as a learning-to-rank module (method §3)."""

    batch_size: AtLeast1 | None = key(None, "per step, before accumulation; null: the top-level batch_size")
    loss: Text = key("lambda_rank", "what ranks a document's tokens: see `plant list losses`")
    k: AtLeast1 = key(1000, "tokens of a document that form pairs, per label")
    score: Literal["logit", "probability"] = key("logit", "what is ranked")
    pairs: Literal["within", "top_vs_all"] = key("within", "which tokens form pairs")
    labels: AtLeast1 | Literal["positive", "all"] = key(
        256, "labels a document, its own first: number, positive or all"
    )


@dataclass(frozen=True)
class Stage2Options(StageOptions):
    """End to end (method §4)."""

    schedule: Literal["cosine", "constant", "slanted_triangular", "one_cycle"] = key(
        "cosine", "cosine decays to zero, no restarts; the last two climb first, to a tenth and a quarter of the steps"
    )
    warmup: Share = key(0.0, "share of the steps that climb linearly from zero")
    planted_learning_rate: NotNegative | None = key(None, "of what stage 1 plants; null: this stage's learning rate")
    rate_decay: Positive | None = key(
        None, "each layer of the encoder learns so many times slower than what is above it; null: one rate"
    )
    unfreeze_every: AtLeast1 | None = key(
        None, "epochs after which one more layer of the encoder trains, from the top; null: all from the start"
    )
    loss: Text = key("focal", "of each label's logit: focal, bce, asymmetric, or another of `plant list losses`")
    # The asymmetric loss's paper has 4, and no smoothing.
    gamma: NotNegative = key(2.0, "of the focal loss; of negatives in the asymmetric one")
    label_smoothing: Share = key(0.1, "ε: targets are ε and 1 − ε")
    hard_negatives: AtLeast0 | None = key(1000, "per document; null: all labels")
    reduction: Literal["selected", "labels"] = key(
        "selected", "labels that a document's loss is divided by: those with a loss, or all"
    )


# What `model: auto` gives the exact ridge at most: a gigabyte for the square of the documents, some minutes of a core.
EXACT_DOCUMENTS, EXACT_OPERATIONS = 16_000, 2e13
MOST_EXACT = 46_340  # documents of `model: ridge`, the most that were tried: 8.6 GB, and minutes to an hour


@dataclass(frozen=True)
class PlantedScoresOptions(Block):
    """A linear model on tf-idf whose scores are added to the network's logits after stage 2."""

    model: Literal["none", "ridge", "label_ridge", "auto"] = key(
        "none", "a linear model's scores are added; ridge: exact; label_ridge: of many documents; auto: by their number"
    )
    word_letters: AtLeast1 | None = key(
        None, "texts are read by so many first letters of each word too, so that endings matter less"
    )
    lead: AtLeast0 = key(0, "the first words of a text, which count more; 0: all count the same")
    top: AtLeast1 = key(2000, "weights kept per label; solved from tens of thousands of documents it wants 10000")
    # null: among the best by val_metric on validation documents, the best by PSP@5; 20 where no network is trained
    weight: NotNegative | None = key(None, "γ, beside the network's logits; null: chosen on validation documents")
    names: Text | None = key(None, "icd9, icd10, icd10pcs, a file or none; null: label_names.tsv beside training_file")


@dataclass(frozen=True)
class ShortlistOptions(Block):
    """Labels of a document that the network scores: with many thousands those that planted scores propose."""

    size: AtLeast1 | Literal["auto"] | None = key(
        None, "labels a document, the highest by planted scores; null: all; auto: chosen on validation documents"
    )
    rows: Literal["all", "touched"] = key(
        "all", "of label tables that a step goes through; touched: those of its labels, far faster"
    )

    @property
    def largest(self) -> int | None:
        """Return the size, or the largest that `auto` can choose; None: all labels."""
        return max(SHORTLIST_SIZES) if isinstance(self.size, str) else self.size


@dataclass(frozen=True)
class EvidenceOptions(Block):
    """Evidence by which coders assigned labels, and what is planted from it (method §9)."""

    training_file: Text | None = key(None, "spans of the training documents")
    val_file: Text | None = key(None, "of the validation documents: trained on only where they are, with refit")
    mine: Truth = key(
        False, "without a training_file: runs of words that go with a label take the place of coders' phrases"
    )
    prior: NotNegative = key(1.0, "what a phrase that is sure of a label adds to the prior of its words; 0: nothing")
    sentences: Truth = key(True, "sentences with evidence are training documents of their own")
