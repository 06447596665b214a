"""The flags that say how a user's file is read: the same ones, with the same meaning, for every command."""

from __future__ import annotations

import codecs
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from plant_plugin.commands.shared import Command, all_of, keep
from plant_plugin.data.columns import UTF8, Columns
from plant_plugin.data.label_column import Trained
from plant_plugin.data.tables import read_columns
from plant_plugin.errors import ConfigError

if TYPE_CHECKING:
    from plant_plugin.data.text import Documents
    from plant_plugin.report.logs import LoggedConfig

SPLITS = {"test": "EVIDENCE", "val": "--validation"}  # what a user can give
Flags = Mapping[str, str | None]


def _encoding(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return an encoding that Python knows; UTF-8 as it is read by itself, with a mark or without."""
    if value is None:
        return None
    try:
        name = codecs.lookup(value).name
        codecs.getincrementaldecoder(name)().decode(b"").encode()
    except (LookupError, AttributeError, TypeError):
        raise click.BadParameter(f"there is no encoding {value!r}, e.g. latin-1, cp1252 or utf-16") from None
    return UTF8 if name == "utf-8" else name


FLAGS = {
    "text_column": click.option("--text_column", help="Key or column of the text.  [default: text]"),
    "labels_column": click.option("--labels_column", help="Key or column of the labels.  [default: labels]"),
    "id_column": click.option("--id_column", help="Key or column of the id.  [default: id]"),
    "label_separator": click.option(
        "--label_separator",
        help="What separates labels, ' ' for any white space.  [default: what training or the whole column says]",
    ),
    "encoding": click.option("--encoding", callback=_encoding, help="E.g. latin-1.  [default: UTF-8, or by its mark]"),
}


def columns_of(flags: Flags, config: Mapping[str, object] | None = None, labels: Sequence[str] = ()) -> Columns:
    """Return the columns that flags name, or else the configuration of a run; ``labels`` are those of its model."""
    named = {name: flags.get(name) or (config or {}).get(name) for name in FLAGS}
    text, of_labels, number, separator, encoding = (None if name is None else str(name) for name in named.values())
    after = Trained(labels=frozenset(labels)) if labels else None
    return Columns(text or "text", of_labels or "labels", number or "id", separator, after, encoding or UTF8)


def reads_files(command: Command) -> Command:
    """Options of how files are read; the command takes what is given of them as ``flags``."""

    @functools.wraps(command)
    def with_flags(**options: object) -> None:
        command(flags={name: options.pop(name) for name in FLAGS}, **options)

    return all_of(*FLAGS.values())(with_flags)


def marked_documents(
    run: Path, split: str, evidence: Path | None = None, out: Path | None = None, flags: Flags | None = None
) -> tuple[Documents, Path]:
    """Documents, and the file of what coders marked in them.

    Args:
        run: A run's folder.
        split: ``test`` or ``val``.
        evidence: The evidence file; None: the run's own, or the one beside its text file.
        out: What is to be written, and may be none of these files.
        flags: Of how the text file is read, which beat the run's keys.
    """
    from plant_plugin.data.evidence import evidence_beside, text_beside
    from plant_plugin.data.text import packed
    from plant_plugin.report.logs import logged_config

    key: Literal["val_file", "test_file"] = "val_file" if split == "val" else "test_file"
    config = logged_config(run)
    text, own = None if evidence is None else text_beside(evidence), config.get(key)
    if evidence is None and own:
        text, path = Path(own), (config.get("evidence") or {}).get(key)
        evidence = Path(path) if path else packed(evidence_beside(text))
    if text is None or evidence is None:
        missing = "text" if text is None else "evidence"
        raise ConfigError(f"there is no {missing} file", where=str(run), fix=f"give {SPLITS[split]}")
    keep((text, evidence), out)
    return read_columns(text, run_columns(run, flags or {})), evidence


def run_columns(run: Path, flags: Flags) -> Columns:
    """Return the columns that flags name, or else a run, with the labels of its model."""
    from plant_plugin.model.folder import read_labels
    from plant_plugin.report.logs import logged_config

    return columns_of(flags, logged_config(run), read_labels(run)[0] if run.is_dir() else ())


def training_texts(run: Path, files: Sequence[Path], flags: Flags) -> list[str]:
    """The texts that a run was trained on, of the files named, or else of the one that it names itself.

    Raises:
        ConfigError: It names none, or its content is not what it was trained on.
    """
    from plant_plugin.data.documents import source_path
    from plant_plugin.model.folder import read_content
    from plant_plugin.report.logs import logged_config

    columns = run_columns(run, flags)
    if files:
        return [text for file in files for text in read_columns(file, columns).texts]
    config: LoggedConfig = logged_config(run)
    path, fix = config.get("training_file"), "name all files that it was trained on with --training-file"
    if path is None:
        raise ConfigError("the run does not name its training file", where=str(run), fix=fix)
    documents = read_columns(source_path(path), columns)
    if documents.hash() != read_content(run, trust_code=True)["hashes"].get("train"):  # runs nothing
        raise ConfigError("the run was not trained on only this file, or it has changed", where=path, fix=fix)
    return documents.texts
