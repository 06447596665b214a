"""Every key once: what a configuration may say, how it is read and checked, and the registry of what it can name.

May import: ``evaluation`` (names of metrics), ``files``, ``errors``; nothing heavy, not even numpy.
Begin with :mod:`plant_plugin.config.load`. The configurations that come with the package are in ``packaged/``.
"""

from plant_plugin.config.load import Config, load_config

__all__ = ["Config", "load_config"]
