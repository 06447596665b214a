"""From the files that are handed out to files that can be trained on: ``plant prepare`` and ``plant stats``.

May import: ``data``, ``config``, ``evaluation``.
Begin with :mod:`plant_plugin.prepare.output`.
"""
