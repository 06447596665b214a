"""The arguments of the encoder ``awd_lstm`` and of the network ``PLANTL2R``; read without torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from plant_plugin.config.options import NetworkOptions
from plant_plugin.config.values import AtLeast1, NotNegative, Share, Text, Truth


@dataclass(frozen=True, kw_only=True)
class AwdLstm(NetworkOptions):
    """An AWD-LSTM: one direction's states are as wide as its word embeddings."""

    hidden_size: AtLeast1 = 256  # of all layers but the last
    num_layers: AtLeast1 = 2  # of a recurrent encoder
    directions: Literal["forward", "backward", "both"] = "forward"  # both: its states side by side
    word_dropout: Share = 0.0  # of the vocabulary
    embed_dropout: Share = 0.2  # of the embedded words
    weight_dropout: Share = 0.0  # of the hidden-to-hidden weights
    encoder_dropout: ClassVar[float] = 0.0  # between recurrent layers
    post_encoder_dropout: Share = 0.0  # of the states
    segment_tokens: AtLeast1 | None = None  # words that are read at once, the state carried on; None: all
    gradient_segments: AtLeast1 | None = None  # the last segments of a document, trained through; None: all
    language_model: Text | None = None  # folder that `plant pretrain-lm` writes; None: the encoder starts as drawn


@dataclass(frozen=True, kw_only=True)
class PLANTL2R(AwdLstm):
    """The first PLANT; its authors' sizes, and of dropout half of what fast.ai's classifier has."""

    embed_dim: AtLeast1 = 400  # E of the word embeddings and of the states of one direction
    hidden_size: AtLeast1 = 1152  # width of the states H, of both directions or all filters together
    num_layers: AtLeast1 = 3  # of a recurrent encoder
    directions: Literal["forward", "backward", "both"] = "forward"  # both: two classifiers, probabilities averaged
    word_dropout: Share = 0.02  # of the vocabulary
    embed_dropout: Share = 0.2  # of the embedded words
    weight_dropout: Share = 0.1  # of the hidden-to-hidden weights
    encoder_dropout: ClassVar[float] = 0.1
    post_encoder_dropout: Share = 0.2  # of the states
    segment_tokens: AtLeast1 | None = 72  # words of a segment, encoder and decoder carry their state on; None: one
    static: NotNegative = 1.0  # factor of the static planted attention; 0: there is none
    differentiable: Truth = True  # the ranker's attention, trained on
    inattention: AtLeast1 | None = None  # k: words of a document that the ranker's attention keeps; None: all
    ranker_size: AtLeast1 = 400  # of the ranker's label and token embeddings
    ranker_hidden: AtLeast1 = 128  # of its hidden layer
