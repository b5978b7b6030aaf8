"""Texts taken apart into passages: what a prompt can show of a long item, and what finds it."""
