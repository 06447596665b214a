"""A trained model behind HTTP: what `plant serve` runs."""
