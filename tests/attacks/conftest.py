"""The tally of all attacks: printed at the end, and with ``--write-reliability`` written into docs/reliability.md.

A sample of each attack runs in the default tier; all of them with ``make attacks``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- attacks, written by make attacks -->", "<!-- end of the attacks -->"
TRIED, SURVIVED = pytest.StashKey[Counter[str]](), pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-reliability", action="store_true", help="write the table into docs/reliability.md")


def counts(config: pytest.Config) -> tuple[Counter[str], Counter[str]]:
    return config.stash.setdefault(TRIED, Counter()), config.stash.setdefault(SURVIVED, Counter())


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Callable[[str, bool], None]:
    """Count one attack: its kind, and whether the program survived it."""
    tried, survived = counts(pytestconfig)

    def count(attack: str, well: bool) -> None:
        tried[attack] += 1
        survived[attack] += bool(well)

    return count


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with everything that one can hold; tests spoil copies of it."""
    from model_folder import write_whole

    return write_whole(tmp_path_factory.mktemp("task"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist hands its counts to the process that prints."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["attacks"] = [dict(one) for one in counts(session.config)]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: pytest.Session) -> None:
    for whole, part in zip(counts(node.config), getattr(node, "workeroutput", {}).get("attacks", ()), strict=False):
        whole.update(part)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    tried, survived = counts(config)
    if not tried:
        return
    terminalreporter.section("attacks")
    for line in table({name: (tried[name], survived[name]) for name in tried}):
        terminalreporter.write_line(line)
    if config.getoption("--write-reliability", False):
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), tried, survived), encoding="utf-8")


def table(rows: dict[str, tuple[int, int]]) -> list[str]:
    whole = {**dict(sorted(rows.items())), "all": tuple(map(sum, zip(*rows.values(), strict=True)))}
    return ["| attack | tried | survived |", "|---|---:|---:|",
            *(f"| {name} | {tried:,} | {well:,} |" for name, (tried, well) in whole.items())]  # fmt: skip


def page(text: str, tried: Counter[str], survived: Counter[str]) -> str:
    """The page with these rows in its table; attacks that were not tried this time keep theirs."""
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    found = re.findall(r"^\| (?!attack|all)(.+?) \| ([\d,]+) \| ([\d,]+) \|$", old, flags=re.MULTILINE)
    rows = {name: (int(one.replace(",", "")), int(other.replace(",", ""))) for name, one, other in found}
    rows |= {name: (tried[name], survived[name]) for name in tried}
    return f"{head}{BEGIN}\n\n" + "\n".join(table(rows)) + f"\n\n{END}{tail}"
