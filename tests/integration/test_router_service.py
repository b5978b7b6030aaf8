"""The router's service on a real log: versions, sessions, audit, large and broken catalogues."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from tests.chat_endpoint import ChatServer
from tests.integration.folding import folding
from tests.integration.processes import PATIENCE, Running, started

from weft.client import Client
from weft.log.connection import Connection
from weft.log.reading import read_matching
from weft.log.secure_delete import erase
from weft.log.topology import provision
from weft.runtime.settings import read_settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.envelope import ResultEnvelope, ResultStatus
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.events import EnvelopeEvent, ErasedEvent, Origin, encode_event
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, FirewallRules, SecretPattern
from weft_schemas.routing import Catalog, ChoiceAudit, RouteAudit, SelectableItem
from weft_schemas.subjects import AUDIT_STREAM, STREAM, derived_subject

ITEMS = (
    SelectableItem("find", "find_invoices", "Find invoices of a customer."),
    SelectableItem(
        "pay",
        "pay_invoice",
        "Pay an invoice.",
        side_effects=True,
        requires=("find",),
        args_schema={"type": "object", "properties": {"invoice_id": {"type": "string"}}},
    ),
    SelectableItem("mail", "send_mail", "Send an e-mail."),
)


@asynccontextmanager
async def routing(server, data_dir: Path, **settings: str) -> AsyncIterator[Running]:
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(data_dir), **settings}
    async with started("weft.cli.main", "work", "router", **environ) as router:
        await router.until_ready()
        yield router


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def log(shared_log: Connection) -> Connection:
    return shared_log


@pytest_asyncio.fixture(loop_scope="module")
async def client(server: EmbeddedServer, log: Connection, tenant: str) -> AsyncIterator[Client]:
    async with Client(read_settings({}, nats_url=server.url, tenant=tenant)) as connected:
        yield connected


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def router(
    server: EmbeddedServer, log: Connection, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Running]:
    folder = tmp_path_factory.mktemp("router")
    async with folding(log, folder), routing(server, folder) as running:
        yield running


async def audits(log: Connection, tenant: str, event: str) -> list[bytes]:
    subject = f"weft-audit.{tenant}.*.{event}"
    return [r.payload async for r in read_matching(log, subject, stream=AUDIT_STREAM)]


async def test_a_published_catalogue_answers_and_the_decision_is_recorded(
    router, client: Client, log: Connection, tenant: str
) -> None:
    ack = await client.publish_catalog(Catalog("tools", ITEMS))
    reply = await client.route("pay this invoice", "tools", after=ack.sequence, timeout=60)
    assert reply.cards[0].id == "pay"
    assert reply.cards[0].note == "needs first: find"
    assert reply.catalog_version == ack.sequence
    [recorded] = await audits(log, tenant, "routed")
    audit = msgspec.json.decode(recorded, type=RouteAudit)
    assert (audit.id, audit.shown[0], audit.query) == (reply.id, "pay", "pay this invoice")
    assert len(audit.scores) == len(reply.cards)


async def test_what_was_taken_is_recorded(
    router, client: Client, log: Connection, tenant: str
) -> None:
    ack = await client.publish_catalog(Catalog("tools", ITEMS))
    reply = await client.route("send an email", "tools", after=ack.sequence, timeout=60)
    assert (await client.choose(reply, "mail", "s1")).sequence > 0
    [recorded] = await audits(log, tenant, "chosen")
    assert msgspec.json.decode(recorded, type=ChoiceAudit) == ChoiceAudit(
        tenant, "s1", reply.id, "mail"
    )


async def test_a_new_version_is_used_without_a_restart(router, client: Client) -> None:
    await client.publish_catalog(Catalog("tools", ITEMS))
    printing = SelectableItem("print", "print_label", "Print a parcel label.")
    ack = await client.publish_catalog(Catalog("tools", (*ITEMS[:2], printing)))
    reply = await client.route("print a label", "tools", after=ack.sequence, timeout=60)
    assert [card.id for card in reply.cards] == ["print"]
    gone = await client.route("send an email", "tools")
    assert "mail" not in [card.id for card in gone.cards]


async def test_a_restarted_router_knows_the_newest_versions(tmp_path: Path) -> None:
    async with (
        EmbeddedServer(tmp_path / "nats") as server,
        Client(read_settings({}, nats_url=server.url)) as client,
    ):
        await provision(client.connection)
        await client.publish_catalog(Catalog("tools", ITEMS[:1]))
        ack = await client.publish_catalog(Catalog("tools", ITEMS))
        await client.publish_catalog(Catalog("others", ITEMS[2:]))
        async with routing(server, tmp_path):
            reply = await client.route("pay an invoice", "tools")
            assert (reply.catalog_version, reply.total_leaves) == (ack.sequence, 3)
            assert (await client.route("mail", "others")).total_leaves == 1


async def test_a_large_catalogue_lies_in_the_object_store(router, client: Client) -> None:
    many = tuple(
        SelectableItem(f"t{n}", f"tool number {n}", f"Does thing {n}. " * 20) for n in range(3_000)
    )
    ack = await client.publish_catalog(Catalog("many", (*many, *ITEMS)))
    reply = await client.route("pay an invoice", "many", after=ack.sequence, timeout=60)
    assert reply.cards[0].id == "pay"
    assert reply.total_leaves == 3_003
    version, catalog = await client.catalog("many")
    assert (version, len(catalog.items)) == (ack.sequence, 3_003)


async def test_an_unknown_catalogue_and_tool_say_what_to_do(router, client: Client) -> None:
    with pytest.raises(NotFound, match="weft catalog publish FILE --name nothing"):
        await client.route("x", "nothing")
    ack = await client.publish_catalog(Catalog("tools", ITEMS))
    await client.route("x", "tools", after=ack.sequence, timeout=60)
    with pytest.raises(NotFound, match="tool 'zz' is not in catalogue 'tools'"):
        await client.hydrate("zz", "s1", catalog="tools")
    with pytest.raises(InvalidInput, match="top_k is 99"):
        await client.route("x", "tools", top_k=99)


async def test_a_decisions_tools_are_of_its_version(router, client: Client) -> None:
    """Small and large versions, and those that no longer have the tool."""
    pad = tuple(SelectableItem(f"t{n}", f"number {n}", "Does a thing. " * 30) for n in range(1_500))
    decided = []
    for text, more in (("Pay one.", ()), ("Pay two.", pad), ("Pay three.", ())):
        item = SelectableItem("pay", "pay_invoice", text)
        ack = await client.publish_catalog(Catalog("changing", (item, *more)))
        decision = await client.route(
            "pay the invoice", "changing", after=ack.sequence, top_k=1, timeout=60
        )
        assert decision.catalog_version == ack.sequence
        decided.append((text, decision))
    ack = await client.publish_catalog(Catalog("changing", ()))
    await client.route("pay", "changing", after=ack.sequence, timeout=60)
    for text, decision in decided:
        (tool,) = (await client.tools(decision)).tools
        assert tool.description == text
    with pytest.raises(NotFound, match="tool 'pay' is not in catalogue"):
        await client.hydrate("pay", "s1", catalog="changing")


async def test_a_version_that_is_gone_or_anothers_is_not_found(
    router, server, client: Client, log: Connection
) -> None:
    ack = await client.publish_catalog(Catalog("going", ITEMS))
    decision = await client.route("pay the invoice", "going", after=ack.sequence, timeout=60)
    newer = await client.publish_catalog(Catalog("going", ITEMS[2:]))
    kept = await client.route("send", "going", after=newer.sequence, timeout=60)
    newest = await client.publish_catalog(Catalog("going", ()))
    await client.route("pay", "going", after=newest.sequence, timeout=60)
    assert (await client.tools(kept)).tools == ITEMS[2:]
    async with Client(read_settings({}, nats_url=server.url, tenant="curious")) as other:
        theirs = await other.publish_catalog(Catalog("going", ITEMS[:1]))
        await other.route("pay", "going", after=theirs.sequence, timeout=60)
        with pytest.raises(NotFound, match=f"version {newer.sequence} of catalogue 'going' is not"):
            await other.tools(kept)
    await erase(log, STREAM, ack.sequence)
    with pytest.raises(NotFound, match="is not in the log any more; route again"):
        await client.tools(decision)


async def test_a_name_of_several_tools_is_refused_with_their_ids(router, client: Client) -> None:
    alike = [SelectableItem(f"{at}.create", "create_issue", f"In {at}.") for at in ("jira", "gh")]
    ack = await client.publish_catalog(Catalog("alike", tuple(alike)))
    await client.publish("named", [ContextItem("u1", ItemKind.USER_TURN, "Hello")])
    with pytest.raises(
        InvalidInput, match=r"2 tools have the name 'create_issue': 'gh.create', 'j"
    ):
        await client.hydrate("create_issue", "named", catalog="alike", after=ack.sequence)
    found = await client.hydrate("jira.create", "named", catalog="alike", timeout=60)
    assert found.tool == alike[0]


async def test_what_the_policy_knows_as_secrets_is_sent_to_no_model(
    log: Connection, server, client: Client, tenant: str, tmp_path: Path
) -> None:
    rules = FirewallRules(secret_patterns=(SecretPattern("badge", "BADGE-[0-9]+"),))
    await client.publish_policy(ContextPolicy(firewall=rules))
    ack = await client.publish_catalog(Catalog("tools", ITEMS))
    with ChatServer(lambda _, question: question) as model:
        asks = {"WEFT_ROUTER_URL": model.url, "WEFT_ROUTER_MODEL": "small"}
        async with folding(log, tmp_path), routing(server, tmp_path, **asks):
            async with asyncio.timeout(PATIENCE):
                while "badge" not in str(model.requests[-1:]):  # until the policy is folded
                    reply = await client.route(
                        "pay with BADGE-12345", "tools", after=ack.sequence, timeout=60
                    )
                    assert reply.cards[0].id == "pay"
    assert "BADGE-" not in str(model.requests[-1])


async def test_a_broken_version_is_refused_and_leaves_the_one_before(
    router, client: Client, tenant: str
) -> None:
    good = await client.publish_catalog(Catalog("tools", ITEMS))
    circle = Catalog("tools", (SelectableItem("a", "a", requires=("a",)),))
    with pytest.raises(InvalidInput, match="requires is circular"):
        await client.publish_catalog(circle)
    # As a client of another release, or one without weft, may do.
    subject = derived_subject(tenant, TENANT_SESSION, "catalog")
    publishing = client.connection.jetstream(timeout=PATIENCE)
    broken = (await publishing.publish(subject, encode_event(circle))).seq
    later = await client.publish_catalog(Catalog("others", ITEMS[2:]))
    await client.route("mail", "others", after=later.sequence, timeout=60)
    with pytest.raises(NotFound, match=f"known at version {good.sequence}"):
        await client.route("pay", "tools", after=broken, timeout=1.5)
    assert (await client.route("pay", "tools")).catalog_version == good.sequence


async def test_tenants_do_not_see_each_others_catalogues(router, server, client: Client) -> None:
    ack = await client.publish_catalog(Catalog("tools", ITEMS))
    await client.route("pay", "tools", after=ack.sequence, timeout=60)
    async with Client(read_settings({}, nats_url=server.url, tenant="other")) as other:
        with pytest.raises(NotFound, match="'tools'"):
            await other.route("pay", "tools")


async def test_an_erased_tenants_catalogues_are_forgotten(
    router, client: Client, tenant: str
) -> None:
    ack = await client.publish_catalog(Catalog("tools", ITEMS))
    await client.route("pay", "tools", after=ack.sequence, timeout=60)
    subject = derived_subject(tenant, TENANT_SESSION, "erased")
    await client.connection.jetstream(timeout=PATIENCE).publish(
        subject, encode_event(ErasedEvent(None))
    )
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await client.route("pay", "tools")
            except NotFound:
                break
            await asyncio.sleep(0.05)


async def test_a_session_tells_what_failed_was_used_and_can_be_filled_in(
    router, client: Client, tenant: str
) -> None:
    catalogue = await client.publish_catalog(Catalog("tools", ITEMS))
    named = {"tool_name": "find_invoices"}
    call = {**named, "arguments": {"customer": "Ann"}}
    items = [
        ContextItem("u1", ItemKind.USER_TURN, "Pay what Ann owes. My invoice id is INV_4711."),
        ContextItem("c1", ItemKind.TOOL_CALL, parent_id="u1", metadata=call),
        ContextItem(
            "r1",
            ItemKind.TOOL_RESULT,
            "{}",
            parent_id="c1",
            metadata={"tool_name": call["tool_name"]},
        ),
        ContextItem(
            "u2", ItemKind.USER_TURN, "invoice_id: SECRET_1", sensitivity=Sensitivity.RESTRICTED
        ),
    ]
    ack = await client.publish("s1", items)
    result = ack.first + 2
    envelope = EnvelopeEvent(
        Origin(result, "r1", "firewall"), ResultEnvelope('{"invoice_id": "INV_0815"}')
    )
    subject = derived_subject(tenant, "s1", "envelope")
    made = await client.connection.jetstream(timeout=PATIENCE).publish(
        subject, encode_event(envelope)
    )
    hydrated = await client.hydrate(
        "pay_invoice", "s1", catalog="tools", after=made.seq, timeout=60
    )
    values = {found.value: found.source for found in hydrated.values["invoice_id"]}
    assert values["INV_4711"] == "u1"
    assert values["INV_0815"] == "r1"
    assert "SECRET_1" not in values
    assert hydrated.tool == ITEMS[1]
    assert set(hydrated.used) == {"u1", "r1"}
    assert hydrated.sequence >= made.seq

    reply = await client.route("pay the invoice", "tools", session="s1")
    (card,) = [card for card in reply.cards if card.id == "pay"]
    assert card.note == ""

    failed = ContextItem(
        "r2", ItemKind.TOOL_RESULT, "x", metadata={"tool_name": "pay_invoice", "is_error": True}
    )
    later = await client.publish("s1", failed)
    broken = EnvelopeEvent(
        Origin(later.sequence, "r2", "firewall"),
        ResultEnvelope("no", status=ResultStatus.ERROR),
    )
    made = await client.connection.jetstream(timeout=PATIENCE).publish(
        subject, encode_event(broken)
    )
    await client.hydrate("pay", "s1", catalog="tools", after=made.seq, timeout=60)
    again = await client.route("pay the invoice", "tools", session="s1")
    (card,) = [card for card in again.cards if card.id == "pay"]
    assert card.note == "failed just now"
    assert again.catalog_version == catalogue.sequence
