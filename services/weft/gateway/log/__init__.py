"""The log behind a gateway: the weft that keeps it, what is published there, and for whom."""
