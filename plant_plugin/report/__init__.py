"""Results: files and tables."""
