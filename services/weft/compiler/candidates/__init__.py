"""Which items a compile considers: found, completed to groups, and kept or dropped."""
