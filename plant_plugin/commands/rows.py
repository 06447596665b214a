"""Rows of ``plant doctor``: what was found, whether it is fine, how to mend it; as lines or, all at once, as JSON."""

from __future__ import annotations

import click

from plant_plugin.commands.printing import styled


class Rows(list[dict[str, str | bool | None]]):
    """The rows that ``--json`` shows."""


def row(name: str, text: str, fix: str | None = None, ok: bool | None = None) -> None:
    """Show a row, or keep it for ``--json``.

    Args:
        name: What the row is about.
        text: What was found.
        fix: How to mend it.
        ok: Whether it is as it should be; None: there is nothing to judge.
    """
    rows = click.get_current_context().obj
    if isinstance(rows, Rows):
        rows.append({"name": name, "text": text, "fix": fix, "ok": ok})
        return
    if ok is not None:
        styled("ok" if ok else "!!", fg="green" if ok else "red")
    click.echo(f"{' ' * (ok is None)} {name:<15} {text}" + (f"\n      {fix}" if fix else ""))


def check(name: str, text: str, fix: str | None = None) -> bool:
    """A row with a mark; False where something is to be mended."""
    row(name, text, fix, fix is None)
    return fix is None
