"""From our checked configuration to what LibMultiLabel's functions take."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from libmultilabel.common_utils import AttributeDict

from plant_plugin.config import Config
from plant_plugin.config.rules import SHARES
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.host.spaced_files import files_with_words
from plant_plugin.report.run import Run

OWN_TEST = "libmultilabel_test"  # phase of LibMultiLabel's own test: `test` is one pass over the scores, of every model
LIGHTNING = ("lightning", "lightning.pytorch", "lightning.fabric", "lightning.fabric.utilities.seed")
# LibMultiLabel's main.py looks at these before it hands the configuration on, and logs.json lists what was looked at.
SEEN_BY_MAIN = ("config", "data_name", "model_name", "eval", "result_dir", "run_name", "silent", "linear")


def library_settings(config: Config, run: Run) -> AttributeDict:
    """Return the configuration as LibMultiLabel's ``AttributeDict``, which notes for ``logs.json`` what is read.

    Built-in data are written to files, a run folder to resume becomes its checkpoint, and where there is no CUDA device
    the run is moved to the CPU (LibMultiLabel's own ``main.py`` stops there).

    Raises:
        CheckpointError: A model is to be loaded without ``trust_code``, or its folder does not hold one.
    """
    values = config.as_dict()
    for key in ("run_name", "checkpoint_dir", "log_path"):
        values[key] = str(getattr(config, key))
    values["predict_out_path"] = config.predictions_path
    values["config"] = None if config.config_path is None else str(config.config_path)
    values["monitor_metrics"] = [_spelled(name, config.linear) for name in values["monitor_metrics"]]
    for key in ("val_metric", "early_stopping_metric"):
        values[key] = _spelled(values[key], config.linear)
    for key in SHARES:
        # A share up to one; above it a whole number. scikit-learn and Lightning distinguish them by their type.
        # One document may validate; of the limits 1 is a share.
        number = values[key] > 1 or (key == "val_size" and values[key] == 1)
        values[key] = int(values[key]) if number else float(values[key])
    values |= files_with_words(config, pairs=config.linear)
    folder = values["checkpoint_path"] or values["resume"]
    if folder and not config.trust_code:
        what = "a model of LibMultiLabel is a pickle, and loading one runs whatever code it names"
        raise CheckpointError(what, where=str(folder), fix="if you trust whoever wrote it, add --trust-code")
    if folder and Path(folder).is_dir():
        values["checkpoint_path"] = _checkpoint_in(folder, values)
    if not config.linear and not values["cpu"] and not torch.cuda.is_available():
        run.log("No CUDA device: running on the CPU (say cpu: true to hide this line).")
        values["cpu"] = True
    settings = AttributeDict(values)
    for key in SEEN_BY_MAIN:
        getattr(settings, key)
    if settings.eval or settings.model_name == "XMLCNN":
        settings.test_file, settings.seed  # noqa: B018
    return settings


def _spelled(metric: str, linear: bool) -> str:
    """Spell nDCG as LibMultiLabel does: nDCG for networks, NDCG for linear models."""
    return re.sub(r"^n?NDCG@|^nDCG@", "NDCG@" if linear else "nDCG@", metric)


def _checkpoint_in(folder: str, values: Mapping[str, object]) -> str:
    """Return the checkpoint of a run folder: the last to train on, the best to test."""
    if values["linear"] or values["model_name"] == "AttentionXML":
        name = "linear_pipeline.pickle" if values["linear"] else "model_1.ckpt"
        if not values["eval"]:
            what = "linear models and AttentionXML keep nothing from which training could be resumed"
            raise ConfigError(what, where=folder, fix="start again without it, or add --eval to test its model")
    else:
        name = "best_model.ckpt" if values["eval"] else "last.ckpt"
    path = Path(folder) / name
    if not path.is_file():
        raise CheckpointError(f"{name} is missing", where=folder, fix="give the folder of a run that finished an epoch")
    return str(path)


@contextlib.contextmanager
def library_log(silent: bool) -> Iterator[None]:
    """Show LibMultiLabel's log lines on stderr.

    ``silent``: only warnings, and nothing of what LibMultiLabel and Lightning print by themselves.
    """
    root, handler = logging.getLogger(), logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING if silent else logging.INFO)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    lightning = [logging.getLogger(name) for name in LIGHTNING]  # these print on their own
    levels = [(log, log.level) for log in (root, *lightning)]
    root.setLevel(logging.INFO)
    for log in lightning:
        log.setLevel(handler.level)
    root.addHandler(handler)
    try:
        with warnings.catch_warnings(), contextlib.ExitStack() as hidden:
            if silent:
                warnings.simplefilter("ignore")
                hidden.enter_context(contextlib.redirect_stdout(io.StringIO()))
                hidden.enter_context(contextlib.redirect_stderr(io.StringIO()))
            yield
    finally:
        root.removeHandler(handler)
        for log, level in levels:
            log.setLevel(level)
