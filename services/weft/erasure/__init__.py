"""Erasing a session, a tenant or a scope from the log, the snapshots and every replica's files."""
