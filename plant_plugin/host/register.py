"""Our networks under their names in ``libmultilabel.nn.networks``, where LibMultiLabel looks its models up.

A module of its own, because whoever registers networks need not load what training needs.
"""

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
            origin = getattr(present, "__module__", None) or type(present).__name__
            what = f"LibMultiLabel already has a network called {name} ({origin}), and it is not ours"
            fix = "rename that one, or remove what put it there before plant_plugin.register() is called"
            raise PlantError(what, where="libmultilabel.nn.networks", fix=fix)
    for name, network in ours.items():
        setattr(networks, name, network)
    return tuple(ours)
