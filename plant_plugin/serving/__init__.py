"""A trained model behind HTTP: what ``plant serve`` runs.

May import: ``model`` and the rooms below it.
Begin with :mod:`plant_plugin.serving.app`.
"""
