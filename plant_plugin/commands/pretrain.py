"""``plant pretrain-lm``: the language model that an encoder starts from."""

from __future__ import annotations

import click

from plant_plugin.commands.flags import ConfigCommand, overrides_from


@click.command("pretrain-lm", cls=ConfigCommand)
@click.argument("config")
def pretrain_lm(config: str, **flags: object) -> None:
    """Train the language model of CONFIG on its training texts, into language_model.folder.

    An AWD-LSTM with the sizes of network_config, forward, backward or both. Called again it goes on where it was
    killed. The configuration then trains its classifier over it: libmultilabel --config CONFIG.
    """
    from plant_plugin.config.load import load_config

    settings = load_config(config, overrides_from(flags))
    from plant_plugin.training.language_model import pretrain

    for direction, found in pretrain(settings, click.echo).items():
        click.echo(f"{direction}: " + ", ".join(f"{name} {value:.1f}" for name, value in found.items()))
    click.echo(f"written: {settings.language_model.folder}")
