"""Every key once: the keys of a configuration, how it is read and checked, and the registry of names.

May import: ``evaluation`` (names of metrics), ``files``, ``errors``; nothing heavy, not even numpy.
Begin with :mod:`plant_plugin.config.load`. The configurations that come with the package are in ``packaged/``.
"""

from plant_plugin.config.load import Config, load_config

__all__ = ["Config", "load_config"]
