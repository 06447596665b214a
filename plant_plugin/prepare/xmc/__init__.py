"""The extreme-classification repository's formats to training files. Begin with ``xmc``."""
