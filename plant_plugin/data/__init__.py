"""Documents, labels, evidence, tokens and batches.

May import: ``networks`` (where a language model lies), ``config``, ``evaluation``.
Begin with :mod:`plant_plugin.data.documents`.
"""
