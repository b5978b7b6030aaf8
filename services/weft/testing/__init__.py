"""weft for the tests of who uses it: a client without a server, and all services as a fixture.

    async with weft.testing.in_memory() as client:  # the services' own code, on a log in memory
        await client.publish_messages("s1", messages)
        pack = await client.compile("s1", "answer", budget=2_000)

`weft.testing.fixtures` has both as pytest fixtures. Needs `weft[workers]`.
"""

from weft.testing.client import MemoryClient as MemoryClient
from weft.testing.client import in_memory as in_memory
from weft.testing.client import in_memory_sync as in_memory_sync
from weft.testing.deployment import deployment as deployment
