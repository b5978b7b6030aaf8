"""Tasks: calls whose results come later (SEP-2663, and those of protocol 2025-11-25)."""
