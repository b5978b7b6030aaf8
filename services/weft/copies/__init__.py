"""Copies of sessions and tenants: forks within a log, exports to a file, and imports of these."""
