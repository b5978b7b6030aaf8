"""The router: the few tools that fit a step, out of thousands, through a graph of choices."""
