"""A stream that is opened while `weft serve` ends is refused, as something to be tried again."""

import httpx

from weft.http.app import Application
from weft.http.callers import open_grant
from weft.http.clients import Clients
from weft.log.connection import Connection
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer


async def test_a_stream_opened_when_the_process_ends_is_told_to_connect_again(
    server: EmbeddedServer, log: Connection
) -> None:
    async with Clients(Settings(nats_url=server.url)) as clients:
        application = Application(clients, open_grant("acme"))
        application.closing.set()
        transport = httpx.ASGITransport(application.asgi())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            headers = {"Accept": "text/event-stream"}
            reply = await http.get("/v1/sessions/s1/events", headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
    assert reply.json()["retryable"]
    assert reply.headers["retry-after"]
