"""Configurations found by name."""
