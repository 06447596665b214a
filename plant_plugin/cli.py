"""The two commands: ``libmultilabel`` trains and tests; ``plant`` lists, checks and looks inside."""

from __future__ import annotations

import click

from plant_plugin.commands.configurations import list_entries, show, validate
from plant_plugin.commands.desk import desk
from plant_plugin.commands.doctor import doctor
from plant_plugin.commands.evaluate import compare, evaluate
from plant_plugin.commands.explain import explain, label
from plant_plugin.commands.measures import faithfulness, plausibility
from plant_plugin.commands.predict import predict
from plant_plugin.commands.prepare import prepare
from plant_plugin.commands.relevance import relevance
from plant_plugin.commands.serve import export, serve, strip
from plant_plugin.commands.shared import RegisteredGroup
from plant_plugin.commands.train import host, libmultilabel, search, train
from plant_plugin.commands.training_files import embeddings, stats

__all__ = ["libmultilabel", "plant"]


@click.group(cls=RegisteredGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="plant-plugin", prog_name="plant_plugin")
def plant() -> None:
    """Train, list what there is, check a configuration, prepare data, predict, explain, serve, evaluate and compare."""


SHOWN = (
    train, list_entries, show, prepare, stats, validate, doctor, relevance, embeddings, evaluate, compare,
    predict, explain, label, faithfulness, plausibility, export, strip, serve, desk, search, host,
)  # fmt: skip
for command in SHOWN:
    plant.add_command(command)
