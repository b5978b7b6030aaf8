"""Snapshots of the read model, and trimming the log up to one of them."""
