"""The summarizer: long trusted items and closed sessions become short ones."""
