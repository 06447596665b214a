"""LibMultiLabel's own models, trained and tested by LibMultiLabel's own functions."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from libmultilabel.common_utils import AttributeDict

from plant_plugin.config import Config
from plant_plugin.errors import FullDiskError, PlantError
from plant_plugin.files import is_full, write_text
from plant_plugin.host.attention_xml import AttentionXMLBaseline
from plant_plugin.host.checks import read_checked
from plant_plugin.host.linear import LinearBaseline
from plant_plugin.host.neural import NetworkBaseline, epochs_kept
from plant_plugin.host.settings import OWN_TEST, library_log, library_settings
from plant_plugin.report.result import Result, Scored, report, tuned_thresholds
from plant_plugin.report.run import Run

LEAST_VALIDATION = 10  # documents, for thresholds to be worth a second training


def run_baseline(config: Config, run: Run) -> Result:
    """Train and test one of LibMultiLabel's models as its ``main.py`` would, then write ``result.json``.

    For the same configuration and seed the random numbers are drawn in the same order, so ``logs.json``,
    ``predictions.txt`` and the checkpoints hold what LibMultiLabel writes. With ``refit: train+val`` LibMultiLabel
    trains twice, the second time as with its own ``merge_train_val``.

    Returns:
        The content of ``result.json``, or an empty dictionary when there is no test file.
    """
    settings = library_settings(config, run)
    with library_log(settings.silent), _full_disk(run):
        if settings["refit"] == "none":
            scored = _trained(settings, run)  # first: what is drawn at random is as without thresholds
            has_others = settings["eval"] or settings["val_file"] or settings["merge_train_val"]
            leaves_some = settings["linear"] and settings["data_format"] == "txt" and settings["val_size"]
            parted = leaves_some and not has_others  # a linear model trains on the whole file
            return report(config, run, scored, _part_thresholds(settings, run) if parted else None)
        thresholds = None if settings.eval else _first_thresholds(settings, run)
        settings["merge_train_val"] = True
        return report(config, run, _trained(settings, run), thresholds)


def _trained(settings: AttributeDict, run: Run) -> Scored:
    """Read, train (unless ``eval``) and test the model that the settings name, in the order of ``main.py``."""
    kind: type[LinearBaseline | NetworkBaseline] = NetworkBaseline
    if settings.linear:
        kind = LinearBaseline
    elif settings.model_name.lower() == "attentionxml":
        kind = AttentionXMLBaseline
    baseline = kind(settings, run)
    with run.phase("read"):
        baseline.read()
    baseline.build()
    if not settings.eval:
        with run.phase("train"):
            baseline.train()
    if "test" in baseline.datasets and run.tests:
        with run.phase(OWN_TEST):
            baseline.test()
    return baseline.scored()


def _first_thresholds(settings: AttributeDict, run: Run) -> dict[str, float]:
    """Train a first time, in a folder of its own, for thresholds and for the epochs of the second time."""
    with run.first_pass() as first:
        first_settings = copy.copy(settings)
        first_settings["checkpoint_dir"] = str(first.folder)
        first_settings["log_path"] = str(first.folder / Path(settings["log_path"]).name)
        thresholds = tuned_thresholds(first, _trained(first_settings, first))
    run.train_again({} if settings["linear"] else epochs_kept(first.folder))
    return thresholds


def _part_thresholds(settings: AttributeDict, run: Run) -> dict[str, float] | None:
    """Tune thresholds of the same technique, trained without ``val_size`` of the documents, on these.

    None where these would be too few to say anything. The model that is tested has all training documents.
    """
    corpus = read_checked(settings, test_file=None, include_test_labels=False)
    if corpus.val is None or len(corpus.val) < LEAST_VALIDATION:
        return None
    with run.phase("thresholds"), TemporaryDirectory() as folder:  # there: texts are in no run's folder
        part = Run(Path(folder), silent=True, tests=False)
        part_settings = copy.copy(settings)
        for key, split in {"training_file": corpus.train, "val_file": corpus.val}.items():
            part_settings[key] = str(part.folder / f"{split.name}.txt")
            rows = zip(split.labels, split.texts, strict=True)
            write_text(Path(part_settings[key]), "".join(f"{' '.join(labels)}\t{text}\n" for labels, text in rows))
        part_settings["checkpoint_dir"], part_settings["log_path"] = folder, str(part.folder / "logs.json")
        part_settings["test_file"], part_settings["include_test_labels"] = None, False
        part_settings["monitor_metrics"] = ["P@1"]
        part_settings["save_k_predictions"], part_settings["save_positive_predictions"] = 0, False
        try:
            return tuned_thresholds(part, _trained(part_settings, part))
        except PlantError as error:  # only of the part: the whole has been trained and tested
            run.log(f"no thresholds, as a part of the training documents does not do for them: {error.what}")
            return None


@contextlib.contextmanager
def _full_disk(run: Run) -> Iterator[None]:
    """Say plainly that the disk is full when LibMultiLabel or Lightning stumbles over it."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        if is_full(error):
            fix = "free some space, or choose another folder with --result_dir"
            raise FullDiskError("the disk is full", where=str(run.folder), fix=fix) from error
        raise
