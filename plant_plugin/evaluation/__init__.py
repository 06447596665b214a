"""Numbers from arrays: metrics, propensities, thresholds, tests of significance; no torch.

May import: ``files`` and ``errors``.
Begin with :mod:`plant_plugin.evaluation.metrics`.
"""
