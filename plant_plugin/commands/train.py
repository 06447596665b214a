"""``libmultilabel``, ``plant train`` and ``search``: train and test, once or with the best values."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from plant_plugin.commands.desk import is_desk
from plant_plugin.commands.desk_export import open_desk
from plant_plugin.commands.flags import ConfigCommand, SearchCommand, overrides_from
from plant_plugin.commands.printing import raw_csv_option
from plant_plugin.commands.shared import FILE, FOLDER, count_line, in_its_folder
from plant_plugin.commands.silent import teller
from plant_plugin.errors import ConfigError, DataError, needs_extra

if TYPE_CHECKING:
    from plant_plugin.report.result import Result

every_option = click.option("--all", "every", is_flag=True, help="Print every number at the end, not six.")


@click.command(
    cls=ConfigCommand,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.option(
    "-c", "--config", metavar="FILE", help="A YAML file, or the name of one from `plant list configurations`."
)
@click.option(
    "--trust-code",
    is_flag=True,
    help="Load a model of LibMultiLabel; it is a pickle, which can run any code.",
)
@every_option
@click.version_option(package_name="plant-plugin", prog_name="plant_plugin")
def libmultilabel(config: str | None, trust_code: bool, every: bool, **flags: object) -> None:
    """Train and test a multi-label text classifier: PLANT, or any model of LibMultiLabel.

    Takes the configuration files and flags of LibMultiLabel's main.py, and PLANT's own. A flag beats the file. What
    is wrong with a configuration is reported all at once, before any data are read.
    """
    _train(config, trust_code, every, flags)


@click.command(cls=ConfigCommand)
@click.argument("file")
@click.option("-c", "--config", default="plant.yml", metavar="FILE", help="Another configuration than plant.yml.")
@click.option("--from", "folder", metavar="RUN_FOLDER", type=FOLDER, callback=in_its_folder,
              help="Continue this run with FILE's documents or what coders finished at a desk.")  # fmt: skip
@click.option("--trust-code", is_flag=True, help="Run code that RUN_FOLDER names: a registry or network of its own.")
@every_option
def train(file: str, config: str, folder: Path | None, trust_code: bool, every: bool, **flags: object) -> None:
    """Train PLANT on FILE, your documents, with what suits them: network, length, epochs, evidence, names, weights.

    Looks at the data, says in ten lines what it chose and why, and writes that down as settled.yml in the run's folder.
    A key that you give is never chosen; --minutes says how long it may take. What lies beside FILE is used: FILE's
    evidence and label_names.tsv and, where FILE is called train, the files valid and test.

    With --from the run's own configuration and documents are taken, and those of FILE are added: text with its evidence
    beside it, or the DESK.sqlite of `plant desk`. That takes a small part of the time of a new training.
    """
    if flags.get("training_file") is not None:
        raise ConfigError("FILE is what is trained on", where="--training_file", fix="leave out one of the two")
    if folder is None:
        return _train(config, trust_code, every, {**flags, "training_file": file})
    if click.get_current_context().get_parameter_source("config") is not ParameterSource.DEFAULT:
        raise ConfigError("--from takes the run's own configuration", where="--config", fix="leave out one of the two")
    _train_further(folder, Path(file), overrides_from(flags), trust_code, every)


def _train_further(folder: Path, file: Path, overrides: dict[str, object], trust_code: bool, every: bool) -> None:
    from plant_plugin.report.record import RUN_FILE
    from plant_plugin.report.run_folder import stoppable
    from plant_plugin.training.further import further

    say = teller(overrides)
    with stoppable(lambda: True), tempfile.TemporaryDirectory() as exported:
        if is_desk(file):
            desk, file = open_desk(file), Path(exported, "train.txt")
            from plant_plugin.serving.desk.export import export

            for name, number in export(desk, Path(exported)).items():
                say(count_line(name, number))
        settings = further(folder, file, overrides, trust_code=trust_code, say=say)
        from plant_plugin.training.left_over import remove_torn
        from plant_plugin.training.run import run
    new_folder = settings.checkpoint_dir
    for torn in remove_torn(new_folder):
        say(f"removed {torn}: a training that was killed before it began")
    try:
        _show(run(settings), settings.silent, every)
    finally:
        if not (new_folder / RUN_FILE).exists():  # refused before it began
            shutil.rmtree(new_folder, ignore_errors=True)


def _show(result: Result, silent: bool, every: bool) -> None:
    if not result or silent:  # there is none where nothing was tested
        return
    from plant_plugin.report.summary import print_summary
    from plant_plugin.report.tables import print_results

    (print_results if every else print_summary)(result)


def _train(config: str | None, trust_code: bool, every: bool, flags: Mapping[str, object]) -> None:
    from plant_plugin.report.run_folder import stoppable

    with stoppable(lambda: True):  # the imports take seconds
        from plant_plugin.config import load_config

        settings = replace(load_config(config, overrides_from(flags)), trust_code=trust_code)
        from plant_plugin.training.run import run
    _show(run(settings), settings.silent, every)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", type=FILE)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def host(script: Path, arguments: tuple[str, ...]) -> None:
    """Run SCRIPT, main.py of a clone of LibMultiLabel, with our networks and strategies registered in LibMultiLabel.

    E.g. `plant host main.py --config FILE`, in the place of `python main.py --config FILE`: model_name PLANT is then
    trained in both stages, as `libmultilabel --config FILE` trains it. The script is not changed.
    """
    import runpy
    import sys

    if not script.is_file():
        raise DataError("no such file", where=str(script), fix="name main.py of your clone of LibMultiLabel")
    from plant_plugin.host.trainer import hook, register_networks
    from plant_plugin.training.run import run

    register_networks()
    hook(run)
    before = sys.argv, [*sys.path]
    try:
        sys.argv = [str(script), *arguments]
        sys.path.insert(0, str(script.resolve().parent))  # as Python has it for a script
        runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before


@click.command(cls=SearchCommand)
@click.argument("config")
@raw_csv_option
@every_option
def search(config: str, raw_csv: bool, every: bool, **flags: object) -> None:
    """Search the best hyper-parameters of CONFIG, a file in which some values are sampling expressions.

    E.g. learning_rate: ['grid_search', [0.01, 0.001]]: LibMultiLabel's keys, expressions and *_tune.yml files. Trials
    never see the test split; the best by val_metric is trained again on training and validation documents and tested.
    """
    with needs_extra("search", "a search needs Ray Tune"):
        from plant_plugin.training.search.plan import plan_search
    overrides = overrides_from(flags)
    silent = bool(overrides.pop("silent", False))  # in the file it is for the trials
    plan = plan_search(config, overrides)
    from plant_plugin.training.search.search import search as run_search

    _show(run_search(plan, silent=silent, raw_csv=raw_csv), silent, every)
