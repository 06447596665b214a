"""Our networks under their names in ``libmultilabel.nn.networks``, where LibMultiLabel looks its models up."""

from __future__ import annotations

from libmultilabel.nn import networks

from plant_plugin.config import registry
from plant_plugin.errors import PlantError


def register_networks() -> tuple[str, ...]:
    """Put every network of this package into ``libmultilabel.nn.networks``.

    All names are checked before the first one is set, so a refusal leaves LibMultiLabel as it was.

    Returns:
        The registered names, in the order of the registry.

    Raises:
        PlantError: LibMultiLabel already has a different object under one of the names.
    """
    ours = {name: entry.load() for name, entry in registry.entries("networks").items() if entry.ours}
    for name, network in ours.items():
        present = getattr(networks, name, network)
        if present is not network:
            raise PlantError(
                f"LibMultiLabel already has a network called {name} ({_origin(present)}), and it is not ours",
                where="libmultilabel.nn.networks",
                fix="rename that one, or remove what put it there before plant_plugin.register() is called",
            )
    for name, network in ours.items():
        setattr(networks, name, network)
    return tuple(ours)


def _origin(something: object) -> str:
    """Where a class or module comes from, for the message."""
    return str(getattr(something, "__module__", None) or type(something).__name__)
