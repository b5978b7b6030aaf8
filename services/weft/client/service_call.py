"""How the parts of a client ask a service: the client itself decides over which connection."""

from __future__ import annotations

from typing import Protocol

import msgspec

from weft.runtime.request_client import Reply


class AsksService(Protocol):
    """Sends a request to a service and decodes its reply. `wait` is how many seconds the request
    itself allows the service to wait, in addition to the time for an answer."""

    async def __call__(
        self,
        session: str,
        service: str,
        request: msgspec.Struct,
        kind: type[Reply],
        wait: float = 0.0,
        /,
    ) -> Reply: ...
