"""What an agent imports: publish items, compile contexts, read artifacts.

Needs only msgspec and nats-py. Publishing writes to the log; everything else asks a service.
Whatever fails raises one of the errors of `weft_schemas.errors`.
"""

from weft.client.client import Client as Client
from weft.client.client import connect as connect
