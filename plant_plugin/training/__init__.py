"""Training of a model: one run, its two stages, several devices, and ``search/`` for hyper-parameters.

May import: ``model``, ``host`` and the rooms below them.
Begin with :mod:`plant_plugin.training.run`.
"""
