"""Real sessions, compiled at every few events for every phase and at tight budgets, render again
byte for byte from the log as it is later."""

from itertools import product

import msgspec
import pytest
from tests.audited import KEY
from tests.data import DATA, needs_data

from weft.audit.history import fresh_model
from weft.audit.reproduce import SAME, reproduce
from weft.compiler.compile import compile_pack
from weft.firewall.derive import envelope_for
from weft.log.record import LogRecord
from weft.messages.writing import PROVIDERS, request
from weft.readmodel.model import records_of
from weft_eval.transcripts import read_labelled
from weft_schemas.compile import CompileAudit, CompileRequest
from weft_schemas.events import Event, Origin
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, SensitivityAction

FILES = {"taubench/gpt-4o-airline.json": 4, "livemcpbench/trajectories_claude-sonnet-4.json": 2}
"""Sessions of each; those of the second are several times longer."""
EVERY = 13
"""Events between two compiles: odd, so that they meet every step of a turn."""


def logged(items) -> list[LogRecord]:
    """A session's items, each result followed by its envelope."""
    events: list[Event] = []
    for item in items:
        events.append(item)
        if item.kind is ItemKind.TOOL_RESULT:
            origin = Origin(len(events), item.id, "firewall", "1")
            rules = ContextPolicy().firewall
            envelope = envelope_for(
                item, item.text, origin=origin, rules=rules, fingerprint_key=KEY,
                encoding="o200k_base", tenant="default", session="session",
            )  # fmt: skip
            events.append(envelope)
    return records_of(events)


@needs_data
@pytest.mark.parametrize(("file", "sessions"), FILES.items())
def test_every_compile_of_a_real_session_reproduces(file: str, sessions: int) -> None:
    count = 0
    for transcript in read_labelled(DATA / file)[:sessions]:
        records = logged(transcript.items)
        model = fresh_model(records, len(records), "o200k_base")
        for at in range(1, len(records) + 1, EVERY):
            for phase, budget in product(Phase, (150, 700, None)):
                view = model.view("default", "session", at)
                request = CompileRequest(phase, budget=budget)
                audit = compile_pack(view, request, key=KEY).audit
                stored = msgspec.json.decode(msgspec.json.encode(audit), type=CompileAudit)
                again = reproduce(stored, model.view("default", "session", at), key=KEY)
                assert again.identical, (transcript.name, at, phase, budget, again.reasons)
                assert again.selection == SAME, again.selection_reasons
                count += 1
        model.close()
    assert count > 100


@needs_data
@pytest.mark.parametrize("file", FILES)
def test_prompts_that_grow_from_each_other_reproduce(file: str) -> None:
    transcript = read_labelled(DATA / file)[0]
    records = logged(transcript.items)
    model = fresh_model(records, len(records), "o200k_base")
    base: CompileAudit | None = None
    for at in range(1, len(records) + 1, 5):
        view = model.view("default", "session", at)
        request = CompileRequest(Phase.ANSWER, budget=700, stable_from=base.id if base else None)
        audit = compile_pack(view, request, key=KEY, base=base).audit
        again = reproduce(audit, model.view("default", "session", at), key=KEY, base=base)
        assert again.identical, (at, again.reasons)
        assert again.selection == SAME
        base = audit
    model.close()


@needs_data
def test_with_a_third_of_its_items_redacted_it_reproduces_as_well() -> None:
    policy = ContextPolicy(sensitivity_action=SensitivityAction.REDACT)
    for transcript in read_labelled(DATA / "taubench/gpt-4o-airline.json")[:3]:
        items = [
            msgspec.structs.replace(item, sensitivity=Sensitivity.RESTRICTED)
            if at % 3 == 0
            else item
            for at, item in enumerate(transcript.items)
        ]
        records = logged(items)
        model = fresh_model(records, len(records), "o200k_base")
        redacted = 0
        for at, phase in product(range(1, len(records) + 1, EVERY), Phase):
            request = CompileRequest(phase, budget=900, policy=policy)
            audit = compile_pack(model.view("default", "session", at), request, key=KEY).audit
            again = reproduce(audit, model.view("default", "session", at), key=KEY)
            assert again.identical, (transcript.name, at, phase, again.reasons)
            redacted += sum(one.view == "redacted" for one in audit.manifest)
        assert redacted > 10
        model.close()


@needs_data
@pytest.mark.parametrize(("file", "sessions"), FILES.items())
def test_the_messages_of_every_provider_reproduce(file: str, sessions: int) -> None:
    """From the selection, if it is the same, and else from the blocks that the record names."""
    count = 0
    for transcript in read_labelled(DATA / file)[:sessions]:
        records = logged(transcript.items)
        model = fresh_model(records, len(records), "o200k_base")
        for at in range(1, len(records) + 1, 3 * EVERY):
            for phase, budget in product((Phase.CALL, Phase.ANSWER), (300, None)):
                view = model.view("default", "session", at)
                made = compile_pack(view, CompileRequest(phase, budget=budget), key=KEY)
                older = msgspec.structs.replace(made.audit, code_version="0")
                for audit in (made.audit, older):
                    again = reproduce(audit, model.view("default", "session", at), key=KEY)
                    for provider in PROVIDERS:
                        then = request(made.pack, provider)
                        now = again.request(provider)
                        assert msgspec.json.encode(now) == msgspec.json.encode(then)
                        count += 1
        model.close()
    assert count > 40
