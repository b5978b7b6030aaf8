"""The shipped permissions, on a real server: every role against every subject that is not its own.

A cell of the matrix is one publish or one subscription, and whether the server refused it.
"""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.guarded import TENANT_USERS, USERS, guarded_server, probing

from weft.log.topology import desired
from weft.supervision.embedded_server import EmbeddedServer

PUBLISHERS = {
    "weft.acme.s1.in.user_turn": {"acme-agent", "acme-operator"},
    "weft.acme.s1.in.session_closed": {"acme-agent", "acme-operator"},
    "weft.acme.s1.in.revived": {"acme-operator"},
    "weft.acme.s1.out.session_closed": {"replica"},
    "weft.rival.s1.in.user_turn": {"rival-agent", "rival-operator"},
    "weft.acme.@tenant.in.policy": set(),
    "weft.acme.@tenant.out.context_policy": {"acme-operator"},
    "weft.rival.@tenant.out.erased": {"rival-operator"},
    "weft.acme.s1.out.envelope": {"firewall"},
    "weft.acme.s1.out.summary": {"worker"},
    "weft.acme.s1.out.fact": {"worker"},
    "weft.acme.s1.out.episode": {"worker"},
    "weft.acme.s1.out.parked": {"firewall", "worker"},
    "weft.acme.s1.out.context_policy": set(),
    "weft.acme.s1.out.revived": set(),
    "weft.acme.s1.out.erased": set(),
    "weft.acme.@tenant.out.catalog": {"acme-operator"},
    "weft.acme.@tenant.out.erased": {"acme-operator"},
    "weft.rival.s1.out.envelope": {"firewall"},
    "weft.rival.@tenant.out.context_policy": {"rival-operator"},
    **{
        f"weft-rpc.{tenant}.s1.{service}": {
            *(f"{tenant}-{role}" for role in ("agent", "reader", "operator")),
            *(("replica",) if service in ("route", "hydrate") else ()),
        }
        for tenant in ("acme", "rival")
        for service in (
            *("compile", "explain", "status", "drilldown", "route", "hydrate", "choose"),
            *("sessions", "replicas"),
        )
    },
    **{
        f"weft-rpc.{tenant}.@tenant.processes": {
            "replica",
            *(f"{tenant}-{role}" for role in ("agent", "reader", "operator")),
        }
        for tenant in ("acme", "rival")
    },
    "weft.acme.s1.in.user_turn.assistant": {"acme-assistant", "acme-operator"},
    "weft.acme.s1.in.user_turn.other": {"acme-operator"},
    "weft.acme.s1.in.user_turn.assistant.x": {"acme-operator"},
    "weft.acme.s1.in.revived.assistant": {"acme-operator"},
    "weft.acme.@tenant.in.policy.assistant": set(),
    "weft.acme.@tenant.out.scope_grants": {"acme-operator"},
    "weft-rpc.acme.s1.compile.assistant": {"acme-assistant"},
    "weft-rpc.acme.s1.compile.other": set(),
    "weft-rpc.acme.s1.compile.@operator": {"acme-operator"},
    "weft-rpc.rival.s1.compile.@operator": {"rival-operator"},
    "weft-audit.acme.s1.compiled": {"replica"},
    "weft-audit.acme.s1.routed": {"replica"},
    "weft-audit.acme.s1.chosen": {"replica"},
    "w.in.3.acme.s1.user_turn": set(),
    "w.out.3.acme.s1.envelope": set(),
    "$O.weft_bodies.M.name": set(),
    "$KV.any.key": set(),
    "$SYS.REQ.SERVER.PING": set(),
    "$SYS.REQ.ACCOUNT.ACME.CONNZ": set(),
    "_INBOX.of.another": {"replica"},
}
"""Subject → who may publish to it, besides `admin`, who may everything in its account."""

STREAMS = tuple(desired().streams)
API = (
    *("$JS.API.INFO", "$JS.API.ACCOUNT.PURGE.WEFT", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST"),
    "$JS.API.META.LEADER.STEPDOWN",
    *(
        f"$JS.API.{verb}.{stream}{tail}"
        for stream in STREAMS
        for verb, tail in (
            ("STREAM.CREATE", ""),
            ("STREAM.UPDATE", ""),
            ("STREAM.DELETE", ""),
            ("STREAM.PURGE", ""),
            ("STREAM.INFO", ""),
            ("STREAM.SNAPSHOT", ""),
            ("STREAM.RESTORE", ""),
            ("STREAM.MSG.GET", ""),
            ("STREAM.MSG.DELETE", ""),
            ("STREAM.PEER.REMOVE", ""),
            ("STREAM.LEADER.STEPDOWN", ""),
            ("DIRECT.GET", ""),
            ("DIRECT.GET", ".w.in.3.acme.s1.tool_result"),
            ("CONSUMER.NAMES", ""),
            ("CONSUMER.LIST", ""),
            ("CONSUMER.CREATE", ""),
            ("CONSUMER.CREATE", ".mine"),
            ("CONSUMER.CREATE", ".mine.w.in.3.acme.s1.tool_result"),
            ("CONSUMER.DURABLE.CREATE", ".mine"),
            ("CONSUMER.INFO", ".firewall"),
            ("CONSUMER.DELETE", ".firewall"),
            ("CONSUMER.PAUSE", ".firewall"),
            ("CONSUMER.UNPIN", ".firewall"),
            ("CONSUMER.RESET", ".firewall"),
            ("CONSUMER.LEADER.STEPDOWN", ".firewall"),
            ("CONSUMER.MSG.NEXT", ".firewall"),
            ("CONSUMER.MSG.NEXT", ".summarizer"),
        )
    ),
    *(f"$JS.ACK.weft.{worker}.1.5.5.1.0" for worker in ("firewall", "summarizer", "memory")),
    "$JS.FC.weft.any",
)
"""Every request that nats-server 2.15 takes about streams and consumers."""

OWN_CONSUMERS = {"firewall": {"firewall"}, "worker": {"summarizer", "memory"}}
READING = re.compile(
    r"\$JS\.API\.((STREAM\.INFO|STREAM\.MSG\.GET|DIRECT\.GET)\.\w+(\.w\..*)?"
    r"|CONSUMER\.CREATE\.weft\.mine(\.w\..*)?)$"
)
"""What any process of the platform may ask for: messages of a stream, and a consumer of its own to
follow the log with."""

SUBSCRIBED = {
    ">": set(),
    "weft.>": set(),
    "weft.acme.s1.in.tool_result": set(),
    "w.>": set(),
    "weft-rpc.>": set(),
    "weft-rpc.*.*.compile": {"replica"},
    "weft-rpc.acme.s1.compile": {"replica"},
    "weft-rpc.acme.@tenant.processes": {"replica", "firewall", "worker"},
    "weft-rpc.*.@tenant.*": {"replica"},
    "weft-audit.>": set(),
    "$JS.API.>": set(),
    "$JS.EVENT.ADVISORY.>": set(),
    "$O.weft_bodies.>": set(),
    "$SYS.>": set(),
    "_INBOX.>": set(USERS),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedServer]:
    async with guarded_server(tmp_path_factory.mktemp("guarded")) as server:
        yield server


@pytest.mark.parametrize("user", USERS)
async def test_a_role_publishes_to_its_own_subjects_and_no_others(guarded, user):
    async with probing(guarded, user) as probe:
        wanted = {s: user == "admin" or user in allowed for s, allowed in PUBLISHERS.items()}
        assert {subject: await probe.may_publish(subject) for subject in wanted} == wanted


@pytest.mark.parametrize("user", TENANT_USERS)
async def test_a_tenant_reaches_no_request_of_the_stream_api(guarded, user):
    async with probing(guarded, user) as probe:
        assert [subject for subject in API if await probe.may_publish(subject)] == []


@pytest.mark.parametrize("user", ["firewall", "worker", "replica"])
async def test_a_process_reads_streams_and_touches_no_consumer_but_its_own(guarded, user):
    async with probing(guarded, user) as probe:
        allowed = {subject for subject in API if await probe.may_publish(subject)}
    own = {
        subject
        for consumer in OWN_CONSUMERS.get(user, set())
        for subject in (
            f"$JS.API.CONSUMER.INFO.weft.{consumer}",
            f"$JS.API.CONSUMER.MSG.NEXT.weft.{consumer}",
            f"$JS.ACK.weft.{consumer}.1.5.5.1.0",
        )
    }
    assert {subject for subject in allowed if not READING.match(subject)} == own & set(API)


@pytest.mark.parametrize("user", [user for user in USERS if user != "admin"])
async def test_a_role_listens_to_its_replies_and_to_nothing_else(guarded, user):
    async with probing(guarded, user) as probe:
        wanted = {subject: user in allowed for subject, allowed in SUBSCRIBED.items()}
        assert {subject: await probe.may_subscribe(subject) for subject in wanted} == wanted
