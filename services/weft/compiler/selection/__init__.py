"""Which renditions stand in the prompt: pins, the open exchange, then by worth, in the budget."""
