"""Erasing a session, a tenant or a scope from everywhere: what is planned and done in which order
(`session`, `scope`), in snapshots, and what tombstones tell afterwards."""
