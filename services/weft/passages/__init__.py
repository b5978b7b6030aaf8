"""Splits texts into passages: the units in which a prompt shows a long item, and by which it is
found."""
