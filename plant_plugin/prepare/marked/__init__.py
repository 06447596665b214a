"""Corpora and annotation tools in which coders marked the words of each label. Begin with ``marked``."""
