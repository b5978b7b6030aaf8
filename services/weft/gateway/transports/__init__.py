"""Transports, with limits: to servers over stdio and HTTP, and from a host over stdin."""
