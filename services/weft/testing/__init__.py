"""weft in your own tests: a client without a server, all services as a fixture, and a way to test a
worker of your own alone.

    async with weft.testing.in_memory() as client:  # the services' own code, on a log in memory
        await client.publish_messages("s1", messages)
        pack = await client.compile("s1", "answer", budget=2_000)

`weft.testing.fixtures` has pytest fixtures, `weft.testing.workers` is for testing a worker. Needs
the extra `workers`.
"""

from weft.testing.client import MemoryClient as MemoryClient
from weft.testing.client import in_memory as in_memory
from weft.testing.client import in_memory_sync as in_memory_sync
from weft.testing.deployment import deployment as deployment
from weft.testing.workers import broker_of as broker_of
from weft.testing.workers import derived as derived
from weft.testing.workers import running as running
