"""What matters to this step: the question, how well each passage answers it, and what it states."""
