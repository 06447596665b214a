"""``plant serve``: a trained model behind HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from plant_plugin.commands.predict import model_options

LOOPBACK = ("127.0.0.1", "localhost")


@click.command(context_settings={"max_content_width": 120})
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--host", default=LOOPBACK[0], show_default=True, help="Address to listen on; 0.0.0.0: every one.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option("--max-bytes", default=2**20, show_default=True, type=click.IntRange(min=1), help="Of a request's body.")
@click.option(
    "--max-waiting", default=128, show_default=True, type=click.IntRange(min=1), help="Requests in the queue."
)
@click.option("--timeout", default=30.0, show_default=True, type=click.FloatRange(min=0, min_open=True),
              help="Seconds that a request waits at most.")  # fmt: skip
@model_options
def serve(
    model: Path,
    host: str,
    port: int,
    max_bytes: int,
    max_waiting: int,
    timeout: float,
    device: str | None,
    names: tuple[str, ...],
) -> None:
    """Answer requests with the run folder MODEL: POST /predict, POST /explain, GET /health.

    / is a page to paste a text into, /docs describes the rest.

    Requests that come at once are read together. No text is kept or logged. There is no password: who reaches the
    address can ask, so it listens to this machine alone unless --host says otherwise.
    """
    from plant_plugin.errors import MissingExtraError

    try:
        import uvicorn

        from plant_plugin.serving.app import create_app
    except ImportError as error:
        what = f"serving needs {error.name}"
        raise MissingExtraError(what, fix="pip install 'plant-plugin[serve]'") from error
    from plant_plugin.data.label_names import label_names
    from plant_plugin.model.predictor import Predictor
    from plant_plugin.serving.limits import Limits

    predictor = Predictor.load(model, device=device, names=label_names(names, model))
    limits = Limits(max_bytes, max_waiting, timeout)
    if host not in LOOPBACK:
        click.echo(f"Note: whoever reaches {host} can use the model; there is no password.", err=True)
    app = create_app(predictor, limits, list(LOOPBACK) if host in LOOPBACK else None)
    click.echo(f"http://{host}:{port}/", err=True)
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, server_header=False)
