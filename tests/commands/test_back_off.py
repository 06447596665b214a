"""``plant predict --back-off``: what the command gets and refuses; what is written is in tests/model."""

from __future__ import annotations

import click
from click.testing import CliRunner

from plant_plugin.commands.back_off import backs_off
from plant_plugin.commands.prediction_forms import Form, writes_predictions


def test_the_command_is_told_and_scores_are_refused() -> None:
    @click.command()
    @writes_predictions
    @backs_off
    def command(form_written: Form, back_off: bool) -> None:
        click.echo(f"{form_written.output} {back_off}")

    assert CliRunner().invoke(command, ["--back-off"]).output == "jsonl True\n"
    assert CliRunner().invoke(command, ["--output", "scores"]).output == "scores False\n"
    refused = CliRunner().invoke(command, ["--back-off", "--output", "scores"])
    assert refused.exit_code == 2
    assert "scores are of labels only" in refused.output
