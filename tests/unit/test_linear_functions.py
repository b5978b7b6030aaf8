"""Every pure function that takes text does work in proportion to it: found by walking weft's
modules, called on texts made to be slow, its calls counted and, where they take long, timed."""

from functools import cache
from itertools import count

import pytest
from tests.growing import PARTS, QUADRATIC, SIZES, Search, calls, growth, part_of, seconds
from tests.text_functions import Unmade, text_functions, texts_of, work_of

ELSEWHERE = ("weft.cli", "weft.adapters")
"""They read an operator's own files."""
UNITS = (" ", "\n", "a", "a ", '\\"', "[", "<", "a=", "1 may ", ",\n")
SIZE = 2_000
"""Characters of the text that all are tried on; what is quadratic takes far longer than `LONG`."""
LONG = 0.002
"""Seconds below which nothing is slow."""
LARGER = (4_000, 16_000)
"""Of the texts between which the growth of its time is fitted, of what took longer."""
MORE_CALLS = 1.33
"""An exponent of the calls on texts of half the length (`SIZES`) that quadratic calls exceed, if
they are a third of all at 4,000 characters. Only then are those of `LARGER` texts counted, where
the same quadratic calls exceed `QUADRATIC`."""
BOUNDED = {
    "weft.router.query_transform.configured(name)": "looks among the installed packages",
    "weft.router.query_transform.configured(model)": "the same",
    "weft.router.query_transform.configured(key)": "the same",
    "weft.router.query_transform.transformer_named(name)": "the same",
    "weft.router.fusion.encoder_named(name)": "the same",
    "weft.redaction.redaction_hook(name)": "the same",
    "weft.facts.memory_fact._fields(text)": "reads what was decoded as JSON",
    "weft.passages.json_unquoted.unquoted(json_text)": "the same",
    "weft.passages.json_unquoted._remembered(json_text)": "the same, of at most 4,096 characters",
    "weft_schemas.asyncapi.asyncapi(event_types)": "writes weft's own document, of a few types",
    "weft_schemas.loosening.covers(one)": "globs have at most 200 characters",
    "weft_schemas.loosening.may_match_both(one)": "globs have at most 200 characters",
    "weft_schemas.loosening.may_match_both(other)": "the same",
}
"""Why one that would be slow is given nothing that is long enough."""
UNCALLED = {
    "an attribute's or a type's name": """
        weft.__getattr__(name) weft.http.requests._decoder(name)
        weft_schemas.ranges._holds_rules(field) weft_schemas.routing.__getattr__(name)
    """,
    "beside an artifact: words of our own": """
        weft.firewall.views.text._or_none(nothing)
    """,
    "beside a model of the protocol: names": """
        weft.gateway.results.host_result.misfit(tool)
        weft.gateway.results.host_result._is_told_in_texts(texts)
        weft.gateway.prompts.safe_prompt(server)
        weft.gateway.resources.safe_resource(server) weft.gateway.tasks.calls._shown_task(handle)
        weft.gateway.resources.block_with_gateway_uri(server)
        weft.gateway.resources.contents_with_gateway_uri(server)
        weft.gateway.resources.with_gateway_uris(server)
        weft.gateway.results.host_result.passed(query)
        weft.gateway.results.host_result.passed(session)
        weft.gateway.results.host_result.renamed(handle)
        weft.gateway.results.host_result.renamed(other)
        weft.gateway.hosts.safe_messages.log_message(server)
        weft.gateway.tools.listing.host_tool(name) weft.gateway.tools.quarantine._reason(holder)
        weft.gateway.tools.tool.gateway_tool(server)
    """,
    "beside a read model: names and keys": """
        weft.audit.backtest._altered(id) weft.audit.difference_from_log._compiled(key)
        weft.audit.explanation._no_candidate(item) weft.audit.explanation._not_shown(item)
        weft.audit.explanation.explain_compile(item)
        weft.audit.explanation.explain_compile(key)
        weft.audit.reproduce._entries(key) weft.audit.reproduce.reproduce(key)
        weft.audit.reproduce_from_log.reproduce_each(key)
        weft.audit.reproduce_from_log.reproduce_each(tenant)
        weft.compiler.candidates.find._feedback(named) weft.compiler.candidates.find._claims(ids)
        weft.compiler.ranking.query._is_latest_turn(query)
        weft.compiler.candidates.find.find_candidates(pinned_ids)
        weft.compiler.compile._candidates(key) weft.compiler.compile.compile_pack(key)
        weft.compiler.compile.traced_compile(key)
        weft.compiler.explaining.item._memory_said(item_id)
        weft.compiler.explaining.item.explanation(item_id)
        weft.compiler.rendering.memory.facts_told(item_id)
        weft.compiler.rendering.item_entries.entries_of(key)
        weft.compiler.notes._note_missing_pins(included)
        weft.compiler.notes.note_request(included)
        weft.compiler.rendering.memory._entry(name)
        weft.compiler.rendering.memory._is_shown(shown_ids)
        weft.compiler.rendering.memory._rows(name)
        weft.compiler.rendering.memory.memory_header(shown_ids)
        weft.compiler.rights.floor_of(principal) weft.compiler.rights.policy_of(principal)
        weft.compiler.scope_facts.facts_of(principal) weft.compiler.scope_facts.facts_of(scope)
        weft.compiler.scope_facts.with_facts(principal)
        weft.compiler.rights.within_grants(principal) weft.firewall.service.allowed(handle)
        weft.firewall.service.allowed(key) weft.firewall.service.allowed(tenant)
    """,
    "beside a summarizer, which may be a model": """
        weft.summarizer.derive.summary_of_item(text)
    """,
    "beside an object of weft's own: names, and what msgspec decodes": """
        weft.firewall.service.encoded_slice(body)
        weft.firewall.views.drill._slice_within_budget(names)
        weft.http.callers.caller(authorization) weft.http.callers.caller(host)
        weft.http.requests.body_of(content) weft.rederive.run._own(name)
        weft.router.tree._listed(root_name) weft.workers.dead_letters.parked_event(worker)
        weft.workers.dead_letters.parked_event(worker_version)
        weft.secrets.in_manifests._note(kind) weft.secrets.in_manifests._note(name)
        weft_schemas.events._undecodable(payload) weft_schemas.loosening.fields_of(path)
    """,
    "beside what another pattern matched, in the functions that are called": """
        weft.bodies.clean._strip(detail) weft.bodies.clean._strip(kind)
        weft.bodies.clean._strip(name) weft.bodies.clean._strip(text)
        weft.compiler.renditions.stub_line._outer(text)
        weft.firewall.text_forms._share(lines) weft.secrets.personal._addresses(data)
        weft.secrets.personal._span(name) weft.firewall.summarise.html._after_comment(text)
        weft.prompt_injection.requests.request_score(lowered)
        weft.memory.denials._is_denied(sentence)
        weft.memory.denials._is_hedged(sentence) weft.memory.denials._rest(sentence)
        weft.memory.denials._said_instead(statement)
        weft.memory.statements._is_own(sentence) weft.memory.statements.is_plain(sentence)
        weft.secrets.assigned._bare(data) weft.secrets.assigned._is_said_of_another(data)
        weft.secrets.assigned._quoted(data) weft.secrets.in_columns._between(data)
        weft.secrets.in_columns._inserted(data)
    """,
}
"""Why a parameter is given no made-up text: what else its function takes is not made here."""


@cache
def all_of() -> dict[str, Search]:
    """With the first test that asks: each process that collects the tests would call them all."""
    found: dict[str, Search] = {}
    for name, function in text_functions(ELSEWHERE):
        for parameter in texts_of(function):
            try:
                found[f"{name}({parameter})"] = work = work_of(function, parameter)
                work("a")
            except (Unmade, TypeError, AttributeError):
                found.pop(f"{name}({parameter})", None)
                MISSED.append(f"{name}({parameter})")
            except Exception:  # it refuses this text, in words or not
                continue
    return found


ENDS = count()
MISSED: list[str] = []


def test_functions_are_found() -> None:
    found = all_of()
    assert len(found) > 780
    assert sorted(MISSED) == sorted(" ".join(UNCALLED.values()).split())
    assert set(BOUNDED) <= set(found)
    assert {part_of(name) for name in found} <= set(PARTS)


def quietly(work: Search) -> Search:
    """With another end each time: much is remembered of a text that was read before."""

    def done(text: str) -> None:
        try:
            work(f"{text}{next(ENDS)}")
        except Exception:  # a refusal is an answer
            return

    return done


@pytest.mark.parametrize("part", PARTS)
def test_what_takes_text_is_linear(part: str) -> None:
    slow = []
    for name, found in all_of().items():
        if part_of(name) != part or name in BOUNDED:
            continue
        work = quietly(found)
        for unit in UNITS:
            text = unit * (SIZE // len(unit)) + "\x01"
            if seconds(work, text) < LONG:
                continue
            counted = calls(work, unit, SIZES)
            if counted > MORE_CALLS:
                counted = calls(work, unit, LARGER)
            if counted > QUADRATIC or growth(work, unit, LARGER) > QUADRATIC:
                slow.append((name, unit, counted))
    assert slow == []
