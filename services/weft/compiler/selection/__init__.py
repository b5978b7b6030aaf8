"""Which renditions the prompt shows within the budget: pins, the current turn, then the most
valuable parts.
"""
