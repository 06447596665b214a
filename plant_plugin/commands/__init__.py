"""The commands of ``libmultilabel`` and ``plant``: each reads flags, calls one room and prints.

May import: every room but ``classifier``; heavy libraries inside functions only, so that ``--help`` starts at once.
Begin with :mod:`plant_plugin.commands.train`.
"""
