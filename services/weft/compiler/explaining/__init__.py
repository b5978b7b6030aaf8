"""Says in plain English why an item is in a prompt, or is not: read from the trace of a compile."""
