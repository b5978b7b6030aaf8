"""The router: finds the few tools that fit a step among thousands, through a graph of choices."""
