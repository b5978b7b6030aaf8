"""Rendering a recorded compile again: the same bytes from the log, or exactly why not."""

import msgspec
import pytest
from tests.audited import KEY, call, envelope, log_of, recorded, turn

from weft.audit.history import fresh_model
from weft.audit.missing_records import MissingRecords
from weft.audit.reproduce import NOT_RUN, OTHER, SAME, Reproduction, reproduce
from weft.compiler.pack import CODE_VERSION
from weft.messages.writing import PROVIDERS, request
from weft_schemas.compile import CompileAudit
from weft_schemas.errors import InvalidInput
from weft_schemas.events import ErasedEvent, FactsEvent, MemoryFact, Origin
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy, MemoryRules, Phase
from weft_schemas.reasoning import METADATA


def again(
    audit: CompileAudit, records, key: bytes = KEY, gone: MissingRecords | None = None
) -> Reproduction:
    model = fresh_model(records, records[-1].sequence, "o200k_base")
    try:
        view = model.view("default", "session", audit.sequence)
        return reproduce(audit, view, key=key, gone=gone)
    finally:
        model.close()


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("budget", [60, 120, 4_000])
def test_the_prompt_is_rendered_again_byte_for_byte(phase, budget):
    later = log_of(turn("u3", "And now something else."), envelope(3, "r1", "other", "firewall/2"))
    pack, audit = recorded(log_of(), 5, phase, budget=budget, query="open invoice")
    done = again(audit, later)
    assert done.identical, done.reasons
    assert done.prompt == pack.prompt
    assert done.selection == SAME, done.selection_reasons


def test_a_compile_made_while_a_result_was_pending_reproduces():
    pack, audit = recorded(log_of(), 3)
    assert [item.item_id for item in pack.pending] == ["r1"]
    done = again(audit, log_of())
    assert done.identical
    assert done.selection == SAME
    assert "INV-4711" not in done.prompt


def with_reasoning(text: str = "Which invoices are open?") -> list[ContextItem]:
    """A user's turn, and a call with what Anthropic wants back before it."""
    block = {"type": "thinking", "thinking": text, "signature": "c2lnbmVk" * 4}
    made = call("c2", "u3", customer="C-78")
    held = {**made.metadata, METADATA: {"format": "anthropic", "before": [block]}}
    return [turn("u3", "And of Bob?"), msgspec.structs.replace(made, metadata=held)]


@pytest.mark.parametrize("code", [CODE_VERSION, "0"])
@pytest.mark.parametrize("text", ["Which invoices are open?", "Hm. " * 4_000])
def test_reasoning_goes_back_as_it_did_or_is_withheld_as_it_was(code: str, text: str) -> None:
    """Also if another release selected, and the record alone says what was shown."""
    records = log_of(*with_reasoning(text))
    pack, audit = recorded(records, len(records), Phase.CALL)
    done = again(msgspec.structs.replace(audit, code_version=code), records)
    for provider in PROVIDERS:
        then, now = request(pack, provider), done.request(provider)
        assert msgspec.json.encode(now) == msgspec.json.encode(then)
    assert ("c2lnbmVk" in repr(done.request("anthropic"))) == (len(text) < 100)


def test_there_are_no_messages_where_there_were_none_or_nothing_is_left() -> None:
    pack, audit = recorded(log_of(), 5, budget=1)
    with pytest.raises(InvalidInput) as then:
        request(pack, "openai")
    done = again(audit, log_of())
    with pytest.raises(InvalidInput) as now:
        done.request("openai")
    assert str(now.value) == str(then.value)
    _, audit = recorded(log_of(), 5)
    erased = again(audit, log_of(), gone=MissingRecords(tombstone=6))
    with pytest.raises(InvalidInput, match="'session' was erased by event 6"):
        erased.request("openai")


@pytest.mark.parametrize("budget", [120, 4_000])
def test_a_prompt_that_kept_another_as_its_prefix_reproduces(budget):
    records = log_of(turn("u3", "And what is due next?"))
    _, first = recorded(records, 3, budget=budget)
    pack, second = recorded(records, 6, base=first, budget=budget)
    model = fresh_model(records, 6, "o200k_base")
    done = reproduce(second, model.view("default", "session", 6), key=KEY, base=first)
    model.close()
    assert done.identical, done.reasons
    assert (done.prompt, done.selection) == (pack.prompt, SAME)


def test_the_manifest_decides_and_not_the_selection():
    pack, audit = recorded(log_of(), 5)
    fewer = tuple(one for one in audit.manifest if one.item_id != "u2")
    done = again(msgspec.structs.replace(audit, manifest=fewer), log_of())
    assert "Pay INV-4711" in pack.prompt
    assert "Pay INV-4711" not in done.prompt
    assert not done.identical
    assert done.selection == OTHER
    assert "'u2' is selected now" in done.selection_reasons


def test_a_selection_under_another_key_names_what_differs_and_no_view_against_itself():
    _, audit = recorded(log_of(), 5)
    done = again(audit, log_of(), key=b"another key of the tests")
    assert done.selection == OTHER
    assert done.selection_reasons == ("'r1' reads otherwise in view 'summary'",)


def test_the_manifest_decides_on_the_header_too():
    facts = (MemoryFact("city", "Oslo", ("u1",)), MemoryFact("plan", "gold", ("u1",)))
    records = log_of(FactsEvent(Origin(1, worker="memory"), "session:session", facts))
    narrow = ContextPolicy(memory=MemoryRules(fact_tokens=22))
    pack, audit = recorded(records, 6, policy=narrow)
    assert ("city=Oslo" in pack.prompt) != ("plan=gold" in pack.prompt)
    wider = msgspec.structs.replace(audit.request, policy=ContextPolicy())
    done = again(msgspec.structs.replace(audit, request=wider, code_version="0"), records)
    assert done.identical, done.reasons


def test_another_key_is_named_as_the_reason():
    _, audit = recorded(log_of(), 5)
    done = again(audit, log_of(), key=b"other")
    assert not done.identical
    assert "WEFT_FINGERPRINT_KEY" in done.reasons[0]


def test_a_missing_event_is_named_with_what_happened_to_it():
    _, audit = recorded(log_of(), 5)
    without_r1 = [record for record in log_of() if record.sequence not in (3, 4)]
    assert "'r1' (event 3): the log does not hold it" in again(audit, without_r1).reasons[0]
    trimmed = again(audit, without_r1, gone=MissingRecords(trimmed=5))
    assert "begins at 5" in trimmed.reasons[0]


def test_a_missing_envelope_is_named():
    _, audit = recorded(log_of(), 5)
    without = [record for record in log_of() if record.sequence != 4]
    assert "its text was that of event 4" in again(audit, without).reasons[0]


def test_an_erased_session_is_not_rendered_again():
    _, audit = recorded(log_of(), 5)
    done = again(audit, log_of(ErasedEvent("session")), gone=MissingRecords(tombstone=6))
    assert done.prompt == ""
    assert done.reasons == ("session 'session' was erased by event 6",)


@pytest.mark.parametrize("view", ["whole", "envelope", "shortened 0-3", "head 12"])
def test_a_pack_of_the_first_renderings_says_that_it_needs_its_release(view):
    _, audit = recorded(log_of(), 5)
    items = [one for one in audit.manifest if one.item_id]
    manifest = tuple(msgspec.structs.replace(one, view=view) for one in items)
    old = msgspec.structs.replace(
        audit, manifest=manifest, render_version="2", code_version="8", digest="0" * 64
    )
    done = again(old, log_of())
    assert not done.identical
    assert "use a release that renders 2" in done.reasons[0]


def test_another_release_renders_but_does_not_select():
    _, audit = recorded(log_of(), 5)
    old = msgspec.structs.replace(audit, code_version="0")
    done = again(old, log_of())
    assert done.identical
    assert done.selection == NOT_RUN
    newer = msgspec.structs.replace(audit, render_version="99", digest="0" * 64)
    assert "use a release that renders 99" in again(newer, log_of()).reasons[0]
