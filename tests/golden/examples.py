"""One full and one bare example of every event of version 1, as Structs.

`python -m tests.golden.examples` writes the bytes of examples that have no file yet; it never
writes over one, since released bytes must decode for ever.
"""

from pathlib import Path

import msgspec

from weft_schemas.compile import (
    CompileAudit,
    CompileRequest,
    ManifestEntry,
    PendingItem,
)
from weft_schemas.envelope import (
    ArtifactRef,
    CleanBody,
    ExtractedFact,
    Mask,
    ResultEnvelope,
    ResultStatus,
    Signal,
    View,
)
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    ErasedEvent,
    ErasingEvent,
    ErasureReceiptEvent,
    FactsEvent,
    MemoryFact,
    Origin,
    ParkedEvent,
    RevivedEvent,
    ScopeErasedEvent,
    SensitivityEvent,
    SessionClosedEvent,
    SummaryEvent,
)
from weft_schemas.grants import Grant, ScopeGrants
from weft_schemas.items import BodyRef, ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import (
    ContextBudget,
    ContextPolicy,
    FirewallRules,
    Phase,
    PhaseRule,
    PiiAction,
    SelectionRules,
    SensitivityAction,
    ToolRule,
)
from weft_schemas.routing import Catalog, SelectableItem, SelectableKind

FOLDER = Path(__file__).parent / "v1"

BODY = BodyRef("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 300_000)
ORIGIN = Origin(17, "call-1/result", "firewall", "3", policy_version=4, run="r2")

RELEASED = SelectionRules(duplicate_threshold=0.85)
"""As policies were written until its last field was left out of new ones."""

EXAMPLES: dict[str, msgspec.Struct] = {
    "item.full": ContextItem(
        "D1:3 ü/€\n𝄞",
        ItemKind.TOOL_CALL,
        'search({"q":"\\u00e9 <b>"})\t\x7f',
        parent_id="m2",
        token_estimate=12,
        sensitivity=Sensitivity.INTERNAL,
        metadata={
            "tool_name": "search",
            "call_id": "call_1",
            "arguments": {"q": "é", "n": [1, -2.5, 1e300, None, True], "deep": {"z": 1, "a": 2}},
            "turn_id": "m2",
            "author": "planner",
            "occurred_at": "2026-01-02T03:04:05.678Z",
            "scope": "user:42",
            "content_type": "text/plain",
            "is_error": False,
            "own": "kept",
        },
    ),
    "item.body": ContextItem("big", ItemKind.TOOL_RESULT, parent_id="c", body=BODY),
    "item.bare": ContextItem("a", ItemKind.USER_TURN, "hello"),
    "envelope.full": EnvelopeEvent(
        ORIGIN,
        ResultEnvelope(
            "2 rows: id, name",
            status=ResultStatus.PARTIAL,
            facts=(ExtractedFact("rows[0].id", "7", "call-1/result"),),
            artifacts=(ArtifactRef("art:abcdefghij", "text/csv", 300_000, BODY),),
            views=(View("rows", "rows 0..1"), View("head")),
            content_type="text/csv",
            passthrough=False,
            raw_size=300_000,
            raw_tokens=90_000,
            summary_tokens=9,
            tokens_saved=89_991,
            sensitivity=Sensitivity.CONFIDENTIAL,
            signals=(Signal("secret", "aws_access_key", 2, "key 5f3a"),),
            firewall_version="3",
            encoding="cl100k_base",
        ),
    ),
    "envelope.clean": EnvelopeEvent(
        ORIGIN,
        ResultEnvelope(
            "2 rows: id, name",
            clean=CleanBody(
                normalised=True,
                masks=(Mask(3, 23, "[secret:aws_access_key:5f3a9c01]"), Mask(40, 41, "")),
                characters=1_204,
                tokens=310,
                digest="9f86d081884c7d65",
            ),
        ),
    ),
    "envelope.complete": EnvelopeEvent(ORIGIN, ResultEnvelope("ok", complete=True)),
    "envelope.bare": EnvelopeEvent(Origin(1), ResultEnvelope("ok")),
    "summary.full": SummaryEvent(
        Origin(9, "m4", "summarizer", "1", 2),
        "Asked for a refund.",
        5,
        "cl100k_base",
        Sensitivity.INTERNAL,
        "small-model",
    ),
    "sensitivity.full": SensitivityEvent(
        Origin(9, "m4", "classifier", "1", 2), Sensitivity.CONFIDENTIAL
    ),
    "fact.full": FactsEvent(
        Origin(9, "m4", "memory", "1"),
        "user:42",
        (MemoryFact("user_timezone", "UTC", ("m4", "m1"), Sensitivity.INTERNAL),),
    ),
    "fact.bare": FactsEvent(Origin(9), "session:s1", ()),
    "episode.full": EpisodeEvent(
        Origin(40, "", "memory", "1"),
        "ep-s1-40",
        "session:s1",
        "Booked a flight.",
        4,
        "o200k_base",
        first_sequence=3,
        last_sequence=40,
        sources=("m1", "m9"),
        sensitivity=Sensitivity.RESTRICTED,
    ),
    "session_closed.full": SessionClosedEvent(40, "idle"),
    "session_closed.bare": SessionClosedEvent(),
    "parked.full": ParkedEvent(
        Origin(5, "x", "firewall", "1"), "invalid_input", "event is not JSON", 6
    ),
    "revived.full": RevivedEvent(Origin(5, "x", "firewall", "1"), drop=True),
    "erased.full": ErasedEvent("s1", "asked for by the user"),
    "erased.tenant": ErasedEvent(None),
    "erased.counted": ErasedEvent("s1", events=7),
    "erasing.full": ErasingEvent(50, ((3, 9), (12, 12))),
    "erasure_receipt.full": ErasureReceiptEvent(
        "s1", 50, {"events": 49, "objects": 1}, ("backups older than today",)
    ),
    "context_policy.full": ContextPolicy(
        "strict",
        session="s1",
        budgets=ContextBudget(1, 2, 3, 4),
        phases={Phase.CALL: PhaseRule((ItemKind.USER_TURN,), {ItemKind.USER_TURN: 2.5}, {})},
        sensitivity_floor=Sensitivity.INTERNAL,
        sensitivity_action=SensitivityAction.REDACT,
        redaction_hook="mask",
        selection=RELEASED,
        firewall=FirewallRules(
            threshold=100,
            pii=PiiAction.RAISE,
            tools=(ToolRule("get_*", ("a[].b",), 50, False, True, Sensitivity.INTERNAL),),
        ),
    ),
    "context_policy.show": ContextPolicy(
        selection=RELEASED,
        firewall=FirewallRules(
            tools=(ToolRule("hr.*", always_store=False, show="always_summary"),), show="up_to:4000"
        ),
    ),
    "context_policy.rule": ContextPolicy(
        selection=RELEASED, firewall=FirewallRules(tools=(ToolRule("hr.*", threshold=50),))
    ),
    "context_policy.bare": ContextPolicy(selection=RELEASED),
    "context_policy.selection": ContextPolicy(selection=SelectionRules(recent=50)),
    "scope_grants.full": ScopeGrants(
        (Grant("", ("project:*",)), Grant("u*", ("user:{principal}", "team:blue")))
    ),
    "scope_grants.bare": ScopeGrants(),
    "scope_erased.full": ScopeErasedEvent("user:42", "asked for", (7, 9)),
    "erasure_receipt.scope": ErasureReceiptEvent(None, 9, {"items": 2}, ("backups",), scope="u"),
    "catalog.full": Catalog(
        "default",
        (
            SelectableItem(
                "t1",
                "send",
                "Sends mail.",
                SelectableKind.SKILL,
                ("mail",),
                "office.mail",
                side_effects=True,
                cost_hint=1.5,
                args_schema={"type": "object", "properties": {"to": {"type": "string"}}},
                examples=("send it to Ann",),
                requires=("t0",),
            ),
            SelectableItem("t2", "read"),
        ),
    ),
    "compiled.full": CompileAudit(
        "cmp-1",
        "acme",
        "s1",
        CompileRequest(Phase.ANSWER, "when?", 2000, after=17),
        17,
        4,
        (ManifestEntry("a", 3, 5, "envelope", "00ff"),),
        "ab" * 32,
        "1",
        "0.1.0",
        "cl100k_base",
        (PendingItem("b", 16),),
    ),
}

if __name__ == "__main__":
    encode = msgspec.json.Encoder(order="deterministic").encode
    FOLDER.mkdir(exist_ok=True)
    for name, example in EXAMPLES.items():
        path = FOLDER / f"{name}.json"
        if not path.exists():
            path.write_bytes(encode(example))
