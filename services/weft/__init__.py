"""Weft turns an agent's life into a log and the log into prompts."""
