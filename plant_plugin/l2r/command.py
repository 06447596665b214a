"""``plant pretrain-lm``: the language model that an AWD-LSTM starts from."""

from __future__ import annotations

import click

from plant_plugin.commands.flags import ConfigCommand, overrides_from


@click.command("pretrain-lm", cls=ConfigCommand)
@click.argument("config")
def pretrain_lm(config: str, **flags: object) -> None:
    """Train the language model of CONFIG on its training texts, into the folder network_config.language_model.

    An AWD-LSTM with the sizes of network_config, forward, backward or both. Called again it resumes where it was
    killed. The configuration then trains its classifier over it: libmultilabel --config CONFIG.
    """
    from plant_plugin.config import load_config

    settings = load_config(config, overrides_from(flags))
    from plant_plugin.l2r.language_model import pretrain

    for direction, scores in pretrain(settings).items():
        click.echo(f"{direction}: " + ", ".join(f"{name} {value:.1f}" for name, value in scores.items()))
    click.echo(f"written: {settings.network_config['language_model']}")
