"""A trained model over HTTP: the server of ``plant serve``.

May import: ``model`` and the rooms below it.
Begin with :mod:`plant_plugin.serving.app`.
"""
