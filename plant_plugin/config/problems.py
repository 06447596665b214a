"""Everything that is wrong with a configuration, gathered before anybody is told."""

from __future__ import annotations

from pathlib import Path

from plant_plugin.errors import ConfigError


class Problems:
    """A list that grows while a configuration is checked.

    Args:
        path: The YAML file, or None.
        lines: Line of each key in it.
        found: What reading it found.
    """

    def __init__(
        self, path: Path | None = None, lines: dict[str, int] | None = None, found: list[ConfigError] | None = None
    ) -> None:
        self.path = path
        self.lines = lines or {}
        self.found = found or []
        self._keys: set[str] = set()
        self._unread: set[str] = set()
        self._told: set[tuple[str, str]] = set()

    def all_read(self) -> None:
        """From here on values are compared: a key that could not be read stands at its default and has been told."""
        self._unread = set(self._keys)

    def add(self, key: str, what: str, fix: str | None = None, *, value: object = None) -> None:
        """Note a problem, once where two checks find the same.

        Args:
            key: Top-level, or ``block.key``.
            what: What is wrong with it.
            fix: What to do.
            value: Shown beside the key.
        """
        if {key, key.partition(".")[0]} & self._unread or (key, what) in self._told:
            return
        self._told.add((key, what))
        self._keys.add(key)
        where = key if value is None else f"{key}: {value}"
        line = self.lines.get(key)
        self.found.append(ConfigError(what, where=f"{where} ({self._file()}, line {line})" if line else where, fix=fix))

    def add_error(self, key: str, error: ConfigError, *, value: object = None) -> None:
        """Note a problem that another part of the package has put into words."""
        self.add(key, error.what, error.fix, value=value)

    def raise_if_any(self) -> None:
        """Tell all at once.

        Raises:
            ConfigError: Something was noted; one error alone is raised as it is.
        """
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            listed = "\n".join(f"- {problem.message}" for problem in self.found)
            raise ConfigError(f"{len(self.found)} problems\n{listed}", where=self._file(), problems=self.found)

    def _file(self) -> str | None:
        return self.path.name if self.path else None
