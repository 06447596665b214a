"""``plant pretrain-lm``: the language model that an AWD-LSTM starts from."""

from __future__ import annotations

import click

from plant_plugin.commands.flags import ConfigCommand, overrides_from
from plant_plugin.commands.shared import COUNT


@click.command("pretrain-lm", cls=ConfigCommand, context_settings={"show_default": True})
@click.argument("config")
@click.option("--passes", default=8, type=COUNT, help="Over the training texts; the best is kept.")
@click.option(
    "--rate", default=0.004, type=click.FloatRange(0, min_open=True), help="Highest learning rate of the one cycle."
)
@click.option("--columns", default=32, type=COUNT, help="Parts of the text, read side by side.")
@click.option("--segment", default=70, type=COUNT, help="Words that a gradient goes back through.")
def pretrain_lm(config: str, passes: int, rate: float, columns: int, segment: int, **flags: object) -> None:
    """Train the language model of CONFIG on its training texts, into the folder network_config.language_model.

    An AWD-LSTM with the sizes of network_config, forward, backward or both. Called again it resumes where it was
    killed. The configuration then trains its classifier over it: libmultilabel --config CONFIG.
    """
    from plant_plugin.config import load_config

    settings = load_config(config, overrides_from(flags))
    from plant_plugin.l2r.language_model import Pretraining, pretrain

    length = Pretraining(passes, rate, columns, segment)
    for direction, scores in pretrain(settings, length).items():
        click.echo(f"{direction}: " + ", ".join(f"{name} {value:.1f}" for name, value in scores.items()))
    click.echo(f"written: {settings.network_config['language_model']}")
