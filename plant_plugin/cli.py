"""The two commands: ``libmultilabel`` trains and tests; ``plant`` lists, checks and looks inside."""

from __future__ import annotations

import click

from plant_plugin.commands.configurations import list_entries, validate
from plant_plugin.commands.desk import desk
from plant_plugin.commands.doctor import doctor
from plant_plugin.commands.evaluate import compare, evaluate
from plant_plugin.commands.explain import explain, label
from plant_plugin.commands.measures import codiesp_x, faithfulness, plausibility
from plant_plugin.commands.predict import predict
from plant_plugin.commands.prepare import prepare
from plant_plugin.commands.relevance import relevance
from plant_plugin.commands.serve import export, serve, strip
from plant_plugin.commands.shared import plain_ending
from plant_plugin.commands.train import host, libmultilabel, pretrain_lm, search, train
from plant_plugin.commands.training_files import embeddings, stats
from plant_plugin.files import private_files

__all__ = ["libmultilabel", "plant"]


class QuietGroup(click.Group):
    """A group whose commands end without a traceback on Ctrl-C and on a full disk."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        with plain_ending(), private_files():
            return super().invoke(ctx)


@click.group(cls=QuietGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="plant-plugin", prog_name="plant_plugin")
def plant() -> None:
    """Train, list what there is, check a configuration, prepare data, predict, explain, serve, evaluate and compare."""


SHOWN = (
    train, list_entries, prepare, stats, validate, doctor, relevance, embeddings, pretrain_lm, evaluate, compare,
    predict, explain, label, faithfulness, plausibility, codiesp_x, export, strip, serve, desk, search, host,
)  # fmt: skip
for command in SHOWN:
    plant.add_command(command)
