"""Metrics, propensities and thresholds."""
