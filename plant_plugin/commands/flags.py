"""The configuration's keys as command-line options, grouped in ``--help``; made from its sections, here only.

Every option hands over the text as it was typed (or True and False for a switch); ``load_config`` turns texts into
values, so that a flag and a line of YAML are checked by the same code and all mistakes are shown together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import click

from plant_plugin.commands.printing import PrintingCommand
from plant_plugin.commands.shared import plain_ending
from plant_plugin.commands.silent import silenced
from plant_plugin.config.sections import BLOCKS, FIELDS, MAPPINGS, SCHEMA, SEARCH, Option
from plant_plugin.config.values import choices
from plant_plugin.files import private_files

METAVARS = {int: "NUMBER", float: "NUMBER", str: "TEXT", bool: "true|false"}
NULL = ("null", "none")
LISTS = tuple(f"--{option.name}" for option in SCHEMA if option.nargs == "+")
NULLABLE = frozenset(option.name for option in (*SCHEMA, *SEARCH) if option.nullable)


class MappingOption(click.Option):
    """``--network_config.KEY VALUE``: shown with a dot, parsed as an option of two values."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The line in ``--help``."""
        return f"{self.opts[0]}.KEY VALUE", self.help or ""


def _config_option(option: Option) -> click.Option:
    flag, sentence = f"--{option.name}", option.help
    if option.is_flag:
        both = flag if option.name.startswith("no_") else f"{flag}/--no-{option.name}"
        return click.Option([option.name, both], is_flag=True, default=None, help=sentence)
    if option.nargs == "+":
        shown = f"{sentence}  [default: {' '.join(option.default)}]"
        return click.Option([option.name, flag], multiple=True, metavar="NAME...", help=shown)
    metavar = "|".join(option.choices) or METAVARS[option.type]
    shown = sentence if option.default is None else f"{sentence}  [default: {_shown(option.default)}]"
    if option.const is None:
        return click.Option([option.name, flag], metavar=metavar, help=shown)
    bare, metavar = str(option.const), f"[{metavar}]"
    return click.Option([option.name, flag], is_flag=False, flag_value=bare, default=None, metavar=metavar, help=shown)


def _block_options(block: str) -> list[click.Option]:
    return [
        click.Option(
            [f"{block}__{field.name}", f"--{block}.{field.name}"],
            metavar="|".join(choices(field.type)) or "VALUE",
            help=f"[default: {_shown(field.default)}]  {field.metadata['help']}",
        )
        for field in dataclasses.fields(BLOCKS[block])
    ]


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return "null" if default is None else str(default)


def _by_heading() -> dict[str, list[click.Option]]:
    groups: dict[str, list[click.Option]] = {}
    for option in SCHEMA:
        groups.setdefault(option.group, []).append(_config_option(option))
    groups |= {f"{block}: {FIELDS[block].metadata['help']}": _block_options(block) for block in BLOCKS}
    groups["Arguments of networks and schedulers"] = [
        MappingOption([name, f"--{name}"], nargs=2, multiple=True, help=FIELDS[name].metadata["help"])
        for name in MAPPINGS
    ]
    return groups


class ConfigCommand(PrintingCommand):
    """A command that takes every key of the configuration as an option beside its own."""

    groups: ClassVar[dict[str, list[click.Option]]] = _by_heading()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own options, and the keys."""
        return [*super().get_params(ctx), *(option for group in self.groups.values() for option in group)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring ``main.py``'s ways of writing lists and blocks into click's, then parse."""
        return super().parse_args(ctx, spread(args))

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; Ctrl-C and a full disk end it without a traceback."""
        with plain_ending(), private_files(), silenced(ctx.params):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One heading per group of keys."""
        sections: dict[str, Sequence[click.Parameter]] = {"Options": super().get_params(ctx), **self.groups}
        for heading, options in sections.items():
            records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class SearchCommand(ConfigCommand):
    """Takes the keys of a search too."""

    groups: ClassVar = {"Search": [_config_option(option) for option in SEARCH], **ConfigCommand.groups}


def spread(args: Iterable[str]) -> list[str]:
    """Rewrite what click does not know.

    ``--monitor_metrics A B`` becomes ``--monitor_metrics A --monitor_metrics B``; ``--network_config.KEY VALUE`` and
    ``--network_config.KEY=VALUE`` become ``--network_config KEY VALUE``, ``--network_config '{…}'``, the whole block,
    ``--network_config "" '{…}'``.
    """
    result: list[str] = []
    listing: str | None = None
    for arg in args:
        name, dot, rest = arg.partition(".")
        if listing and not arg.startswith("-"):
            # The first value comes after the option itself already.
            result += [arg] if result[-1] == listing else [listing, arg]
            continue
        listing = arg if arg in LISTS else None
        if dot and name.removeprefix("--") in MAPPINGS and arg.startswith("--"):
            key, equals, value = rest.partition("=")
            result += [name, key, value] if equals else [name, key]
        elif arg.startswith("{") and result and result[-1].removeprefix("--") in MAPPINGS:
            result += ["", arg]
        else:
            result.append(arg)
    return result


def overrides_from(flags: Mapping[str, object]) -> dict[str, object]:
    """Return the options of the command line as ``load_config`` takes them; those that were not given are left out."""
    overrides: dict[str, object] = {}
    for name, value in flags.items():
        if isinstance(value, tuple) and name in MAPPINGS:
            overrides |= {f"{name}.{key}" if key else name: text for key, text in value}
        elif isinstance(value, str) and value.lower() in NULL and name in NULLABLE:
            overrides[name] = None
        elif value is not None and value != ():
            overrides[name.replace("__", ".")] = list(value) if isinstance(value, tuple) else value
    return overrides
