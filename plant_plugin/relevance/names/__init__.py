"""Labels that are known by their names, whether a training document has them or not: begin with ``open_labels.py``."""
