"""What `weft up` waits for before it says that it is ready."""

from pathlib import Path

from tests.integration.compiling import TURN, compiled, compiling
from tests.integration.folding import folding
from tests.integration.logged import publish
from tests.integration.test_router_service import routing

from weft.cli.up import answers
from weft.client import Client
from weft.log.connection import Connection
from weft.log.reading import last_sequence
from weft.runtime.settings import Settings
from weft_schemas.routing import Catalog, SelectableItem
from weft_schemas.subjects import AUDIT_STREAM


async def test_it_is_ready_when_every_kind_of_request_is_answered(
    server, log: Connection, tmp_path: Path
) -> None:
    settings = Settings(nats_url=server.url, tenant="acme")
    assert not await answers(settings, routed=False)
    async with folding(log, tmp_path), compiling(server.url, tmp_path):
        [ack] = await publish(log, "s1", [TURN])
        await compiled(log, after=ack.sequence)
        assert await answers(settings, routed=False)
        assert not await answers(settings, routed=True)
        async with routing(server, tmp_path):
            assert await answers(settings, routed=True)


async def test_asking_leaves_no_trace(server, log: Connection, tmp_path: Path) -> None:
    settings = Settings(nats_url=server.url, tenant="acme")
    async with folding(log, tmp_path), compiling(server.url, tmp_path), routing(server, tmp_path):
        async with Client(settings) as client:
            made = Catalog("default", (SelectableItem("mail", "send_mail", "Send an e-mail."),))
            version = (await client.publish_catalog(made)).sequence
            await client.route("mail", "default", after=version, timeout=60)
        before = await last_sequence(log, AUDIT_STREAM)
        assert await answers(settings, routed=True)
        assert await last_sequence(log, AUDIT_STREAM) == before
