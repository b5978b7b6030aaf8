"""The summarizer: shortens long trusted items and closed sessions."""
