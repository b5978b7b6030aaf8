"""Which items a compile looks at: found, completed to groups, and let through or dropped."""
