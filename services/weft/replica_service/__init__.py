"""A process that answers over one read replica: the compiler's requests and drill-downs."""
