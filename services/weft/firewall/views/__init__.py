"""Ways to look at an artifact piece by piece."""
