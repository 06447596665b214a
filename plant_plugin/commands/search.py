"""``plant search``: hyper-parameters on Ray Tune."""

from __future__ import annotations

from typing import Any

import click

from plant_plugin.commands.flags import ConfigCommand, config_option, overrides_from
from plant_plugin.config.sections import SEARCH


class SearchCommand(ConfigCommand):
    """Takes the keys of a search too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        options = [config_option(option) for option in SEARCH]
        self.groups = {"Search": options, **self.groups}
        self.params += options


@click.command(cls=SearchCommand, context_settings={"max_content_width": 120})
@click.argument("config")
def search(config: str, **flags: Any) -> None:
    """Search the best hyper-parameters of CONFIG, a file in which some values are sampling expressions.

    E.g. learning_rate: ['grid_search', [0.01, 0.001]]: LibMultiLabel's keys, expressions and *_tune.yml files. Trials
    never see the test split; the best by val_metric is trained again on training and validation documents and tested.
    """
    from plant_plugin.training.search.plan import plan_search

    overrides = overrides_from(flags)
    silent = bool(overrides.pop("silent", False))  # in the file it is for the trials
    plan = plan_search(config, overrides)
    from plant_plugin.training.search.search import search as run_search

    result = run_search(plan, silent=silent)
    if silent:
        return
    if result:
        from plant_plugin.report.tables import print_results

        print_results(result)
    click.echo(f"{plan.base.checkpoint_dir}: trials.csv, trials.json, best.yml, best/")
