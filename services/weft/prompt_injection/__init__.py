"""Text that gives a model instructions instead of data: found, scored, and reported with a
reason."""
