"""A worker of this release over history: new results count from their own sequence on, the old ones
stay for `as_of`, and a second run does nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.audited import KEY, answer, call, turn
from tests.integration.command_line import weft
from tests.integration.logged import publish, publish_raw, result, stored, until, until_finished
from tests.integration.test_worker_services import of, working
from tests.unit.test_summarizer_summarizer import Endpoint

from weft.audit.history import LoggedHistories, fresh_model
from weft.compiler.compile import compile_pack
from weft.log.connection import Connection
from weft.log.reading import last_sequence
from weft.readmodel.digest import content_digest
from weft.rederive.run import Rederived, rederive
from weft.runtime.settings import Settings
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.errors import InvalidInput, NotFound, Unavailable
from weft_schemas.events import (
    EnvelopeEvent,
    ErasedEvent,
    FactsEvent,
    SessionClosedEvent,
    SummaryEvent,
    encode_event,
)
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules, MemoryRules, Phase, SummaryRules
from weft_schemas.subjects import derived_subject, item_subject

LONG = " ".join(f"We decided to move shipment {n} to Rotterdam on day {n}." for n in range(150))


async def put_in_force(log: Connection, policy: ContextPolicy) -> int:
    subject = derived_subject("acme", TENANT_SESSION, "context_policy")
    return (await publish_raw(log, subject, encode_event(policy))).sequence


async def rework(server, log: Connection, worker: str, session=None, **settings) -> Rederived:
    chosen = Settings(nats_url=server.url, tenant="acme", **settings)
    return await rederive(log, chosen, worker, session)


async def compiled(log: Connection, as_of: int | None = None) -> ContextPack:
    through = await last_sequence(log)
    model = fresh_model(await LoggedHistories(log, "acme", through).of("s1"), through, "o200k_base")
    pack = compile_pack(model.view("acme", "s1", as_of), CompileRequest(Phase.INTERPRET), key=KEY)
    model.close()
    return pack.pack


async def test_a_smaller_summary_cap_supersedes_and_the_past_stays(server, log: Connection):
    asked = [turn("u1", "Where do they go?"), call("c1", "u1", page=1), call("c2", "u1", page=2)]
    await publish(log, "s1", [*asked, answer("r1", "c1", LONG), answer("r2", "c2", "short")])
    async with working(server.url, "firewall"):
        await until(log, lambda events: len(of(events, EnvelopeEvent)) == 2)
        await until_finished(log)
    before = await last_sequence(log)
    old = await compiled(log)
    rules = FirewallRules(summary_tokens=60, show="up_to:1000")
    version = await put_in_force(log, ContextPolicy(firewall=rules))
    done = await rework(server, log, "firewall")
    assert done.runs == [f"firewall/{done.version}/{version}"]
    assert (done.published, done.unchanged, done.failed) == (1, 1, []), "the short one is the same"
    [newest] = [event for event in of(await stored(log), EnvelopeEvent) if event.origin.run]
    assert newest.envelope.summary_tokens <= 60
    new = await compiled(log)
    assert newest.envelope.summary in new.prompt
    assert new.stats.prompt_tokens < old.stats.prompt_tokens
    past = await compiled(log, as_of=before)
    assert (past.prompt, past.digest) == (old.prompt, old.digest)


async def test_a_second_run_sends_nothing(server, log: Connection):
    await publish(log, "s1", [result("r1", LONG)])
    await publish(log, "s2", [result("r1", LONG)])
    async with working(server.url, "firewall"):
        await until(log, lambda events: len(of(events, EnvelopeEvent)) == 2)
    await put_in_force(log, ContextPolicy(firewall=FirewallRules(summary_tokens=60)))
    one = await rework(server, log, "firewall", "s1")
    assert (one.sessions, one.published) == (1, 1)
    both = await rework(server, log, "firewall")
    assert (both.sessions, both.published, both.known) == (2, 1, 1)
    end = await last_sequence(log)
    again = await rework(server, log, "firewall")
    assert (again.published, again.known) == (0, 2)
    assert await last_sequence(log) == end


async def test_without_a_new_version_or_policy_there_is_nothing_to_do(server, log: Connection):
    await publish(log, "s1", [result("r1", LONG)])
    async with working(server.url, "firewall"):
        await until(log, bool)
    done = await rework(server, log, "firewall")
    assert (done.published, done.known) == (0, 1)


async def test_summaries_are_shortened_or_withdrawn(server, log: Connection):
    await publish(log, "s1", [ContextItem("a", ItemKind.AGENT_MSG, LONG)])
    closing = encode_event(SessionClosedEvent())
    await publish_raw(log, item_subject("acme", "s1", "session_closed"), closing)
    async with working(server.url, "summarizer"):
        await until(log, lambda events: len(of(events, SummaryEvent)) == 2)
    await put_in_force(
        log, ContextPolicy(summaries=SummaryRules(item_tokens=30, session_tokens=40))
    )
    done = await rework(server, log, "summarizer")
    assert done.published == 2
    latest = of(await stored(log), SummaryEvent)[2:]
    assert [event.tokens <= cap for event, cap in zip(latest, (30, 40), strict=True)] == [True] * 2
    await put_in_force(log, ContextPolicy(summaries=SummaryRules(item_threshold=100_000)))
    await rework(server, log, "summarizer")
    withdrawn = [e for e in of(await stored(log), SummaryEvent)[4:] if e.origin.item_id == "a"]
    assert [event.text for event in withdrawn] == [""]
    assert (await rework(server, log, "summarizer")).published == 0


async def test_a_session_is_summarised_from_the_items_new_summaries(server, log: Connection):
    await publish(log, "s1", [ContextItem("a", ItemKind.AGENT_MSG, LONG)])
    closing = encode_event(SessionClosedEvent())
    await publish_raw(log, item_subject("acme", "s1", "session_closed"), closing)
    await rework(server, log, "summarizer")
    await put_in_force(log, ContextPolicy(summaries=SummaryRules(item_tokens=20)))
    await rework(server, log, "summarizer")
    of_item, of_session = of(await stored(log), SummaryEvent)[2:]
    assert " ".join(of_item.text.split()) in of_session.text


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


async def test_a_model_is_asked_once_for_each_source(server, log: Connection, endpoint: Endpoint):
    await publish(log, "s1", [ContextItem("a", ItemKind.AGENT_MSG, LONG)])
    async with working(server.url, "summarizer"):
        await until(log, bool)
    model = {"summary_url": endpoint.url, "summary_model": "tiny"}
    done = await rework(server, log, "summarizer", **model)
    assert (done.published, len(endpoint.requests)) == (1, 1)
    assert done.runs[0].endswith("/tiny")
    again = await rework(server, log, "summarizer", **model)
    assert (again.published, again.known, len(endpoint.requests)) == (0, 1, 1)
    endpoint.status = 503
    await put_in_force(log, ContextPolicy(name="newer"))
    with pytest.raises(Unavailable):
        await rework(server, log, "summarizer", **model)
    endpoint.status = 200
    assert (await rework(server, log, "summarizer", **model)).published == 1


async def test_a_live_memory_takes_new_envelopes_up(server, log: Connection):
    profile = ContextItem(
        "p",
        ItemKind.TOOL_RESULT,
        '{"user_id": "mia_li_3668", "email": "mia@example.org", "membership": "gold"}',
        metadata={"tool_name": "get_user_details"},
    )
    teaching = MemoryRules(results=("get_user_*",))
    await put_in_force(log, ContextPolicy(memory=teaching))
    await publish(log, "s1", [profile])
    async with working(server.url, "firewall", "memory"):
        await until(log, lambda events: of(events, FactsEvent))
        none = ContextPolicy(memory=teaching, firewall=FirewallRules(max_facts=0))
        version = await put_in_force(log, none)
        done = await rework(server, log, "firewall")
        events = await until(log, lambda events: len(of(events, FactsEvent)) == 2)
    first, second = of(events, FactsEvent)
    assert done.runs == [f"firewall/{done.version}/{version}"]
    assert first.facts
    assert second.facts == ()
    assert second.origin.run == done.runs[0]
    assert (await rework(server, log, "memory")).published == 0


async def test_facts_of_history_are_learned_by_a_memory_that_was_not_there(server, log):
    await publish(log, "s1", [ContextItem("u", ItemKind.USER_TURN, "My timezone is UTC.")])
    done = await rework(server, log, "memory")
    assert done.published == 1
    [facts] = of(await stored(log), FactsEvent)
    assert facts.origin.run == done.runs[0]
    assert (await rework(server, log, "memory")).published == 0


async def test_memory_reads_the_past_in_the_languages_that_the_setting_names(
    server, log, tmp_path: Path
):
    dutch = tmp_path / "dutch.json"
    dutch.write_text('{"nl": {"says": {"name": ["ik heet …"]}}, "es": {"says": {}}}')
    turns = [
        turn("u1", "Ik heet Anna."),
        turn("u2", "Me llamo Ana."),
        turn("u3", "Hello, I am Ann."),
    ]
    await publish(log, "s1", turns)
    async with working(server.url, "memory"):
        await until(log, lambda events: len(of(events, FactsEvent)) == 2)
    settings = {"WEFT_TENANT": "acme", "WEFT_MEMORY_LANGUAGES": str(dutch)}
    command = ("rederive", "memory", "--json")
    first = (await weft(*command, url=server.url, settings=settings)).json
    again = (await weft(*command, url=server.url, settings=settings)).json
    assert (first["published"], again["published"]) == (2, 0)
    learned, withdrawn = of(await stored(log), FactsEvent)[-2:]
    assert [fact.value for fact in learned.facts] == ["Anna"]
    assert (withdrawn.origin.item_id, withdrawn.facts) == ("u2", ())
    back = await rework(server, log, "memory")
    assert (back.published, back.unchanged) == (2, 1)


async def test_a_source_that_cannot_be_worked_is_named(server, log: Connection):
    sneaky = encode_event(ContextItem("x", ItemKind.TOOL_RESULT, "as a user"))
    ack = await publish_raw(log, item_subject("acme", "s1", "user_turn"), sneaky)
    done = await rework(server, log, "firewall")
    assert [(one.session, one.sequence) for one in done.failed] == [("s1", ack.sequence)]
    ran = await weft("rederive", "firewall", "--tenant", "acme", "--json", url=server.url)
    assert ran.code == 1
    assert "$.kind" in ran.json["failed"][0]["error"]


async def test_an_erased_session_is_left_alone(server, log: Connection):
    await publish(log, "s1", [result("r1", LONG)])
    subject = derived_subject("acme", TENANT_SESSION, "erased")
    await publish_raw(log, subject, encode_event(ErasedEvent("s1")))
    assert (await rework(server, log, "firewall")).sessions == 0
    with pytest.raises(NotFound, match="'s9'"):
        await rework(server, log, "firewall", "s9")
    with pytest.raises(InvalidInput, match="'indexer'"):
        await rework(server, log, "indexer")


async def test_a_fresh_fold_of_the_whole_log_counts_the_new_results(server, log: Connection):
    await publish(log, "s1", [result("r1", LONG)])
    await rework(server, log, "firewall")
    await put_in_force(log, ContextPolicy(firewall=FirewallRules(summary_tokens=60)))
    await rework(server, log, "firewall")
    through = await last_sequence(log)
    records = await LoggedHistories(log, "acme", through).of("s1")
    one, two = (fresh_model(records, through, "o200k_base") for _ in range(2))
    assert content_digest(one.db) == content_digest(two.db)
    [row] = one.view("acme", "s1").recent(1)
    assert row.envelope is not None
    assert row.envelope.summary_tokens <= 60
    one.close()
    two.close()
