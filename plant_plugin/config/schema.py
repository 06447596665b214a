"""Every key of a configuration once: what YAML may say, what the command line offers, and what holds otherwise.

Names, types and defaults of LibMultiLabel's own keys are those of its ``main.py``; the last group is ours. The command
line and the configuration check both read :data:`SCHEMA`, so that they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plant_plugin.config.options import (
    EvidenceOptions,
    PlantedScoresOptions,
    RelevanceOptions,
    Stage1Options,
    Stage2Options,
)

Scalar = type[str] | type[int] | type[float] | type[bool]


@dataclass(frozen=True)
class Option:
    """One top-level key.

    Attributes:
        name: As in YAML; the flag is ``--name``.
        type: Of one value.
        default: What holds when neither YAML nor a flag says anything.
        help: One sentence.
        group: Heading in ``--help``.
        choices: Allowed values; empty: any.
        nargs: ``+`` for a list of one or more values.
        const: The value of a flag that is given without one; None: a value has to follow.
        is_flag: ``--name`` alone means true.
    """

    name: str
    type: Scalar
    default: Any
    help: str
    group: str
    choices: tuple[str, ...] = ()
    nargs: str | None = None
    const: Any = None
    is_flag: bool = False


def _group(heading: str, *rows: tuple[Any, ...]) -> tuple[Option, ...]:
    """Options under one heading; a row is (name, type, default, help[, further attributes])."""
    options = []
    for name, kind, default, sentence, *further in rows:
        options.append(Option(name, kind, default, sentence, heading, **(further[0] if further else {})))
    return tuple(options)


_FLAG = {"is_flag": True}
_OPTIMIZERS = ("adam", "adamw", "adamax", "sgd")
_TECHNIQUES = ("1vsrest", "thresholding", "cost_sensitive", "cost_sensitive_micro", "binary_and_multiclass", "tree")
_FORMATS = {"choices": ("txt", "svm", "xmc")}
_ALGORITHMS = ("basic_variant", "bayesopt", "optuna")
_DEMO = "a file, or demo:{} for the built-in data"

_GENERAL = _group(
    "General",
    ("seed", int, None, "Makes a run repeatable; without it every run differs."),
    ("linear", bool, False, "Train one of LibMultiLabel's linear models instead of a network.", _FLAG),
    ("cpu", bool, False, "Stay on the processor even where a GPU is present.", _FLAG),
    ("silent", bool, False, "Print nothing but errors.", _FLAG),
    ("data_workers", int, 4, "Processes that prepare batches."),
    ("embed_cache_dir", str, None, "Where downloaded word vectors are kept between runs."),
    ("eval", bool, False, "Do not train; test the model of checkpoint_path.", _FLAG),
    ("checkpoint_path", str, None, "A trained model to start from or to test."),
    ("result_dir", str, "./runs", "Folder in which each run makes its own."),
)
_DATA = _group(
    "Data",
    ("data_name", str, "unnamed_data", "First part of the run folder's name."),
    ("training_file", str, None, f"Training documents: {_DEMO.format('train')}."),
    ("val_file", str, None, f"Validation documents: {_DEMO.format('valid')}; without it, a part of training_file."),
    ("test_file", str, None, f"Test documents: {_DEMO.format('test')}."),
    ("label_file", str, None, "The label set, one label a line; without it, the labels met in the data."),
    ("val_size", float, 0.2, "Validation documents split off training_file: a share below 1, or a whole number."),
    ("min_vocab_freq", int, 1, "Words in fewer training documents than this are unknown."),
    ("max_seq_length", int, 500, "Tokens read of each document; none: all, the default of ours over a language model."),
    ("shuffle", bool, True, "A new order of the training documents in every epoch."),
    ("merge_train_val", bool, False, "Train on the validation documents too.", _FLAG),
    (
        "refit",
        str,
        "none",
        "train+val: train again on both, with the epochs, weights and thresholds found on validation; test that model.",
        {"choices": ("none", "train+val")},
    ),
    ("include_test_labels", bool, False, "Let the label set hold labels that only the test documents have.", _FLAG),
    ("remove_no_label_data", bool, False, "Leave out training and validation documents without labels.", _FLAG),
    ("add_special_tokens", bool, True, "Let a language model's tokenizer add its start and end tokens."),
    (
        "data_format",
        str,
        "txt",
        "txt; svm or xmc (sparse files of the XMC repository), features in place of text, for linear models; xmc also "
        "for PLANT with the features' words as vocab_file.",
        _FORMATS,
    ),
)
_MODEL = _group(
    "Model",
    (
        "model_name",
        str,
        "unnamed_model",
        "A network of `plant list networks`, your own as module:class, or any name with --linear.",
    ),
    ("init_weight", str, "kaiming_uniform", "Initialiser of LibMultiLabel's networks, from torch.nn.init."),
    ("loss_function", str, "binary_cross_entropy_with_logits", "Loss of LibMultiLabel's networks, from torch.nn."),
    ("vocab_file", str, None, "The vocabulary, one word a line; without it, the words of the training documents."),
    ("embed_file", str, None, "Word vectors: a text file, or a GloVe name such as glove.6B.300d."),
    ("normalize_embed", bool, False, "Scale every word vector to length one.", _FLAG),
)
_TRAINING = _group(
    "Training",
    ("epochs", int, 10000, "Passes over the training documents at most; patience usually ends it before."),
    ("batch_size", int, 16, "Documents per step."),
    ("optimizer", str, "adam", "Optimiser.", {"choices": _OPTIMIZERS}),
    ("learning_rate", float, 0.0001, "Step size of the optimiser."),
    ("weight_decay", float, 0, "Weight decay."),
    ("momentum", float, 0.9, "Momentum; only sgd reads it."),
    ("lr_scheduler", str, None, "A scheduler of torch.optim.lr_scheduler, with scheduler_config in the YAML file."),
    ("patience", int, 5, "Epochs without a better early_stopping_metric before training ends."),
    ("early_stopping_metric", str, None, "What patience watches; val_metric unless given."),
    ("limit_train_batches", float, 1.0, "Share of the training batches to use, for trying things out."),
    ("limit_val_batches", float, 1.0, "Share of the validation batches to use."),
    ("limit_test_batches", float, 1.0, "Share of the test batches to use."),
)
_EVALUATION = _group(
    "Evaluation",
    ("eval_batch_size", int, 256, "Documents per step of validation and test."),
    ("metric_threshold", float, 0.5, "Scores above it count as predicted, in metrics that need a yes or no."),
    ("monitor_metrics", str, ("P@1", "P@3", "P@5"), "Metrics of validation and test.", {"nargs": "+"}),
    ("val_metric", str, "P@1", "The metric by which the best epoch is chosen."),
    ("save_k_predictions", int, 0, "Write the k best labels of each test document; 100 without a k.", {"const": 100}),
    ("predict_out_path", str, "./predictions.txt", "Where they are written; empty: in the run folder."),
    ("save_positive_predictions", bool, False, "Linear models: write all labels with a positive score.", _FLAG),
)
_LINEAR = _group(
    "Linear models",
    ("liblinear_options", str, None, "Options for LIBLINEAR, e.g. '-s 2 -B 1 -e 0.0001 -q'."),
    ("linear_technique", str, "1vsrest", "How labels become binary problems.", {"choices": _TECHNIQUES}),
    ("tree_degree", int, 100, "tree: children per node."),
    ("tree_max_depth", int, 10, "tree: levels at most."),
    ("tree_ensemble_models", int, 1, "tree: number of trees whose scores are averaged."),
    ("beam_width", int, 10, "tree and AttentionXML: nodes kept per level while predicting."),
    ("cluster_size", int, 8, "AttentionXML: labels per cluster at most."),
)
_OURS = _group(
    "PLANT",
    ("strategy", str, "plant", "How a network of this package is trained: see `plant list strategies`."),
    ("precision", str, "auto", "Numbers in training.", {"choices": ("auto", "32", "bf16", "16")}),
    (
        "kernels",
        str,
        "auto",
        "What computes label attention and ranking loss on a GPU; auto: Triton where torch would need too much memory.",
        {"choices": ("auto", "torch", "triton")},
    ),
    (
        "without_packing",
        bool,
        False,
        "LibMultiLabel's recurrent networks train on a CPU over padded batches: same numbers up to rounding, sooner.",
        _FLAG,
    ),
    (
        "devices",
        int,
        1,
        "Devices of each machine, a process each; CPUs count by cores. Each takes batch_size documents.",
    ),
    ("num_nodes", int, 1, "Machines; more than one are started by torchrun."),
    ("allow_bad_lines", bool, False, "Leave out lines that are not of the format instead of stopping.", _FLAG),
    ("resume", str, None, "A run folder to go on with, or auto: this command's newest unfinished run, else a new one."),
    ("max_skipped_steps", int, 20, "Steps of a stage whose loss or gradient may be infinite before training ends."),
    ("checkpoint_every", str, "10m", "When the state to resume from is written: 200 (steps), 10m (minutes) or epoch."),
    (
        "logger",
        str,
        "csv",
        "Where the numbers of training go besides logs.json and metrics.csv of the run.",
        {"choices": ("csv", "tensorboard", "wandb")},
    ),
    ("cache_dir", str, None, "Where tokens and built-in data are kept between runs; your cache folder unless given."),
    ("propensity_a", float, 0.55, "A of the label propensities of PSP, PSnDCG and PSR."),
    ("propensity_b", float, 1.5, "B of the label propensities."),
)
SEARCH: tuple[Option, ...] = _group(  # read by `plant search` only
    "Search",
    ("search_alg", str, None, "How values are drawn; basic_variant unless given.", {"choices": _ALGORITHMS}),
    ("num_samples", int, 50, "Trials; with grid_search, times that the whole grid is tried."),
    ("scheduler", str, None, "Arguments of ASHA as a YAML mapping, e.g. '{max_t: 50, grace_period: 10}'; null: none."),
    ("cpu_count", int, 4, "Processor cores of a trial."),
    ("gpu_count", float, 1.0, "GPUs of a trial; 0.5: two trials share one."),
    ("no_retrain", bool, False, "Test the best trial's own model instead of training again.", _FLAG),
    ("no_merge_train_val", bool, False, "Train again without the validation documents.", _FLAG),
)

SCHEMA: tuple[Option, ...] = (*_GENERAL, *_DATA, *_MODEL, *_TRAINING, *_EVALUATION, *_LINEAR, *_OURS)
OPTIONS: dict[str, Option] = {option.name: option for option in SCHEMA}
SEARCH_OPTIONS: dict[str, Option] = {option.name: option for option in SEARCH}
BLOCKS: dict[str, type[Any]] = {
    "relevance": RelevanceOptions,
    "stage1": Stage1Options,
    "stage2": Stage2Options,
    "planted_scores": PlantedScoresOptions,
    "evidence": EvidenceOptions,
}
MAPPINGS = ("network_config", "scheduler_config")  # free mappings, bound to the signature of what they configure
