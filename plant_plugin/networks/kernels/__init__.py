"""Fast computations, each beside a plain reference."""
