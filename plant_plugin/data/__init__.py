"""Documents, labels, evidence, tokens and batches.

May import: ``config``, ``evaluation``; no network.
Begin with :mod:`plant_plugin.data.documents`.
"""
