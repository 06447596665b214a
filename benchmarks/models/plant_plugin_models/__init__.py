"""Trained models for plant_plugin; each folder is one, its README.md its card."""
