"""Weft over HTTP, for programs that cannot speak NATS: one ASGI process beside the workers. Every
request becomes a call of the public client with the caller's own NATS credential, so a token may do
what its credential may do. Only `service.py` and `clients.py` do I/O."""
