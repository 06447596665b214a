"""The configuration blocks that PLANT adds, each a dataclass whose signature holds the defaults.

A value of ``None`` in a stage means: LibMultiLabel's own top-level key (``learning_rate``, ``epochs``, …) applies.
Allowed values stand beside the field, so that the configuration check and the code read the same list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def parse_interval(text: str) -> tuple[int | None, float | None]:
    """``checkpoint_every`` as (steps, seconds): ``200`` steps, ``10m`` minutes, or ``epoch``, which has neither.

    Raises:
        ValueError: None of these.
    """
    if text == "epoch":
        return None, None
    steps, seconds = (None, 60 * float(text[:-1])) if text.endswith("m") else (int(text), None)
    if not 0 < (steps or seconds or 0) < float("inf"):
        raise ValueError(text)
    return steps, seconds


def choice(default: str, *allowed: str) -> Any:
    """A string field that takes one of ``allowed``."""
    return field(default=default, metadata={"choices": (default, *allowed)})


NAME_SOURCES = ("icd9", "icd10")  # of labels' names, in the place of a file
AUTO = "auto"  # --resume auto
PLANTED_SCORES = "planted_scores"  # the strategy that trains no network


@dataclass(frozen=True)
class RelevanceOptions:
    """How relevant each token type is for each label, from the training split only (method §1)."""

    measure: str = choice("mig", "term_frequency")
    association: str = choice("positive", "any")  # any: the paper to the letter, blind to the sign
    normalize: str = choice("max", "entropy")
    top: int = 4000  # token types kept per label


PLANTED_PRIOR = ("none", "additive")  # network_config: planted_prior


@dataclass(frozen=True)
class StageOptions:
    """What both stages share: how long, how fast, when to stop."""

    epochs: int | None = None  # None: the top-level `epochs`
    patience: int | None = None  # None: the top-level `patience`
    batch_size: int | None = None  # None: the top-level `batch_size`; per step, before accumulation
    batch_tokens: int | None = None  # token positions a step, in place of batch_size: fewer long documents, more short
    accumulate: int = 1  # batches added up before one optimiser step
    learning_rate: float | None = None  # None: the top-level `learning_rate`
    encoder_learning_rate: float | None = None  # None: this stage's learning rate
    attention_learning_rate: float | None = None  # None: this stage's learning rate; the planted part
    prior_learning_rate: float | None = None  # None: that of the attention; the strength β of the planted prior
    schedule: str = choice("cosine", "constant")  # cosine decays to zero, no restarts
    warmup: float = 0.0  # share of the steps that climb linearly from zero
    clip_norm: float | None = 1.0  # gradient norm; null: no clipping


@dataclass(frozen=True)
class Stage1Options(StageOptions):
    """Attention as a learning-to-rank module (method §3)."""

    method: str = choice("gradient", "closed_form")  # closed_form: queries by ridge regression, in one pass, no epochs
    strength: float = 4.0  # closed_form: the score of a word of relevance 1, were it met; least squares stay below
    loss: str = choice("lambda_rank", "mse")
    k: int = 1000  # tokens of a document that form pairs, per label
    sigma: float = 1.0  # steepness of the pairwise sigmoid
    score: str = choice("logit", "probability")
    pairs: str = choice("within", "top_vs_all")
    labels: int | str = 256  # a number, `positive` or `all`


@dataclass(frozen=True)
class Stage2Options(StageOptions):
    """End to end (method §4)."""

    loss: str = choice("focal", "bce", "asymmetric")
    gamma: float = 2.0  # of the focal loss; of negatives in the asymmetric one, whose paper has 4 (and no smoothing)
    label_smoothing: float = 0.1
    hard_negatives: int | None = 1000  # per document; null: all labels
    reduction: str = choice("selected", "labels")


@dataclass(frozen=True)
class PlantedScoresOptions:
    """A linear model on tf-idf whose scores are added to the network's logits after stage 2."""

    model: str = choice("none", "ridge")
    penalty: float = 0.2  # λ of the kernel ridge regression; tf-idf rows have norm 1
    ngrams: int = 2  # longest run of words that is a term
    min_documents: int = 2  # terms of fewer training documents are left out
    terms: int = 500_000  # the most frequent terms are kept
    lead: int = 0  # the first words of a text, which count more; 0: all count the same
    lead_weight: float = 0.5  # their tf-idf, beside that of the whole text
    top: int = 2000  # weights kept per label; solved from tens of thousands of documents it wants 10000
    group_size: int = 16_000  # documents solved at once: their square of float32, 1 GB; larger groups are better
    adjustment: float | None = None  # τ, for rare labels; null: the best val_metric of the linear scores on validation
    # γ; null: among the best by val_metric on validation documents, the best by PSP@5; 20 where no network is trained
    weight: float | None = None
    names: str | None = None  # of labels: icd9, icd10 or a file; null: label_names.tsv beside the training file, if any
    name_weight: float | None = None  # ν of the names' words; null: the best with γ; 0: names are not read
    offset: float | None = None  # taken off every logit; null: so that the threshold of micro-F1 is probability 0.5
    # λ and σ: of the linear model and of sentences beside phrases; null: the best val_metric; 1 and 0 without evidence
    linear_weight: float | None = None
    sentence_weight: float | None = None


@dataclass(frozen=True)
class LoraOptions:
    """``network_config: {lora: …}``: adapters on all projections of attention; the paper's values."""

    r: int = 16  # rank
    alpha: int = 32  # the adapters' output is multiplied with alpha / r
    dropout: float = 0.05


@dataclass(frozen=True)
class EvidenceOptions:
    """What made coders assign labels, and what is planted from it (method §9)."""

    training_file: str | None = None  # spans of the training documents, see plant_plugin/data/evidence.py
    val_file: str | None = None  # of the validation documents: trained on only where they are, with `refit`
    test_file: str | None = None  # of the test documents: never trained on
    mine: bool = False  # without a training_file: runs of words that go with a label stand for coders' phrases
    prior: float = 1.0  # what a phrase that is sure of a label adds to the planted prior of its words; 0: nothing
    stage1: bool = True  # stage 1 ranks a document's own evidence first
    sentences: bool = True  # sentences with evidence are training documents of their own
