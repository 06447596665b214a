"""A run's folder and clock, what it leaves behind, and tables of several runs.

May import: ``data``, ``config``, ``evaluation``.
Begin with :mod:`plant_plugin.report.result`.
"""
