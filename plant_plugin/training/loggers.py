"""TensorBoard and Weights & Biases beside ``metrics.csv``, by Lightning's own loggers."""

from __future__ import annotations

import functools
import importlib
import uuid
from collections.abc import Callable
from pathlib import Path

from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger
from typing_extensions import override

from plant_plugin.config.sections import Settings
from plant_plugin.errors import needs_extra
from plant_plugin.files import write_text
from plant_plugin.report.record import FIRST_PASS
from plant_plugin.report.result import without_paths

WANDB_ID = "wandb_id"  # a file in the run's folder, so that a resumed run continues in the same place


class WholeWandbLogger(WandbLogger):
    """A logger whose run of Weights & Biases ends with it."""

    @override
    def finalize(self, status: str) -> None:
        self.experiment.finish()


def open_tensorboard(settings: Settings, folder: Path, stage: str, step: int) -> Logger:
    """Open event files in ``tensorboard/<stage>`` of the run's folder, which forget what comes after a step."""
    return TensorBoardLogger(folder, "tensorboard", stage, purge_step=step + 1)


def open_wandb(settings: Settings, folder: Path, stage: str, step: int) -> Logger:
    """Open the run of Weights & Biases that belongs to a run's folder; its ``WANDB_PROJECT`` and ``WANDB_MODE`` hold.

    Numbers and the configuration without paths go there: no text, label, console output, code or command line.
    """
    import wandb

    identity = folder / WANDB_ID
    if not identity.is_file():
        write_text(identity, uuid.uuid4().hex[:12])
    run_folder = folder.parent if folder.name == FIRST_PASS else folder
    options = wandb.Settings(
        console="off", disable_code=True, disable_git=True, disable_job_creation=True, x_disable_meta=True,
        x_save_requirements=False, silent=settings.silent,
    )  # fmt: skip
    return WholeWandbLogger(
        run_folder.resolve().name,
        folder,
        id=identity.read_text(encoding="utf-8"),
        prefix=stage,
        config=without_paths(settings.as_dict()),
        settings=options,
    )


LOGGERS = {  # `logger` -> what opens it, and the module that it needs
    "tensorboard": (open_tensorboard, "torch.utils.tensorboard"),
    "wandb": (open_wandb, "wandb"),
}


def logger_of(settings: Settings, folder: Path) -> Callable[[str, int], Logger]:
    """Return what opens the logger that ``logger`` names beside ``csv``, from a stage and a step on.

    Raises:
        MissingExtraError: It is not installed.
    """
    name = settings.logger
    open_logger, module = LOGGERS[name]
    with needs_extra(name, f"{name} is not installed", where=f"logger: {name}", otherwise="or logger: csv"):
        importlib.import_module(module)
    return functools.partial(open_logger, settings, folder)
