"""Which renditions the prompt shows within the budget: pins, the open exchange, then by
worth."""
