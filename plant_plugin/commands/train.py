"""``libmultilabel``: train and test what a configuration names."""

from __future__ import annotations

from typing import Any

import click

from plant_plugin.commands.flags import ConfigCommand, overrides_from


@click.command(
    cls=ConfigCommand,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.option(
    "-c", "--config", metavar="FILE", help="A YAML file, or the name of one from `plant list configurations`."
)
@click.version_option(package_name="plant-plugin", prog_name="plant_plugin")
def libmultilabel(config: str | None, **flags: Any) -> None:
    """Train and test a multi-label text classifier: PLANT, or any model of LibMultiLabel.

    Takes the configuration files and flags of LibMultiLabel's main.py, and PLANT's own. A flag beats the file. What
    is wrong with a configuration is reported all at once, before any data are read.
    """
    from plant_plugin.config import load_config

    settings = load_config(config, overrides_from(flags))
    from plant_plugin.training.run import run

    result = run(settings)
    if result and not settings.silent:
        from plant_plugin.report.tables import print_results

        print_results(result)
