"""A run's folder and clock, its results and logs, and tables of several runs.

May import: ``data``, ``config``, ``evaluation``.
Begin with :mod:`plant_plugin.report.result`.
"""
