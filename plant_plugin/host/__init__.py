"""LibMultiLabel's own models, run and scored; our networks and strategies in it; only it imports ``libmultilabel``.

May import: ``report``, ``networks``, ``data`` and the rooms below them; importing a module of it takes seconds.
Begin with :mod:`plant_plugin.host.baseline`.
"""
