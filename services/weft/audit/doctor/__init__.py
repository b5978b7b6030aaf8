"""What `weft doctor` looks at: this machine, the server, and the log on it."""
