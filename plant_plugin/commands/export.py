"""``plant export``: a trained model for serving, its adapters merged."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(context_settings={"max_content_width": 120})
@click.argument("run_folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder to make.")
@click.option(
    "--dtype", type=click.Choice(["bfloat16", "float16", "float32"]), default="bfloat16", show_default=True,
    help="Numbers of the merged weights.",
)  # fmt: skip
@click.option("--lm-weight", help="Where the language model lies on this machine, if it has moved.")
def export(run_folder: Path, out: Path, dtype: str, lm_weight: str | None) -> None:
    """Merge the adapters of RUN_FOLDER into its language model and write a model folder that needs nothing else.

    The new folder works where a run folder does (--eval --checkpoint_path); OUT/backbone loads with transformers alone.
    """
    import torch

    from plant_plugin.model.export import export_model

    export_model(run_folder, out, getattr(torch, dtype), lm_weight)
    click.echo(f"{out}: the merged model")
