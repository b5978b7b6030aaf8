"""Whether a message that the server calls a duplicate really is the same message.

The server compares only `Nats-Msg-Id`, not the content. A publisher that can predict another one's
id could use it first; the other's message would then be acknowledged without being stored.
"""

from __future__ import annotations

import nats.errors

from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.reading import read
from weft.log.stream_health import stream_of
from weft_schemas.errors import Forbidden, NotFound, Unavailable
from weft_schemas.subjects import is_stored_as


class DuplicateCheck:
    """Reads the stored message of a duplicate and compares."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._may_read = True

    async def is_own(self, message: Message, sequence: int) -> bool:
        """False only if another publisher's message is stored there, or none any more. Raises
        `Unavailable` if that cannot be checked now, and other errors of `read`.

        An agent without permission to read the log is trusted: its ids are keyed with its
        credential, so that nobody else can have the same (see `client.outgoing`).
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
        # Only the platform writes `out`, and a model's answer differs each time.
        return record.payload == message.payload or record.subject.startswith("w.out.")
