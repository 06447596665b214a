"""Losses of the two stages."""
