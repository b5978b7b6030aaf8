"""What the server says, taken apart by the bytes that the protocol means and by no others.

nats-py splits lines at everything that a regular expression calls white space: a subject with a
vertical tab or a form feed in it, which any agent can publish, ends the connection of whoever is
given it, again and again. The server separates by single spaces and ends lines with CR LF.
"""

from __future__ import annotations

import msgspec
from nats.errors import ProtocolError
from nats.protocol.parser import AWAITING_CONTROL_LINE, AWAITING_MSG_PAYLOAD
from nats.protocol.parser import Parser as Base

MOST_LINE_BYTES = 1024 * 1024
"""Without an end after so many, it is no line: the longest, INFO, names a cluster's servers."""


class Parser(Base):
    """The same as nats-py's, fed by the same client."""

    async def parse(self, data: bytes = b"") -> None:
        """Take in bytes and hand on each message and each word of the server that is complete.

        Raises `ProtocolError` for what no server says; the client then connects anew.
        """
        self.buf.extend(data)
        while self.buf:
            if self.state == AWAITING_MSG_PAYLOAD:
                if len(self.buf) < self.needed + 2:
                    return
                await self._message()
                continue
            end = self.buf.find(b"\r\n")
            if end < 0:
                if len(self.buf) > MOST_LINE_BYTES:
                    raise ProtocolError("nats: a line without an end")
                return
            line = bytes(self.buf[:end])
            del self.buf[: end + 2]
            await self._line(line)

    async def _message(self) -> None:
        headers = bytes(self.buf[: self.header_needed]) or None
        payload = bytes(self.buf[self.header_needed : self.needed])
        del self.buf[: self.needed + 2]
        self.state, self.header_needed = AWAITING_CONTROL_LINE, 0
        sid, subject, reply = self.msg_arg["sid"], self.msg_arg["subject"], self.msg_arg["reply"]
        await self.nc._process_msg(sid, subject, reply, payload, headers)

    async def _line(self, line: bytes) -> None:
        verb, _, rest = line.partition(b" ")
        verb = verb.upper()
        if verb == b"MSG":
            self._announced(rest.split(b" "), 1)
        elif verb == b"HMSG":
            self._announced(rest.split(b" "), 2)
        elif verb == b"PING":
            await self.nc._process_ping()
        elif verb == b"PONG":
            await self.nc._process_pong()
        elif verb == b"-ERR":
            await self.nc._process_err(rest.decode("utf-8", "replace").lower())
        elif verb == b"INFO":
            await self.nc._process_info(msgspec.json.decode(rest))
        elif verb != b"+OK":
            raise ProtocolError("nats: unknown protocol")

    def _announced(self, words: list[bytes], sizes: int) -> None:
        """`subject sid [reply] [header size] size` of the message that follows."""
        try:
            *place, last = words
            headers = place.pop() if sizes == 2 else b"0"
            subject, sid, *reply = place
            self.header_needed, self.needed = int(headers), int(last)
            self.msg_arg = {"subject": subject, "sid": int(sid), "reply": b"".join(reply)}
        except ValueError:
            raise ProtocolError("nats: malformed MSG") from None
        self.state = AWAITING_MSG_PAYLOAD
