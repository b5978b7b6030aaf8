"""A prompt that held redacted items reproduces with what the hook showed, never with their text."""

from pathlib import Path

import pytest
from tests.audited import KEY, answer, call, envelope, recorded, turn

from weft.audit.history import fresh_model
from weft.audit.reproduce import SAME, reproduce
from weft.readmodel.model import records_of
from weft.redaction import ENTRY_POINTS, redaction_hook
from weft_schemas.errors import ConfigurationError
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, SensitivityAction

SECRET = "tulip-4711"
HOOK = """
class Initial:
    def __call__(self, text, sensitivity, row):
        return f"{text[0]}... ({sensitivity.value}, {row.kind.value})"
"""


@pytest.fixture
def initial_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A hook that an installed package offers."""
    (tmp_path / "initial.py").write_text(HOOK)
    described = tmp_path / "initial-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: initial\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\ninitial = initial:Initial\n")
    monkeypatch.syspath_prepend(tmp_path)
    redaction_hook.cache_clear()
    return "initial"


def session(hook: str):
    """A policy, then turns, a call and an enveloped result, all but the first turn confidential."""
    policy = ContextPolicy(sensitivity_action=SensitivityAction.REDACT, redaction_hook=hook)
    secret = Sensitivity.CONFIDENTIAL
    named = {"tool_name": "open", "call_id": "c1", "arguments": {"password": SECRET}}
    return records_of(
        [
            policy,
            turn("u1", "Open the safe."),
            ContextItem("u2", ItemKind.USER_TURN, f"It opens with {SECRET}.", sensitivity=secret),
            ContextItem(
                "c1", ItemKind.TOOL_CALL, f"open({SECRET})", "u2", sensitivity=secret,
                metadata=named,
            ),
            ContextItem("r1", ItemKind.TOOL_RESULT, "RAW", "c1", sensitivity=secret),
            envelope(5, "r1", f"the safe took {SECRET}"),
            call("c2", "u1", door="left"),
            answer("r2", "c2", "RAW"),
            envelope(8, "r2", "the left door is open"),
        ]
    )  # fmt: skip


def again(audit, records):
    model = fresh_model(records, records[-1].sequence, "o200k_base")
    try:
        return reproduce(audit, model.view("default", "session", audit.sequence), key=KEY)
    finally:
        model.close()


def check(hook: str, phase: Phase, shown: str) -> None:
    records = session(hook)
    pack, audit = recorded(records, 9, phase)
    assert shown in pack.prompt
    done = again(audit, records)
    assert SECRET not in done.prompt
    assert done.prompt == pack.prompt, done.reasons
    assert (done.identical, done.selection) == (True, SAME)


@pytest.mark.parametrize("phase", [Phase.INTERPRET, Phase.ANSWER])
def test_masked_items_reproduce_masked(phase: Phase) -> None:
    check("mask", phase, "[REDACTED: confidential]")


@pytest.mark.parametrize("phase", [Phase.INTERPRET, Phase.ANSWER])
def test_what_another_packages_hook_showed_reproduces(phase: Phase, initial_hook: str) -> None:
    check(initial_hook, phase, "I... (confidential, user_turn)")


def test_a_hook_that_is_not_installed_any_more_is_named(
    initial_hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = session(initial_hook)
    _, audit = recorded(records, 9)
    monkeypatch.undo()
    redaction_hook.cache_clear()
    with pytest.raises(ConfigurationError, match="'initial' is not installed"):
        again(audit, records)
