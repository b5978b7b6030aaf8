"""Which renditions the prompt shows within the budget: pins, the open exchange, then the most
valuable parts.
"""
