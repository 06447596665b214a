"""LibMultiLabel's own models, run and scored; our networks in its registry. The only importer of ``libmultilabel``.

May import: ``report``, ``data``, ``networks``, ``config``, ``evaluation``. Importing a module of it takes seconds.
Begin with :mod:`plant_plugin.host.baseline`.
"""
