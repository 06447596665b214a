"""The tally of all attacks: printed at the end, and with ``--write-reliability`` written into docs/reliability.md.

A sample of each attack runs in the default tier or, where it takes seconds, in CI; all of them with ``make attacks``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- attacks, written by make attacks -->", "<!-- end of the attacks -->"
ENDS = {"refused": "refused", "same": "read as before", "said": "said", "another": "as a plain reader", "FALL": "fell"}
MUTATED, END_MUTATED = "<!-- mutated inputs, written by make attacks -->", "<!-- end of the mutated inputs -->"
TRIED, SURVIVED, ENDED = (pytest.StashKey[Counter[str]]() for _ in range(3))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-reliability", action="store_true", help="write the table into docs/reliability.md")


def counts(config: pytest.Config) -> list[Counter[str]]:
    return [config.stash.setdefault(key, Counter()) for key in (TRIED, SURVIVED, ENDED)]


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Callable[[str, bool], None]:
    """Count one attack: its kind, and whether the program survived it."""
    tried, survived, _ = counts(pytestconfig)

    def count(attack: str, well: bool) -> None:
        tried[attack] += 1
        survived[attack] += bool(well)

    return count


@pytest.fixture(scope="session")
def ended(pytestconfig: pytest.Config) -> Callable[[str, str], None]:
    """Count one mutated input: of which group it is, and what came of it."""
    ends = counts(pytestconfig)[2]

    def count(group: str, end: str) -> None:
        ends[f"{group}|{end}"] += 1

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
    tried, survived, ends = counts(config)
    if not tried:
        return
    terminalreporter.section("attacks")
    for line in table({name: (tried[name], survived[name]) for name in tried}):
        terminalreporter.write_line(line)
    for line in table_of_ends(ends) if ends else ():
        terminalreporter.write_line(line)
    if config.getoption("--write-reliability", False):
        text = page(PAGE.read_text(encoding="utf-8"), tried, survived)
        if ends:
            head, rest = text.split(MUTATED)
            text = (
                f"{head}{MUTATED}\n\n"
                + "\n".join(table_of_ends(ends))
                + f"\n\n{END_MUTATED}{rest.split(END_MUTATED)[1]}"
            )
        PAGE.write_text(text, encoding="utf-8")


def table(rows: dict[str, tuple[int, int]]) -> list[str]:
    whole = {**dict(sorted(rows.items())), "all": tuple(map(sum, zip(*rows.values(), strict=True)))}
    return ["| attack | tried | survived |", "|---|---:|---:|",
            *(f"| {name} | {tried:,} | {well:,} |" for name, (tried, well) in whole.items())]  # fmt: skip


def table_of_ends(ends: Counter[str]) -> list[str]:
    groups = sorted({name.partition("|")[0] for name in ends})
    rows = {group: [ends[f"{group}|{end}"] for end in ENDS] for group in groups}
    rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    lines = [f"| {group} | {sum(row):,} | {' | '.join(f'{each:,}' for each in row)} |" for group, row in rows.items()]
    return [f"| mutated | inputs | {' | '.join(ENDS.values())} |", f"|---|{'---:|' * (len(ENDS) + 1)}", *lines]


def page(text: str, tried: Counter[str], survived: Counter[str]) -> str:
    """The page with these rows in its table; attacks that were not tried this time keep theirs."""
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    found = re.findall(r"^\| (?!attack|all)(.+?) \| ([\d,]+) \| ([\d,]+) \|$", old, flags=re.MULTILINE)
    rows = {name: (int(one.replace(",", "")), int(other.replace(",", ""))) for name, one, other in found}
    rows |= {name: (tried[name], survived[name]) for name in tried}
    return f"{head}{BEGIN}\n\n" + "\n".join(table(rows)) + f"\n\n{END}{tail}"
