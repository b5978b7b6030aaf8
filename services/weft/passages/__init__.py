"""Splits texts into passages. A prompt shows a long item in these units, and a search finds it by
them."""
