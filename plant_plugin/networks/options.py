"""The options of our networks: the keys of ``network_config`` of each, with their defaults.

A network takes them beside ``num_classes`` and ``embed_vecs``, which the data decide. They are read without torch, so
that a configuration is checked before anything large is imported. To add one: a line here, and its use in the network.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MinLen

from plant_plugin.config import registry
from plant_plugin.config.options import Block, Fault, NetworkOptions
from plant_plugin.config.values import AtLeast1, Number, Share, Text, Truth
from plant_plugin.errors import suggestion

PRIOR_STRENGTH = 4.0


@dataclass(frozen=True, kw_only=True)
class Prior(NetworkOptions):
    """Options of most networks: the planted prior (method §8), a logit that labels start from."""

    planted_prior: Literal["none", "additive"] = "none"  # additive: the relevance stays in the attention's scores
    # Of every label before training; None: about 0. Few of the labels that stage 2 trains on are true: the logit of
    # their share, −1.5 to −3, saves it from learning that first, through the states (Lin et al. 2017, section 3.3).
    initial_logit: Number | None = None  # logit of every label before training; None: about 0

    @property
    def strength(self) -> float | None:
        """Start value of β, one per label and head; None: no prior."""
        return PRIOR_STRENGTH if self.planted_prior == "additive" else None


@dataclass(frozen=True, kw_only=True)
class Words(Prior):
    """A network that reads words."""

    embed_dim: AtLeast1 = 100  # width of word embeddings where no `embed_file` gives them
    embed_dropout: Share = 0.2  # of the embedded words


@dataclass(frozen=True, kw_only=True)
class OtherEncoder(Words):
    """A network of words whose encoder can be replaced."""

    encoder: Text | None = None  # one of `plant list encoders`; None: the network's own

    def faults(self) -> Iterator[Fault]:
        """Yield an encoder that nobody registered."""
        yield from unknown_encoder(self.encoder)


def unknown_encoder(name: str | None, *known: str) -> Iterator[Fault]:
    """Yield a fault where an encoder is neither among the network's, which are ``known``, nor registered."""
    known += tuple(registry.entries("encoders"))
    if name is not None and name not in known:
        yield Fault("encoder", f"there is no encoder {name!r}", suggestion(name, known))


@dataclass(frozen=True, kw_only=True)
class Windows(Prior):
    """A network over windows of a language model."""

    # The papers: RoBERTa-PM, trained on PubMed and MIMIC.
    lm_weight: Text  # a Hugging Face encoder, by name or folder
    lm_window: AtLeast1 = 128  # sub-words of it; the papers read at most 3072 (PLM-ICD) and 6000 (PLM-CA) a document
    post_encoder_dropout: Share = 0.0  # of the joined states; the authors have none


@dataclass(frozen=True)
class LoraOptions(Block):
    """``network_config: {lora: …}``: adapters on all projections of attention; the paper's values."""

    r: AtLeast1 = 16  # rank


@dataclass(frozen=True, kw_only=True)
class PLANT(Words):
    """Any encoder under the label attention of PLANT: exactly one of ``encoder`` and ``lm_weight``.

    ``freeze_encoder`` takes both: ``encoder`` is then the layer over frozen states that is trained (default ``cnn``),
    and ``embed_dropout`` is the dropout of these states.
    """

    encoder: Text | None = None  # cnn, bigru, bilstm, or one of `plant list encoders`
    hidden_size: AtLeast1 = 256  # width of the states H, of both directions or all filters together
    num_layers: AtLeast1 = 1  # of a recurrent encoder
    filter_sizes: Sequence[AtLeast1] = (9,)  # widths of the cnn, in words
    # Queries learn √D times as fast and the matrices that all labels share a √H-th as fast, so that no part of the head
    # outruns the others. It decides the result of a few hundred steps without a prior. The paper has it off. Our
    # trainer reads it, LibMultiLabel's does not.
    matched_rates: Truth = False  # queries learn faster, shared matrices slower: no part outruns others
    post_encoder_dropout: Share = 0.2  # of the states
    lm_weight: Text | None = None  # an encoder or decoder: preset, name, folder or GGUF file
    lm_window: AtLeast1 | None = None  # sub-words of a window over long documents; None: what the model can take
    freeze_encoder: Truth = False  # train a layer over its states, which are computed once and kept in `cache_dir`
    # Of a language model that trains, instead of all rates in its configuration; None: those rates. On a CPU half of a
    # step goes into drawing random numbers: 0 trains twice as fast.
    lm_dropout: Share | None = None  # of a language model that trains, in the place of its own rates
    quantization: Literal["none", "nf4", "int8"] = "none"  # of the language model's weights, which do not train then
    lora: LoraOptions | None = None  # train adapters in its place
    gradient_checkpointing: Truth = False  # layers are computed twice: less memory, a third more time
    num_heads: AtLeast1 = 8  # A, must divide H
    pool_size: AtLeast1 = 128  # P, at most H

    def faults(self) -> Iterator[Fault]:
        """Yield options that exclude each other: words or a language model, trained or frozen."""
        yield from unknown_encoder(self.encoder, *ENCODERS)
        if not self.freeze_encoder and (self.lm_weight is None) == (self.encoder is None):
            encoders = ", ".join((*ENCODERS, *registry.entries("encoders")))
            fix = f"encoder: {encoders}; lm_weight: a Hugging Face model; both only with freeze_encoder: true"
            yield Fault("", "give exactly one of `encoder` and `lm_weight`", fix)
        if self.lm_weight is None:
            if self.freeze_encoder:
                fix = "give lm_weight; word-level encoders are trained from the start"
                yield Fault("freeze_encoder", "there is no language model to freeze", fix)
            for name in FOR_LANGUAGE_MODELS:
                if self.encoder is not None and getattr(self, name) != getattr(PLANT, name):
                    yield Fault(name, "is for language models", "leave it out, or give lm_weight")
        elif self.freeze_encoder:
            for name in TRAINED:
                if getattr(self, name) is not None:
                    yield Fault(name, "a frozen language model does not train", "leave out one of the two")


ENCODERS = ("cnn", "bigru", "bilstm")
TRAINED = ("lora", "lm_dropout")
FOR_LANGUAGE_MODELS = ("lm_window", "quantization", "gradient_checkpointing", *TRAINED)


@dataclass(frozen=True, kw_only=True)
class LAAT(OtherEncoder):
    """The label attention of LAAT; its authors' values."""

    hidden_size: AtLeast1 = 1024  # H of both directions together (the paper: 2 × 512; on MIMIC-III's top 50, 2 × 256)
    num_layers: AtLeast1 = 1  # of a recurrent encoder
    projection_size: AtLeast1 = 512  # rows of W, the paper's d_a (256 on MIMIC-III's top 50)
    embed_dropout: Share = 0.3  # of the embedded words
    post_encoder_dropout: Share = 0.0  # of the states; the authors have none


@dataclass(frozen=True, kw_only=True)
class PLMICD(Windows):
    """PLM-ICD."""

    projection_size: AtLeast1 | None = None  # rows of W; None: as many as the states are wide, as in the paper


@dataclass(frozen=True, kw_only=True)
class PLMCA(Windows):
    """PLM-CA."""


@dataclass(frozen=True, kw_only=True)
class MultiResCNN(Prior):
    """MultiResCNN; its authors' values."""

    filter_sizes: Annotated[Sequence[AtLeast1], MinLen(1)] = (3, 5, 9, 15, 19, 25)  # widths in words
    num_filter_per_size: AtLeast1 = 50  # output channels of each width
    embed_dim: AtLeast1 = 100  # width of word embeddings where no `embed_file` gives them


@dataclass(frozen=True, kw_only=True)
class PlantedCAML(OtherEncoder):
    """CAML as LibMultiLabel has it."""

    filter_sizes: Sequence[AtLeast1] = (10,)  # one width, in words
    num_filter_per_size: AtLeast1 = 50  # output channels, H

    def faults(self) -> Iterator[Fault]:
        """Yield a fault where there is not exactly one width."""
        yield from super().faults()
        if len(self.filter_sizes) != 1:
            what = f"CAML has one filter size, not {len(self.filter_sizes)}"
            yield Fault("filter_sizes", what, "e.g. [10]; MultiResCNN takes several")


@dataclass(frozen=True, kw_only=True)
class PlantedBiGRULWAN(Words):
    """BiGRULWAN as LibMultiLabel has it."""

    rnn_dim: AtLeast1 = 512  # H of both directions together
    post_encoder_dropout: Share = 0.0  # of the states
