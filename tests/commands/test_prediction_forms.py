"""What ``plant predict`` writes; its refusals are in ``test_predict.py``."""

from __future__ import annotations

import click
from click.testing import CliRunner

from plant_plugin.commands.prediction_forms import Form, writes_predictions


def test_a_command_gets_one_form() -> None:
    @click.command()
    @writes_predictions
    def command(form_written: Form) -> None:
        click.echo(repr(tuple(form_written)))

    asked = CliRunner().invoke(command, ["--output", "csv", "--rules", "--raw-csv"])
    assert asked.output == "('csv', None, True, True)\n"
    assert CliRunner().invoke(command, []).output == "('jsonl', None, False, False)\n"
    refused = CliRunner().invoke(command, ["--output", "scores", "--rules"])
    assert "scores have no place for hints" in refused.output
