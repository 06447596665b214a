"""Torch modules: encoders, label attention heads, losses and fast ``kernels/``; no data.

May import: ``config``, ``evaluation``.
Begin with :mod:`plant_plugin.networks.plantable`.
"""
