"""Whether a message that the server calls a duplicate is the one that it was told of.

The server knows messages by `Nats-Msg-Id` alone, across every subject of a stream, and calls any
second one of a name a duplicate without looking at it. Whoever can tell another's id beforehand
could publish under it, and the other's message would be acknowledged and not stored.
"""

from __future__ import annotations

import nats.errors

from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.reading import read
from weft.log.stalled import stream_of
from weft_schemas.errors import Forbidden, NotFound, Unavailable
from weft_schemas.subjects import is_stored_as


class DuplicateCheck:
    """Looks at what stands at the sequence of a duplicate, over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._may_read = True

    async def is_own(self, message: Message, sequence: int) -> bool:
        """False only where another's message stands there, or none does any more. Raises
        `Unavailable` where that cannot be told now.

        An agent may not read the log, or reaches nobody who could: its ids are keyed with its
        credential, so that nobody else has them (see `client.outgoing`).
        """
        stream = stream_of(message.subject)
        if not stream or not self._may_read:
            return True
        try:
            record = await read(self._connection, sequence, stream)
        except Unavailable as error:
            if isinstance(error.__context__, nats.errors.NoRespondersError):
                return True
            raise
        except NotFound:
            return False
        except Forbidden:
            self._may_read = False
            return True
        if not is_stored_as(message.subject, record.subject):
            return False
        # Only the platform writes `out`, and a model's answer is another each time.
        return record.payload == message.payload or record.subject.startswith("w.out.")
