"""Single values in YAML that are none, or that YAML reads otherwise than people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import yaml

# 1:30:00 is 5400 to YAML, and 010 is 8, as a number and as a name.
ODD = {"int": re.compile(r"[-+]?(0\d|\w*[_a-zA-Z:])"), "float": re.compile(r".*[_:]")}


def refused(problem: str, at: yaml.Node | yaml.Event) -> yaml.MarkedYAMLError:
    """Return an error with the line of what is wrong."""
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)  # type: ignore[arg-type]


@contextmanager
def told(node: yaml.Node) -> Iterator[None]:
    """Name the line of a day that no calendar has, of a number that is none, or that people read otherwise."""
    kind = node.tag.rpartition(":")[2]
    try:
        if isinstance(node, yaml.ScalarNode) and kind in ODD and ODD[kind].match(node.value):
            raise ValueError(node.value)
        yield
    except (ValueError, OverflowError, AttributeError, KeyError, IndexError) as error:
        raise refused(f"no {kind} is written like this; put a text in quotes", node) from error
