"""Starts nats-server and the services of one machine as child processes, and keeps them running."""
