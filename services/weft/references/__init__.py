"""What events refer to, found before anything is deleted: large bodies, and originals of forks."""
