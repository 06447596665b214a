"""Every key of a configuration once: what YAML may say, what the command line offers, and what holds otherwise.

A section is a class and its keys are flat in YAML: :class:`Settings` has the fields of all, so that a function asks
for the section that it reads. Names, types and defaults of LibMultiLabel's keys are those of its ``main.py``; those of
the last section and the blocks are ours.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le
from typing_extensions import override

from plant_plugin.config.options import (
    Block,
    EvidenceOptions,
    Fault,
    PlantedScoresOptions,
    RelevanceOptions,
    ShortlistOptions,
    Stage1Options,
    Stage2Options,
)
from plant_plugin.config.values import (
    AS_WRITTEN,
    AtLeast0,
    AtLeast1,
    AtLeast2,
    Keys,
    NotNegative,
    Number,
    Positive,
    Seed,
    Text,
    Texts,
    Truth,
    Value,
    Values,
    aside,
    choices,
    key,
    parts,
)


@dataclass(frozen=True)
class General:
    """Keys of every run."""

    seed: Seed | None = key(None, "Makes a run repeatable; without it every run differs.")
    linear: Truth = key(False, "Train one of LibMultiLabel's linear models instead of a network.")
    cpu: Truth = key(False, "Stay on the processor even where a GPU is present.")
    silent: Truth = aside(False, "Print nothing but errors.")
    data_workers: AtLeast0 = aside(4, "Processes that prepare batches.")
    embed_cache_dir: Text | None = aside(None, "Where downloaded word vectors are kept between runs.")
    eval: Truth = key(False, "Do not train; test the model of checkpoint_path.")
    checkpoint_path: Text | None = key(
        None, "A trained model to start from or to test. LibMultiLabel's own models need --trust-code."
    )
    result_dir: Text = aside("./runs", "Folder in which each run makes its own.")


@dataclass(frozen=True)
class Data:
    """The documents, and how they are read."""

    data_name: Text = aside("unnamed_data", "First part of the run folder's name.")
    training_file: Text | None = key(None, "Training documents: a file, or demo:train for the built-in data.")
    val_file: Text | None = key(
        None, "Validation documents: a file, or demo:valid for the built-in data; without it, a part of training_file."
    )
    test_file: Text | None = key(None, "Test documents: a file, or demo:test for the built-in data.")
    test_filter_file: Text | None = key(
        None, "Labels left out of single test documents, e.g. themselves: lines of document TAB label."
    )
    label_file: Text | None = key(None, "The label set, one label a line; without it, the labels met in the data.")
    label_set: Literal["trained", "named", "auto"] = key(
        "trained",
        "The labels that can be said: those of the data, or every one that has a name, see docs/open_labels.md; "
        "auto: the latter where validation documents say that it is better.",
    )
    val_size: Number = key(0.2, "Validation documents split off training_file: a share below 1, or a whole number.")
    min_vocab_freq: AtLeast1 = key(1, "Words in fewer training documents than this are unknown.")
    max_seq_length: AtLeast1 | None = key(
        500, "Tokens read of each document; none: all, the default of ours over a language model."
    )
    shuffle: Truth = key(True, "A new order of the training documents in every epoch.")
    merge_train_val: Truth = key(False, "Train on the validation documents too.")
    refit: Literal["none", "train+val"] = key(
        "none",
        "train+val: train again on both, with the epochs, weights and thresholds found on validation; test that model.",
    )
    include_test_labels: Truth = key(False, "Let the label set hold labels that only the test documents have.")
    remove_no_label_data: Truth = key(False, "Leave out training and validation documents without labels.")
    add_special_tokens: Truth = key(True, "Let a language model's tokenizer add its start and end tokens.")
    data_format: Text = key(
        "txt",
        "txt: text, by a file's ending also csv, jsonl, parquet, or a folder of Hugging Face's datasets; svm or xmc "
        "(sparse files of the XMC repository), features in place of text, for linear models; xmc also for PLANT with "
        "the features' words as vocab_file; or another of `plant list readers`.",
    )
    text_column: Text = key("text", "Column of the text, in tables.")
    labels_column: Text = key("labels", "Column of the labels, in tables.")
    encoding: Text | None = key(None, "Of text files, e.g. latin-1; null: UTF-8, or what a file's first bytes say.")
    label_separator: Text | None = key(
        None, "What separates the labels of a text, ' ' for any white space; null: what the whole column says."
    )


@dataclass(frozen=True)
class Model:
    """The network that is trained."""

    model_name: Text = key(
        "unnamed_model", "A network of `plant list networks`, your own as module:class, or any name with --linear."
    )
    init_weight: Text | None = key("kaiming_uniform", "Initialiser of LibMultiLabel's networks, from torch.nn.init.")
    loss_function: Text = key("binary_cross_entropy_with_logits", "Loss of LibMultiLabel's networks, from torch.nn.")
    vocab_file: Text | None = key(None, "The vocabulary, one word a line; else the words of the training documents.")
    embed_file: Text | None = key(
        None, "Word vectors: a file, a GloVe name as glove.6B.300d, word2vec: of the training."
    )
    normalize_embed: Truth = key(False, "Scale every word vector to length one.")
    network_config: Values = key({}, "An argument of the network, e.g. --network_config.hidden_size 256, in YAML.")


@dataclass(frozen=True)
class Training:
    """Duration and speed; a stage's own keys come before these."""

    epochs: AtLeast1 = key(10000, "Passes over the training documents at most; patience usually ends it before.")
    batch_size: AtLeast1 = key(16, "Documents per step.")
    optimizer: Literal["adam", "adamw", "adamax", "sgd"] = key("adam", "Optimiser.")
    learning_rate: Positive = key(0.0001, "Step size of the optimiser.")
    weight_decay: NotNegative = key(0, "Weight decay.")
    momentum: NotNegative = key(0.9, "Momentum; only sgd reads it.")
    lr_scheduler: Text | None = key(None, "A scheduler of torch.optim.lr_scheduler, with scheduler_config in YAML.")
    scheduler_config: Values | None = key(None, "An argument of lr_scheduler.")
    patience: AtLeast0 = key(5, "Epochs without a better early_stopping_metric before training ends.")
    early_stopping_metric: Text | None = key(None, "What patience watches; val_metric unless given.")
    limit_train_batches: Number = key(1.0, "Share of the training batches to use, for trying things out.")
    limit_val_batches: Number = key(1.0, "Share of the validation batches to use.")
    limit_test_batches: Number = key(1.0, "Share of the test batches to use.")


@dataclass(frozen=True)
class Evaluation:
    """Metrics, and files of predictions."""

    eval_batch_size: AtLeast1 = key(256, "Documents per step of validation and test.")
    metric_threshold: Number = key(0.5, "Scores above it count as predicted, in metrics that need a yes or no.")
    monitor_metrics: Texts = key(["P@1", "P@3", "P@5"], "Metrics of validation and test.")
    val_metric: Text = key("P@1", "The metric by which the best epoch is chosen.")
    save_k_predictions: AtLeast0 = aside(
        0, "Write the k best labels of each test document; without a number: 100.", flag_value=100
    )
    predict_out_path: Text | None = aside("./predictions.txt", "Where they are written; empty: in the run folder.")
    save_positive_predictions: Truth = aside(False, "Linear models: write all labels with a positive score.")


@dataclass(frozen=True)
class Linear:
    """LibMultiLabel's linear models and trees."""

    liblinear_options: Text | None = key(None, "Options for LIBLINEAR, e.g. '-s 2 -B 1 -e 0.0001 -q'.")
    linear_technique: Text = key("1vsrest", "How labels become binary problems: see `plant list linear`.")
    tree_degree: AtLeast2 = key(100, "tree: children per node.")
    tree_max_depth: AtLeast1 = key(10, "tree: levels at most.")
    tree_ensemble_models: AtLeast1 = key(1, "tree: number of trees whose scores are averaged.")
    beam_width: AtLeast1 = key(10, "tree and AttentionXML: nodes kept per level while predicting.")
    cluster_size: AtLeast1 = key(8, "AttentionXML: labels per cluster at most.")


@dataclass(frozen=True)
class Plant:
    """Keys that LibMultiLabel does not have."""

    strategy: Text = key("plant", "How a network of this package is trained: see `plant list strategies`.")
    choose: Truth = key(False, "Let the data decide keys that are not given: see plant.yml.")
    minutes: Positive | None = key(
        None, "With choose: about how long it may take; fewer epochs, shorter texts, or no network."
    )
    precision: Annotated[Literal["auto", "32", "bf16", "16"], AS_WRITTEN] = key("auto", "Numbers in training.")
    accumulate: AtLeast1 = key(1, "Batches added up before one step of the optimiser, in both stages.")
    without_packing: Truth = aside(
        False,
        "LibMultiLabel's recurrent networks train on a CPU over padded batches: same numbers up to rounding, sooner.",
    )
    devices: AtLeast1 = key(
        1, "Devices of each machine, a process each; CPUs count by cores. Each takes batch_size documents."
    )
    registry: Text | None = aside(
        None, "A file of your own that adds networks, losses, readers, …: see `docs/your_network.md`."
    )
    allow_bad_lines: Truth = key(False, "Leave out lines that are not of the format instead of stopping.")
    resume: Text | None = aside(None, "A run folder to resume; auto: the newest unfinished run, else a new one.")
    checkpoint_every: Text = aside("10m", "When the state to resume is written: 200 (steps), 10m (minutes) or epoch.")
    logger: Literal["csv", "tensorboard", "wandb"] = aside(
        "csv", "Where the numbers of training go besides logs.json and metrics.csv of the run."
    )
    cache_dir: Text | None = aside(
        None, "Where tokens and built-in data are kept between runs; else your cache folder."
    )
    propensity_a: Annotated[Number, Ge(0), Le(10)] = key(0.55, "A of the label propensities of PSP, PSnDCG and PSR.")
    propensity_b: Positive = key(1.5, "B of the label propensities.")


@dataclass(frozen=True)
class Settings(Plant, Linear, Evaluation, Training, Model, Data, General, Block):
    """All sections and blocks."""

    relevance: RelevanceOptions = key(RelevanceOptions(), "how relevant each token is for each label")
    stage1: Stage1Options = key(Stage1Options(), "the attention learns to rank tokens")
    stage2: Stage2Options = key(Stage2Options(), "end to end")
    planted_scores: PlantedScoresOptions = key(PlantedScoresOptions(), "a linear model beside the network")
    shortlist: ShortlistOptions = key(ShortlistOptions(), "which labels of a document the network scores")
    evidence: EvidenceOptions = key(EvidenceOptions(), "what made coders assign labels, and what is planted")

    @property
    def stop_on(self) -> str:
        """Return the metric that patience watches."""
        return self.early_stopping_metric or self.val_metric

    @property
    def stage1_batch_size(self) -> int:
        """Return the documents, or labels, of a step of stage 1."""
        return self.stage1.batch_size or self.batch_size

    def as_dict(self) -> Keys:
        """Every key with its value, blocks as dictionaries; what JSON and YAML can hold."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name in FIELDS}


@dataclass(frozen=True)
class Asha(Block):
    """``scheduler`` of a search: the arguments of Ray Tune's ASHA, with its defaults."""

    unknown: ClassVar[str] = "ASHA has no such argument"

    max_t: AtLeast1 = key(100, "epochs of a trial at most")
    grace_period: AtLeast1 = key(1, "epochs of a trial at least")
    reduction_factor: Annotated[Number, Gt(1)] = key(4, "of so many trials one continues")
    brackets: AtLeast1 = key(1, "groups of trials with another grace period each")
    time_attr: Literal["training_iteration", "time_total_s"] = key("training_iteration", "what is counted")

    @override
    def faults(self) -> Iterator[Fault]:
        if self.grace_period > self.max_t:
            yield Fault("grace_period", f"has to be at most max_t, {self.max_t}", "lower it, or raise max_t")


@dataclass(frozen=True)
class Search(Block):
    """Keys that only ``plant search`` reads."""

    search_alg: Literal["basic_variant", "bayesopt", "optuna"] | None = key(
        None, "How values are drawn; basic_variant unless given."
    )
    num_samples: AtLeast1 = key(50, "Trials; with grid_search, times that the whole grid is tried.")
    scheduler: Values | None = key(None, "Arguments of ASHA in YAML, e.g. '{max_t: 50, grace_period: 10}'; null: none.")
    cpu_count: AtLeast1 = key(4, "Processor cores of a trial.")
    gpu_count: NotNegative = key(1.0, "GPUs of a trial; 0.5: two trials share one.")
    no_retrain: Truth = key(False, "Test the best trial's own model instead of training again.")
    no_merge_train_val: Truth = key(False, "Train again without the validation documents.")


@dataclass(frozen=True)
class Option:
    """One flat key, as the command line offers it: ``--name``."""

    name: str
    hint: object  # its declared type, with range and choices
    type: type  # of one value
    default: Value
    help: str
    group: str  # heading in ``--help``
    nargs: str | None  # ``+`` for a list of one or more values
    const: int | None  # what the flag means that is given without a value; None: a value has to follow

    @property
    def choices(self) -> tuple[str, ...]:
        """Allowed values; empty: any."""
        return choices(self.hint)

    @property
    def nullable(self) -> bool:
        """Tell whether null is a value."""
        return type(None) in parts(self.hint)

    @property
    def is_flag(self) -> bool:
        """Tell whether ``--name`` without a value means true."""
        return self.type is bool and self.default is False


def _options(section: type, heading: str) -> Iterator[Option]:
    for field in dataclasses.fields(section):
        if field.name not in MAPPINGS:
            kind = next(part if part in (bool, int, float) else str for part in parts(field.type))
            factory, about = field.default_factory, field.metadata
            default = tuple(factory()) if callable(factory) else field.default
            nargs = "+" if field.type is Texts else None
            yield Option(field.name, field.type, kind, default, about["help"], heading, nargs, about["flag_value"])


MAPPINGS = ("network_config", "scheduler_config")
_SECTIONS = {"General": General, "Data": Data, "Model": Model, "Training": Training, "Evaluation": Evaluation,
             "Linear models": Linear, "PLANT": Plant}  # fmt: skip
SCHEMA = tuple(option for heading, section in _SECTIONS.items() for option in _options(section, heading))
SEARCH = tuple(_options(Search, "Search"))
OPTIONS = {option.name: option for option in SCHEMA}
SEARCH_OPTIONS = {option.name: option for option in SEARCH}
FIELDS = {field.name: field for field in dataclasses.fields(Settings)}
BLOCKS = {name: type(field.default) for name, field in FIELDS.items() if isinstance(field.default, Block)}
