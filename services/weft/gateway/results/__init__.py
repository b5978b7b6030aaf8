"""Tool results on their way to a host, and the handles that stand for whole ones."""
