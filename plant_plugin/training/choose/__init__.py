"""``choose: true``: from facts of the data to decisions, and to keys that a configuration leaves open."""
