"""The read model: the log folded into SQLite rows, and views of one session at one sequence."""
