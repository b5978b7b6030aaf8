"""What an agent imports: publish items, compile contexts, look into artifacts.

Needs msgspec and nats-py only. Publishing speaks to the log, everything else asks a service; what
can go wrong comes as one of the errors of `weft_schemas.errors`.
"""

from weft.client.client import Client as Client
from weft.client.client import connect as connect
