"""One tenant's agent against another's, on a server with the shipped permissions and every service:
what it tries, what is refused, what it gets to see, and how long the other waits meanwhile."""

import asyncio
import os
import random
import time
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import nats
from nats.errors import Error as NatsError
from tests.crash.load import turns
from tests.guarded import password, signed_in
from tests.integration.guarded_services import guarded_services
from tests.integration.raw import raw
from tests.integration.test_hostile_places import BLOCKS, hostile

from weft.client import Client
from weft.firewall.derive import FIREWALL_VERSION
from weft.log.bodies import Bodies
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.compile import CompileRequest, DrilldownRequest
from weft_schemas.ids import artifact_handle, derived_message_id, item_message_id
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, SelectionRules
from weft_schemas.subjects import item_subject

SEED = int(os.environ.get("WEFT_SEED") or 20_260_105)
SECRET = "the-merger-with-globex"
FLOOD = 1_500
CROSSINGS = (
    b"weft.acme.s.in.user_turn",
    b"weft.acme.s.out.envelope",
    b"weft.acme.@tenant.out.erased",
    b"weft.rival.s.out.envelope",
    b"weft.rival.@tenant.out.context_policy",
    b"weft.rival.@tenant.in.user_turn",
    b"weft.rival.s.in.revived",
    b"weft-rpc.acme.s.compile",
    b"weft-rpc.acme.s.drilldown",
    b"weft-audit.acme.s.compiled",
    b"w.in.3.acme.s.user_turn",
    b"$JS.API.STREAM.MSG.GET.weft",
    b"$JS.API.DIRECT.GET.weft",
    b"$JS.API.STREAM.PURGE.weft",
    b"$JS.API.CONSUMER.MSG.NEXT.weft.firewall",
    b"$JS.API.STREAM.MSG.GET.OBJ_weft_bodies",
    b"$O.weft_bodies.M.x",
    b"$SYS.REQ.SERVER.PING",
)


def agent(server: EmbeddedServer, tenant: str, role: str = "agent") -> Client:
    user = f"{tenant}-{role}"
    return Client(Settings(nats_url=server.url, tenant=tenant, user=user, password=password(user)))


async def compiled(client: Client) -> tuple[str, float]:
    """The victim's prompt, and how long it took."""
    begun = time.perf_counter()
    pack = await client.compile("good", "answer", query="disk")
    return pack.prompt, time.perf_counter() - begun


class Attacker:
    """Bare NATS as rival's agent; notes what it was told."""

    def __init__(self, client: nats.NATS) -> None:
        self._client = client
        self.seen: list[bytes] = []
        self.tries = 0
        self.refused = 0

    async def ask(self, session: str, service: str, request: msgspec.Struct) -> None:
        self.tries += 1
        subject = f"weft-rpc.rival.{session}.{service}"
        try:
            reply = await self._client.request(subject, msgspec.json.encode(request), timeout=60)
        except NatsError:
            self.refused += 1
            return
        self.seen.append(reply.data)
        self.refused += "Weft-Error" in (reply.headers or {})


async def cross(server: EmbeddedServer, attacker: Attacker) -> None:
    """Every subject that is another's, by hand, with every hostile header."""
    user = "rival-agent"
    async with raw(server.url, user, password(user)) as client:
        for subject in CROSSINGS:
            client.publish(subject, b'{"type":"item"}', reply=b"_INBOX.mine")
        assert await client.answered()
        attacker.tries += len(CROSSINGS)
        attacker.refused += len([one for one in client.errors if b"ermissions" in one])
    places = [(s.replace(b"acme", b"rival"), b, p) for s, b, p in hostile(SEED)[:800]]
    for block in BLOCKS:
        places.append((b"weft.rival.s.in.tool_result", block, b'{"type":"item"}'))
    random.Random(SEED).shuffle(places)
    waiting = list(places)
    while waiting:
        async with raw(server.url, user, password(user)) as client:
            while waiting:
                subject, headers, payload = waiting.pop()
                client.publish(subject, payload, headers)
                attacker.tries += 1
                if not await client.answered():
                    break


async def test_no_agent_hurts_reads_or_deceives_another(tmp_path: Path, tell):
    async with guarded_services(tmp_path) as (server, running), AsyncExitStack() as stack:
        victim = await stack.enter_async_context(agent(server, "acme"))
        admin = await stack.enter_async_context(signed_in(server, "admin"))
        async with Publisher(admin) as publisher:
            large = f"{SECRET}\n".encode() * 20_000
            body = await Bodies(admin, publisher, "acme").put(large)
        kind = ItemKind.TOOL_RESULT
        restricted = ContextItem("x", kind, body=body, sensitivity=Sensitivity.RESTRICTED)
        await victim.publish("private", restricted)
        ack = await victim.publish("good", turns(8))
        before = await victim.compile(
            "good", "answer", query="disk", after=ack.sequence, timeout=60
        )
        assert before.pending == ()
        quiet = sorted([(await compiled(victim))[1] for _ in range(20)])
        user = "rival-agent"
        bare = await nats.connect(server.url, user=user, password=password(user))
        attacker = Attacker(bare)
        rival = await stack.enter_async_context(agent(server, "rival"))

        # What can be known beforehand of what acme, and its workers, will publish.
        last = await last_sequence(admin)
        coming = ContextItem("next", ItemKind.TOOL_RESULT, "invoice 4711 waits for Ada", "c7")
        payload = msgspec.json.encode(coming, order="deterministic")
        taken = [item_message_id("acme", "good", coming.id, payload)] + [
            derived_message_id(last + n, "firewall", FIREWALL_VERSION, 0, "", "envelope")
            for n in range(300)
        ]
        for one in taken:
            headers = {"Nats-Msg-Id": one}
            await bare.publish(item_subject("rival", "s", "user_turn"), b"{}", headers=headers)
        attacker.tries += len(taken)
        await bare.flush()
        published = await victim.publish("good", coming)
        asked = {"query": "invoice 4711", "after": published.sequence, "timeout": 60}
        shown = await victim.compile("good", "answer", **asked)
        assert shown.pending == ()
        assert "invoice 4711 waits" in shown.prompt

        # Another tenant's body by its digest, and its handles.
        await rival.publish("s", ContextItem("hello", ItemKind.USER_TURN, "hello"))
        stolen = msgspec.structs.replace(restricted, sensitivity=Sensitivity.PUBLIC)
        payload = msgspec.json.encode(stolen)
        await bare.publish(item_subject("rival", "s", "tool_result"), payload)
        for handle in (artifact_handle("acme", "private", "x"), artifact_handle("rival", "s", "x")):
            for view in ("head", "lines", "search"):
                arguments = {"pattern": "merger"} if view == "search" else {}
                asked = DrilldownRequest(handle, view, arguments)
                await attacker.ask("s", "drilldown", asked)

        # Numbers without measure, and more requests than anybody answers.
        wide = ContextPolicy(selection=SelectionRules(neighbours=2**31))
        for request in (
            CompileRequest(Phase.ANSWER, policy=wide),
            CompileRequest(Phase.ANSWER, budget=2**62),
            CompileRequest(Phase.ANSWER, query="word " * 100_000),
            DrilldownRequest("art:x", max_tokens=2**62),
        ):
            service = "drilldown" if isinstance(request, DrilldownRequest) else "compile"
            await attacker.ask("s", service, request)
        flood = [
            asyncio.create_task(
                attacker.ask("s", "compile", CompileRequest(Phase.ANSWER, after=2**40, timeout=20))
            )
            for _ in range(FLOOD)
        ]
        await asyncio.sleep(0.5)
        hostile_bytes = asyncio.create_task(cross(server, attacker))
        under = []
        while not hostile_bytes.done() or len(under) < 30:
            prompt, seconds = await compiled(victim)
            under.append(seconds)
        await hostile_bytes
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
        await attacker.ask("s", "compile", CompileRequest(Phase.ANSWER, query="merger"))
        await bare.close()
        alive = {name: one.process.returncode is None for name, one in running.items()}
        logs = [str(line) for one in running.values() for line in one.log]
    under.sort()
    leaks = sum(SECRET.encode() in one for one in attacker.seen)
    tell(
        f"seed {SEED}: {attacker.tries} tries, {attacker.refused} refused in words, {leaks} "
        f"leaks; acme's compile quiet p50 {quiet[10] * 1000:.0f} ms, beside the attack p50 "
        f"{under[len(under) // 2] * 1000:.0f} ms, longest {under[-1] * 1000:.0f} ms "
        f"({len(under)} compiles)"
    )
    assert leaks == 0
    assert not any(SECRET in line for line in logs)
    assert all(alive.values()), alive
    assert prompt.startswith(before.prompt[:40])
    assert attacker.refused >= len(CROSSINGS)
