"""The ways to show an item."""
