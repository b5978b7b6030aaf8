"""Text that speaks to a model instead of answering it: found, scored, and told with a reason."""
