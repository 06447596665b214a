"""The base classes of a class, read from its source: nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def bases(node: ast.stmt, module: str, statements: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the base classes of a class, as ``module:class``, by the statements of its ``module``; none of a function.

    One that is reached through a module (``nn.Module``) is yielded as if it were here, where it is not.
    """
    imports = [part for part in statements if isinstance(part, ast.ImportFrom)]
    homes = {alias.asname or alias.name: f"{part.module}:{alias.name}" for part in imports for alias in part.names}
    for base in node.bases if isinstance(node, ast.ClassDef) else ():
        name = ast.unparse(base)
        yield homes.get(name, f"{module}:{name}")
