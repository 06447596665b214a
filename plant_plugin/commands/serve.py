"""``plant serve``, and model folders to give away: ``plant export`` adds a card, ``plant strip`` removes words."""

from __future__ import annotations

import re
from pathlib import Path

import click

from plant_plugin.commands.desk_export import open_desk
from plant_plugin.commands.reading import Flags, reads_files, training_texts
from plant_plugin.commands.serve_options import exports_onnx, logs_access
from plant_plugin.commands.shared import COUNT, FILE, MODEL, Load, folder_options, loads_models, model_argument
from plant_plugin.errors import ConfigError, needs_extra
from plant_plugin.evaluation.said import counted

SECONDS = click.FloatRange(min=0, min_open=True)
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")  # as the hub's cards have them


@click.command()
@click.argument("model", type=MODEL)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0: every one.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option("--allow-host", "names_too", multiple=True, metavar="NAME",
              help="A further name that clients call it by, e.g. that of a proxy. May be repeated.")  # fmt: skip
@click.option("--token-file", type=FILE, help="Requests have to bring its token; or set PLANT_SERVE_TOKEN.")
@click.option("--desk", "desk_file", type=FILE, help="Let coders work at /desk, on this file of `plant desk`.")
@click.option("--max-bytes", "body_bytes", default=2**20, show_default=True, type=COUNT, help="Of a request's body.")
@click.option("--max-waiting", "waiting", default=128, show_default=True, type=COUNT, help="Requests in the queue.")
@click.option("--max-connections", "connections", default=900, show_default=True, type=COUNT, help="Open at once.")
@click.option("--timeout", "seconds", default=30.0, show_default=True, type=SECONDS,
              help="Seconds to wait for an answer.")  # fmt: skip
@click.option("--header-timeout", "header_seconds", default=10.0, show_default=True, type=SECONDS,
              help="Seconds for a request's head.")  # fmt: skip
@click.option("--body-timeout", "body_seconds", default=30.0, show_default=True, type=SECONDS, help="And for its body.")
@logs_access
@loads_models()
def serve(
    model: Path,
    host: str,
    port: int,
    names_too: tuple[str, ...],
    token_file: Path | None,
    desk_file: Path | None,
    load: Load,
    **most: int,
) -> None:
    """Answer requests with the run folder MODEL: POST /v1/predict and /v1/explain, GET /v1/health, /v1/ready.

    / is a page to paste a text into, /docs and `plant openapi` describe the rest, /metrics is for Prometheus.

    Requests that come at once are read together. No text is kept or logged. It listens only to this machine unless
    --host says otherwise, and answers whoever reaches it unless there is a token. With --desk coders sign in at /desk
    with tokens of `plant desk add-coder`, decide on codes and mark words; only their file keeps texts (docs/desk.md).
    """
    with needs_extra("serve"):
        from plant_plugin.serving import access
        from plant_plugin.serving.app import create_app
        from plant_plugin.serving.connections import Server, allow_open_files

    desk = None if desk_file is None else open_desk(desk_file)
    token = access.read_token(token_file)
    allow_open_files(most["connections"])
    predictor = load(model)
    if host not in access.LOOPBACK and token is None:
        click.echo(f"Note: whoever reaches {host} can use the model; there is no password.", err=True)
    limits = access.Limits(**most)
    app = create_app(predictor, limits, access.server_names(host, names_too), token, desk)
    page = "" if desk is None else "desk"
    Server(app, limits, lambda address: click.echo(f"{address}/{page}", err=True), host=host, port=port).run()


@click.command()
@model_argument
@click.option("--out", required=True, type=MODEL, help="The folder to make, or a file that ends in .zip.")
@click.option("--dtype", type=click.Choice(["bfloat16", "float16", "float32"]), default="bfloat16", show_default=True,
              help="Numbers of the merged weights.")  # fmt: skip
@click.option("--lm-weight", help="Where the language model lies on this machine, if it has moved.")
@click.option("--language", "languages", multiple=True, metavar="CODE", help="Of the texts, for the card; repeatable.")
@folder_options
@exports_onnx
def export(
    run_folder: Path,
    out: Path,
    dtype: str,
    lm_weight: str | None,
    languages: tuple[str, ...],
    trust_code: bool,
    check: bool,
) -> None:
    """Write MODEL into a folder or a file that needs nothing else, with a model card, to hand on.

    No text, log or prediction of the run is copied. The new folder works where a run folder does (--eval
    --checkpoint_path) and as a repository of a hub, a file in plant's own commands. Adapters are merged into their
    language model; OUT/backbone then loads with only transformers.
    """
    import torch

    from plant_plugin.model.export import export_model

    if wrong := next((code for code in languages if not LANGUAGE.fullmatch(code)), None):
        raise ConfigError(f"{wrong[:80]!r} is no code of a language", where="--language", fix="e.g. en, or pt-BR")
    export_model(
        run_folder, out, getattr(torch, dtype), lm_weight, languages=languages, trust_code=trust_code, check=check
    )
    click.echo(f"{out}: the model, with README.md to read and complete")


@click.command()
@model_argument
@click.option("--out", required=True, type=MODEL, help="The folder to make.")
@click.option("--min-documents", "least", required=True, type=click.IntRange(min=2),
              help="Words and phrases in fewer training documents are removed.")  # fmt: skip
@click.option("--training-file", "files", type=FILE, multiple=True,
              help="Where the training documents lie now; may be repeated.")  # fmt: skip
@reads_files
@folder_options
def strip(
    run_folder: Path, out: Path, least: int, files: tuple[Path, ...], flags: Flags, trust_code: bool, check: bool
) -> None:
    """Write a copy of MODEL without the rare words and phrases of its training documents.

    It predicts as the model does, but does not know what is gone. Nothing else of the run is copied.
    """
    from plant_plugin.model.strip import strip_model

    removed = strip_model(
        run_folder, out, training_texts(run_folder, files, flags), least, trust_code=trust_code, check=check
    )
    click.echo(
        f"{out}: without {counted(removed.words, 'word')}, {counted(removed.terms, 'term')} and "
        f"{counted(removed.phrases, 'phrase')}"
    )
