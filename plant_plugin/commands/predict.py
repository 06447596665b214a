"""``plant predict``: a trained model on new documents."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands import shared
from plant_plugin.commands.back_off import backs_off
from plant_plugin.commands.group_promises import promises_by_group
from plant_plugin.commands.growing import Growing, say_so_far, written_at_once
from plant_plugin.commands.new_documents import reads_documents, sources
from plant_plugin.commands.prediction_forms import Form, writes_predictions
from plant_plugin.commands.promises import promise_options
from plant_plugin.data.several_files import Files
from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.said import counted

if TYPE_CHECKING:
    from plant_plugin.data.tables import Table
    from plant_plugin.model.prediction_files import Threshold

ONE_A_LINE = ", one a line (--input text takes the whole file as one)"


@click.command()
@click.argument("model", type=shared.MODEL)
@reads_documents(several=True)
@writes_predictions
@backs_off
@click.option("--out", type=shared.FILE, help="Write to this file; until it is whole, FILE.unfinished grows.")
@click.option("--resume", is_flag=True, help="Go on where a command that was stopped had come to.")
@promise_options
@click.option("--batch-size", default=32, show_default=True, type=shared.COUNT, help="Documents at once.")
@click.option("--ray", "address", is_flag=False, flag_value="", metavar="[ADDRESS]",
              help="By workers of a Ray cluster, e.g. auto; of this machine unless given.")  # fmt: skip
@click.option("--workers", default=1, show_default=True, type=shared.COUNT, help="Processes that share the threads.")
@shared.loads_models()
@promises_by_group
def predict(
    model: Path,
    documents: Table,
    form_written: Form,
    back_off: bool,
    out: Path | None,
    resume: bool,
    threshold: Threshold,
    top: int | None,
    batch_size: int,
    address: str | None,
    workers: int,
    load: shared.Load,
) -> None:
    """Predict the labels of new documents with the run folder MODEL.

    FILE (or - for standard input) holds a document on each line: a text, LibMultiLabel's lines, JSON objects, or rows
    of CSV with a header; --input text takes the whole file as one document, as a folder's .txt files and several such
    files are taken anyway, by their names. Documents come out in the order they came in, in bounded memory, however
    many there are. With --workers or --ray several processes share them; the output is the same.
    """
    from tqdm import tqdm

    if address is not None and workers > 1:
        raise ConfigError("a cluster has workers of its own", where="--workers", fix="leave out --workers or --ray")
    shared.keep((*sources(documents), model), out)
    from plant_plugin.commands.local_workers import predict_by_processes
    from plant_plugin.commands.prediction_workers import predict_on_workers
    from plant_plugin.model.prediction_files import header, written
    from plant_plugin.model.trained import in_chunks

    part = partial(written, **form_written._asdict(), back_off=back_off, threshold=threshold, top=top)
    read = partial(load, model, batch_size)
    growing = Growing.of(model, out, resume=resume, by_workers=address is not None)
    rest = documents if growing is None else growing.rest(documents, documents.name)
    if address is not None:
        parts = predict_on_workers(documents, read, part, batch_size, address)
    elif workers > 1:
        parts = predict_by_processes(rest, read, part, batch_size, workers)
    else:
        parts = map(partial(part, read()), in_chunks(rest, batch_size))
    counts = Counter[str](growing.state["counts"] if growing else {})
    # A bar on the terminal where the output goes elsewhere.
    with (
        growing.opened() if growing else written_at_once(out) as stream,
        tqdm(unit=" documents", disable=None if out else True, initial=counts["documents"]) as bar,
    ):
        stream.write("" if counts else header(form_written.output, form_written.rules, back_off))
        for text, of_part in say_so_far(parts):
            stream.write(text)
            counts.update(of_part)
            bar.update(of_part["documents"])
            if growing:
                growing.note(stream, of_part)
    # Counts, never content.
    by_lines = documents.form in (None, "lines") and not isinstance(documents, Files) and counts["documents"] > 1
    click.echo(f"{counted(counts['documents'], 'document')}{ONE_A_LINE * by_lines}", err=True)
    if counts["empty"]:
        unknown = counted(counts["empty"], "document has", "documents have")
        click.echo(f"{unknown} no word that the model knows: labels of such a document mean nothing", err=True)
    if counts["cut"]:
        long = counted(counts["cut"], "document fills", "documents fill")
        click.echo(f"{long} all that the network reads; it did not read the rest", err=True)
