"""Runs of systems in pairs: those of one seed."""

from __future__ import annotations

from dataclasses import replace

from plant_plugin.report.systems import System, seeds_of


def paired(*systems: System) -> list[System]:
    """Return the systems with the runs of the seeds that all of them have, in one order.

    The first run of a system without chance is that of every seed. Where the others share no seed, seeds say nothing,
    and the first runs of each are taken, as many as the one with fewest has.
    """
    places = {
        system.name: {seed: place for place, seed in enumerate(seeds_of(system.results))}
        for system in systems
        if not system.without_chance
    }
    first, *others = places.values() or [{None: 0}]
    common = [seed for seed in first if all(seed in other for other in others)]
    number = len(common) or min(map(len, places.values()))
    pairs = []
    for system in systems:
        chosen = [0] * number if system.without_chance else [places[system.name][seed] for seed in common]
        chosen = chosen or [*range(number)]
        pairs.append(
            replace(
                system,
                results=[system.results[run] for run in chosen],
                documents=[system.documents[run] for run in chosen] if system.documents else [],
            )
        )
    return pairs
