"""The commands behind ``libmultilabel`` and ``plant``: one module each, heavy imports inside their functions."""
