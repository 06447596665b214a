"""``plant predict --promise-by``: a promise for each group, see :mod:`plant_plugin.model.group_promises`."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands.new_documents import with_labels
from plant_plugin.commands.shared import FILE, Load
from plant_plugin.data.several_files import Files
from plant_plugin.data.tables import STDIN, TABLES, Document, Table, form_of, read_columns
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.said import counted

if TYPE_CHECKING:
    from plant_plugin.data.text import Documents
    from plant_plugin.model.group_promises import GroupThresholds
    from plant_plugin.model.predictor import Predictor

BY, HELD_OUT = "--promise-by", "--held-out"
LENGTH = "length"


def promises_by_group(command: Callable[..., None]) -> Callable[..., None]:
    """Add both options to a command whose ``threshold`` may be a promise, which they make one for each group."""

    @click.option(
        BY, metavar="length|COLUMN", help="Keep --promise or --accept in each third of lengths, or value of a column."
    )
    @click.option(HELD_OUT, type=FILE, help="Labelled documents that MODEL was not trained on, to choose these by.")
    @functools.wraps(command)
    def with_groups(
        *, model: Path, threshold: object, documents: Table, batch_size: int, address: str | None, load: Load,
        promise_by: str | None, held_out: Path | None, **options: object,
    ) -> None:  # fmt: skip
        if promise_by is not None or held_out is not None:
            if promise_by is None or held_out is None:
                raise ConfigError("one says little without the other", where=f"{BY} and {HELD_OUT}", fix="give both")
            from plant_plugin.evaluation.promises import is_promise  # it imports numpy

            if not is_promise(str(threshold)):
                raise ConfigError("nothing is promised", where=BY, fix="give --promise or --accept too")
            if address is not None:
                raise ConfigError("workers of a cluster know no groups", where=BY, fix="leave out --ray")
            column = None if promise_by == LENGTH else promise_by
            if column is not None:
                _check_columns(documents, held_out)
            threshold = _chosen(model, load, str(threshold), _held_out(held_out, documents, column), column, held_out)
            if column is not None:
                documents = _WithGroups(documents, column)  # type: ignore[assignment]
        command(
            model=model, threshold=threshold, documents=documents, batch_size=batch_size, address=address, load=load,
            **options,
        )  # fmt: skip

    return with_groups


def _check_columns(documents: Table, held_out: Path) -> None:
    """Refuse what has no columns, or can be read only once."""
    for form, where in ((documents.form, documents.name), (form_of(held_out), str(held_out))):
        if form not in TABLES or isinstance(documents, Files) or documents.source == STDIN:
            raise ConfigError("a group is a column of one table", where=where, fix=f"name one, or give {BY} {LENGTH}")


def _held_out(path: Path, documents: Table, column: str | None) -> Documents:
    """Read held-out documents, with their groups as ids."""
    columns = with_labels(documents)
    read = read_columns(path, columns if column is None else columns._replace(id=column))
    if column is not None and read.ids is None:
        what = f"not every row has a value under {column!r}"
        raise DataError(what, where=str(path), fix=f"{BY} names a column of both tables, without gaps")
    return read


def _chosen(
    model: Path, load: Load, promise: str, documents: Documents, column: str | None, held_out: Path
) -> GroupThresholds:
    from plant_plugin.model.group_promises import chosen

    predictor = _unseen(model, load, documents, held_out)
    kind, _, share = promise.partition(" ")
    groups = None if column is None else documents.ids
    thresholds, outcomes = chosen(predictor, documents.texts, documents.labels, groups, kind, float(share))
    for group, outcome in outcomes.items():
        reached = outcome["listed"] if kind == "promise" else outcome.get("true")
        said = "none is listed" if reached is None else f"{reached:.1%}, {outcome['labels']:.1f} labels a document"
        click.echo(f"  {group}: {counted(outcome['documents'], 'held-out document')}, {said}", err=True)
    return thresholds


def _unseen(model: Path, load: Load, documents: Documents, held_out: Path) -> Predictor:
    """Load the model, or of one that was trained again on these documents too its first training."""
    from plant_plugin.model.places import model_folder
    from plant_plugin.model.trained import with_unrefitted
    from plant_plugin.report.logs import logged_config

    last, first = with_unrefitted(load, model_folder(model))
    trained_on = Path(logged_config(last.folder).get("training_file") or "")
    seen = trained_on.is_file() and held_out.samefile(trained_on)
    if seen or documents.hash() in (last.content["hashes"].get("train"), first.content["hashes"].get("train")):
        raise ConfigError("the model was trained on this file", where=f"{HELD_OUT} {held_out}", fix="name another")
    return first if documents.hash() == first.content["hashes"].get("val") else last


class _WithGroups:
    """The documents of a table with their groups, which a second reading of it has as ids."""

    def __init__(self, documents: Table, column: str) -> None:
        self.documents, self.column = documents, column
        self.others = copy.deepcopy(documents)
        self.others.columns = documents.columns._replace(id=column)

    def __getattr__(self, name: str) -> object:
        return getattr(self.documents, name)

    def __iter__(self) -> Iterator[Document]:
        from plant_plugin.model.group_promises import Grouped

        others = iter(self.others)
        for document in self.documents:
            other = next(row for row in others if row.number >= document.number)  # it may pass over other rows
            if other.id is None:
                where = f"{self.documents.name}, document {document.number}"
                raise DataError(f"no value under {self.column!r}", where=where, fix="give every row one")
            yield Grouped(**vars(document), group=other.id)
