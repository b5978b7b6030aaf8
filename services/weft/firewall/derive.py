"""The firewall's one step: an untrusted item and its body in, its ResultEnvelope out. Pure, bounded
in time and memory whatever the body holds, and it never raises because of it."""

from __future__ import annotations

from weft import tokens
from weft.firewall.body import Body, Window, window
from weft.firewall.bounds import Bounds
from weft.firewall.clean import clean
from weft.firewall.detect import Detected, Form, detect
from weft.firewall.facts import facts_of_code, facts_of_rows, facts_of_text, facts_of_value
from weft.firewall.scan import scan
from weft.firewall.status import status_of
from weft.firewall.summarise import summarise
from weft.firewall.summarise.budget import Budget
from weft.firewall.tables import read_table
from weft.firewall.toolrules import rule_for, steps_of
from weft.firewall.unwrap import Unwrapped, unwrap
from weft_schemas.envelope import (
    ArtifactRef,
    ExtractedFact,
    ResultEnvelope,
    ResultStatus,
    Signal,
    View,
)
from weft_schemas.events import EnvelopeEvent, Origin
from weft_schemas.ids import artifact_handle
from weft_schemas.items import ContextItem, Sensitivity
from weft_schemas.policy import FirewallRules, ToolRule

FIREWALL_VERSION = "1"
"""Rises with every change of what an envelope holds."""


def envelope_for(
    item: ContextItem,
    body: Body,
    *,
    origin: Origin,
    rules: FirewallRules,
    fingerprint_key: bytes,
    encoding: str,
    tenant: str,
    session: str,
    limits: Bounds = Bounds(),  # noqa: B008 - an immutable value
) -> EnvelopeEvent:
    """The envelope of `item`, whose raw result is `body` (text, bytes, or a file's path).

    `fingerprint_key` keys the fingerprints of secrets and comes from the deployment's settings,
    never from the log. `encoding` names the encoding of all token counts. Raises `OSError` where
    `body` is a path that cannot be read, and nothing else.
    """
    taken = window(body, limits.analyse_bytes)
    cleaned = clean(taken.data)
    scanned = scan(cleaned.text, rules, fingerprint_key, limits.matches)
    reserved = item.reserved
    rule = rule_for(rules, reserved.tool_name)
    counted = _raw_tokens(cleaned.text, taken, encoding, limits)
    threshold = rules.threshold if rule is None or rule.threshold is None else rule.threshold
    small = counted <= threshold or (rule is not None and rule.passthrough)
    whole = small and taken.whole and taken.size <= limits.whole_bytes

    inside = unwrap(scanned.text, limits.depth)
    text, hint = _inner(scanned.text, inside), reserved.content_type
    detected = detect(text, hint)
    if inside is not None and inside.value is not None:
        detected = Detected(Form.JSON, inside.value)
    if whole:
        summary = scanned.text
        summary_tokens = counted if summary == cleaned.text else tokens.count(summary, encoding)
    else:
        budget = Budget(rules.summary_tokens, encoding)
        summary = budget.cut(summarise(text, detected, budget, _keep(rule)))
        summary_tokens = tokens.count(summary, encoding)
    handle = artifact_handle(tenant, session, item.id)
    envelope = ResultEnvelope(
        summary=summary,
        status=_status(text, detected, inside, reserved.is_error, taken),
        facts=_facts(text, detected, item.id, rules.max_facts),
        artifacts=(ArtifactRef(handle, str(detected.form), taken.size, item.body),),
        views=(View("head"), View("tail"), View("lines"), View("search")),
        content_type=str(detected.form),
        passthrough=whole and not cleaned.changed,
        raw_size=taken.size,
        raw_tokens=counted,
        summary_tokens=summary_tokens,
        tokens_saved=max(0, counted - summary_tokens),
        sensitivity=_sensitivity(item, rule, scanned.sensitivity),
        signals=cleaned.signals + scanned.signals + _bounded(taken, small, whole),
        firewall_version=FIREWALL_VERSION,
        encoding=encoding,
    )
    return EnvelopeEvent(origin, envelope)


def _raw_tokens(text: str, taken: Window, encoding: str, limits: Bounds) -> int:
    """Exact up to the bound, above it extrapolated from the part that was counted."""
    if taken.size <= limits.count_bytes:
        return tokens.count(text, encoding)
    part = text[: limits.count_bytes]
    size = len(part.encode()) or 1
    return max(1, tokens.count(part, encoding) * taken.size // size)


def _inner(text: str, inside: Unwrapped | None) -> str:
    if inside is None:
        return text
    return "\n".join((*inside.texts, *inside.other))


def _keep(rule: ToolRule | None) -> list[tuple[str | int, ...]]:
    return [steps_of(path) for path in rule.keep] if rule is not None else []


def _facts(text: str, detected: Detected, source: str, limit: int) -> tuple[ExtractedFact, ...]:
    if detected.value is not None:
        return tuple(facts_of_value(detected.value, source, limit))
    if detected.form in (Form.CSV, Form.TSV, Form.TABLE):
        table = read_table(text, detected.form, 200)
        return tuple(facts_of_rows(table.header, table.rows, source, limit))
    if detected.form is Form.CODE:
        return tuple(facts_of_code(text, source, limit))
    return tuple(facts_of_text(text, source, limit))


def _status(
    text: str, detected: Detected, inside: Unwrapped | None, told: bool | None, taken: Window
) -> ResultStatus:
    is_error = told if told is not None else inside.is_error if inside is not None else None
    status = status_of(text, detected.value, is_error)
    if status is ResultStatus.SUCCESS and not (taken.whole and detected.complete):
        return ResultStatus.PARTIAL
    return status


def _sensitivity(item: ContextItem, rule: ToolRule | None, found: Sensitivity) -> Sensitivity:
    level = item.sensitivity.raised_to(found)
    return level.raised_to(rule.sensitivity) if rule and rule.sensitivity else level


def _bounded(taken: Window, small: bool, whole: bool) -> tuple[Signal, ...]:
    if not taken.whole:
        seen = f"{len(taken.data)} of {taken.size} bytes were looked at"
        return (Signal("bounded", "size", 1, seen),)
    if small and not whole:
        return (Signal("bounded", "whole", 1, "too large to pass whole; summarised"),)
    return ()
