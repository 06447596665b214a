"""Let `make docs` write roles such as ``:func:`train``` in docstrings as code, which Markdown does not know."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Roles(griffe.Extension):
    """Change docstrings before they are shown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change that of one object."""
        if obj.docstring:
            obj.docstring.value = re.sub(r":\w+:`[~.]*([\w.]+)`", r"`\1`", obj.docstring.value)
