"""The commands of `weft eval`, a module per group."""
