"""The one step of the firewall: from an untrusted item and its body to its ResultEnvelope. It is
pure, its time and memory are bounded whatever the body contains, and it never raises because of the
body."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from weft import tokens
from weft.bodies.clean import Cleaned, clean
from weft.bodies.masking import digest_of
from weft.firewall.body import Body, Window, window
from weft.firewall.bounds import Bounds
from weft.firewall.detect import Detected, detect
from weft.firewall.embedded_text import EmbeddedText, embedded_text
from weft.firewall.facts import facts_of
from weft.firewall.form import Form
from weft.firewall.guards import Scanned, scan
from weft.firewall.json_leaves import LeafPath
from weft.firewall.result_status import has_verdict, status_of
from weft.firewall.rule_paths import steps_of
from weft.firewall.slice_hmac import proved_level
from weft.firewall.summarise import summarise
from weft.firewall.summarise.binary import binary_type, summarise_binary
from weft.firewall.summarise.budget import Budget
from weft.firewall.summarise.compared import Compared, compared
from weft.firewall.unwrap import UnwrappedResult, unwrap
from weft.firewall.views import registry
from weft.secrets.deployment_rules import deployment_rules
from weft.secrets.scanning import without_secrets
from weft_schemas.envelope import (
    ArtifactRef,
    CleanBody,
    ExtractedFact,
    ResultEnvelope,
    ResultStatus,
    Signal,
    View,
)
from weft_schemas.events import EnvelopeEvent, Origin
from weft_schemas.ids import artifact_handle, handle_key
from weft_schemas.items import ContextItem, ReservedMetadata, Sensitivity
from weft_schemas.policy import FirewallRules, ToolRule, rule_for, shown_up_to

FIREWALL_VERSION = "25"
"""Raised with every change of what an envelope contains."""


class _EnvelopeInput(msgspec.Struct, frozen=True):
    """The rules and limits for one envelope."""

    item: ContextItem
    reserved: ReservedMetadata
    rules: FirewallRules
    rule: ToolRule | None
    key: bytes
    encoding: str
    limits: Bounds
    proved_level: Sensitivity | None
    """The level of the source, if this is provably a slice of it."""


class _ScannedBody(msgspec.Struct, frozen=True):
    """A body after the guards have run."""

    taken: Window
    cleaned: Cleaned
    scanned: Scanned
    text: str
    """The tool's output without a container around it."""
    detected: Detected
    inside: UnwrappedResult | None
    held: EmbeddedText | None
    """Set if the text is the value of a field."""


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
    """The envelope of `item`, whose raw result is `body` (text, bytes, or the path of a file).

    `fingerprint_key` keys the handle and the fingerprints of secrets. It comes from the
    deployment's settings, never from the log. `encoding` names the encoding of all token counts.
    Raises `OSError` if `body` is a path that cannot be read, and nothing else.
    """
    reserved = item.reserved
    rule = rule_for(rules, reserved.tool_name)
    level = proved_level(fingerprint_key, tenant, item)
    task = _EnvelopeInput(item, reserved, rules, rule, fingerprint_key, encoding, limits, level)
    taken = window(body, limits.analyse_bytes)
    mime = binary_type(taken.data)
    envelope = _of_binary(task, taken, mime) if mime is not None else _of_text(task, taken)
    handle = artifact_handle(tenant, session, item.id, handle_key(fingerprint_key))
    views = _views_of(envelope.content_type) if mime is None else ()
    complete = msgspec.structs.replace(
        envelope,
        artifacts=(ArtifactRef(handle, envelope.content_type, taken.size, item.body),),
        views=views,
        raw_size=taken.size,
        tokens_saved=max(0, envelope.raw_tokens - envelope.summary_tokens),
        sensitivity=_sensitivity(task, envelope.sensitivity),
        firewall_version=FIREWALL_VERSION,
        encoding=encoding,
    )
    return EnvelopeEvent(origin, complete)


@lru_cache(maxsize=64)
def _views_of(content_type: str) -> tuple[View, ...]:
    return tuple(view.view for view in registry().of(content_type).values())


def _of_text(task: _EnvelopeInput, taken: Window) -> ResultEnvelope:
    read = _read(task, taken)
    raw_tokens = _tokens_of(task, read.cleaned.text, taken.size)
    once = _tokens_once(task, read, raw_tokens)
    small = _passes(task) or raw_tokens <= _threshold(task)
    whole = small and taken.whole and taken.size <= task.limits.whole_bytes
    if whole and taken.size > task.limits.count_bytes:
        raw_tokens = tokens.count(read.cleaned.text, task.encoding)  # no estimate of what is shown
        once = _tokens_once(task, read, raw_tokens)
    found = None if whole else compared(read.text, read.detected, _kept(task))
    summary = read.scanned.text if found is None else _summary(task, read, found)
    counted = whole and summary is read.cleaned.text
    return ResultEnvelope(
        summary=summary,
        status=_status(task, read),
        facts=_facts(task, read, found),
        content_type=str(read.detected.form),
        passthrough=whole and not read.cleaned.changed,
        raw_tokens=once,
        summary_tokens=raw_tokens if counted else tokens.count(summary, task.encoding),
        sensitivity=read.scanned.sensitivity,
        signals=read.cleaned.signals + read.scanned.signals + _bounded(task, read, small, whole),
        complete=whole,
        clean=None if whole else _clean_body(task, read, raw_tokens),
    )


def _clean_body(task: _EnvelopeInput, read: _ScannedBody, raw_tokens: int) -> CleanBody | None:
    """How to make the clean text from the body, in the log or in the object store. None if it may
    not be shown, if it was not read whole, or if more is masked in it than an event holds."""
    if not read.taken.whole or _max_shown_tokens(task) == 0:
        return None
    if _is_masked_too_often(task, read):
        return None
    text, masks = read.scanned.text, read.scanned.masks
    counted = _tokens_of(task, text, len(text.encode())) if masks else raw_tokens
    return CleanBody(read.cleaned.changed, masks, len(text), counted, digest_of(text))


def _of_binary(task: _EnvelopeInput, taken: Window, mime: str) -> ResultEnvelope:
    budget = Budget(task.rules.summary_tokens, task.encoding)
    summary = budget.cut(summarise_binary(taken.data, mime, taken.size))
    return ResultEnvelope(
        summary=summary,
        status=ResultStatus.ERROR if task.reserved.is_error else ResultStatus.SUCCESS,
        content_type=mime,
        raw_tokens=taken.size // _BYTES_PER_TOKEN,
        summary_tokens=budget.count(summary),
    )


_BYTES_PER_TOKEN = 2
"""Tokens of bytes that are not text, which no tokenizer counts: about what their base64 would
take."""


def _read(task: _EnvelopeInput, taken: Window) -> _ScannedBody:
    cleaned = clean(taken.data)
    scanned = scan(cleaned.text, task.rules, task.key, task.limits.matches, taken.data)
    inside = unwrap(scanned.text, task.limits.depth)
    text = scanned.text if inside is None else "\n".join((*inside.texts, *inside.other))
    has_gap = not taken.whole and inside is None
    held = _embedded_text(task, text) if inside is None or inside.structured is None else None
    if held is not None:
        detected = detect(held.text)
        return _ScannedBody(taken, cleaned, scanned, held.text, detected, inside, held)
    detected = detect(text, task.reserved.content_type, not has_gap)
    if inside is not None and inside.structured is not None:
        detected = Detected(Form.JSON, inside.structured)
    return _ScannedBody(taken, cleaned, scanned, text, detected, inside, None)


def _embedded_text(task: _EnvelopeInput, text: str) -> EmbeddedText | None:
    return embedded_text(text, _kept(task))


def _tokens_of(task: _EnvelopeInput, text: str, size: int) -> int:
    """Tokens of `text`, which represents `size` bytes: exact up to the bound, above it extrapolated
    from samples spread evenly over the text."""
    bound = task.limits.count_bytes
    if size <= bound:
        return tokens.count(text, task.encoding)
    step, sample = max(1, len(text) // _SAMPLES), bound // _SAMPLES
    part = "".join(text[index * step : index * step + sample] for index in range(_SAMPLES))
    return max(1, tokens.count(part, task.encoding) * size // (len(part.encode()) or 1))


def _tokens_once(task: _EnvelopeInput, read: _ScannedBody, raw_tokens: int) -> int:
    """Tokens of a body that says its text twice, as text and as structured content, with the text
    counted once; `raw_tokens` of any other."""
    if read.inside is None or not read.inside.repeats:
        return raw_tokens
    said = "\n".join(read.inside.texts)
    return min(raw_tokens, _tokens_of(task, said, len(said.encode())))


_SAMPLES = 8
"""Size of the samples whose tokens are counted in a long text: large enough for its parts to
differ in kind. The estimate was within 1 % of the exact count on generated texts of 200 KB of
every form."""


def _passes(task: _EnvelopeInput) -> bool:
    """Whether it is shown unsummarised at any length: because of a rule, or because it is a slice,
    which somebody requested instead of a summary."""
    return task.proved_level is not None or (task.rule is not None and task.rule.passthrough)


def _threshold(task: _EnvelopeInput) -> int:
    """A result of at most this many tokens passes whole: 0 if only a summary may ever be shown, and
    never more than may be shown."""
    own = task.rule.threshold if task.rule is not None else None
    threshold = task.rules.threshold if own is None else own
    most = _max_shown_tokens(task)
    if most is None:
        return threshold
    return min(threshold, most) if most > 0 else -1


def _max_shown_tokens(task: _EnvelopeInput) -> int | None:
    return shown_up_to(task.rules, task.reserved.tool_name)


def _kept(task: _EnvelopeInput) -> list[LeafPath]:
    return [steps_of(path) for path in task.rule.keep] if task.rule is not None else []


def _summary(task: _EnvelopeInput, read: _ScannedBody, found: Compared) -> str:
    """The summary, at most as long as the cap. It is scanned once more, since a name and its value
    may only be adjacent in a summary."""
    budget = Budget(task.rules.summary_tokens, task.encoding)
    unread = _unread_part(read)
    note = f"… {unread} …\n" if unread and read.detected.value is None else ""
    note += read.held.heading if read.held is not None else ""
    left = Budget(max(0, budget.limit - budget.count(note)), budget.encoding) if note else budget
    text = note + summarise(read.text, read.detected, left, _kept(task), unread, found)
    shown = _masked(task, text)
    return shown if shown is text and budget.fits(shown) else budget.cut(shown)


def _unread_part(read: _ScannedBody) -> str:
    """What the summary says of a body that was not read to its end; empty for any other."""
    taken, until = read.taken, read.detected.read
    if not taken.whole and until is not None:
        return f"{until} characters of {taken.size} bytes were read: the beginning"
    if not taken.whole:
        return f"{len(taken.data)} of {taken.size} bytes were read: both ends"
    if until is not None and until < len(read.text.strip()):
        return f"{until} of {len(read.text)} characters were read: the beginning"
    return "the text was cut off; this is what could be read of it" if until is not None else ""


def _facts(
    task: _EnvelopeInput, read: _ScannedBody, found: Compared | None
) -> tuple[ExtractedFact, ...]:
    if task.rules.max_facts == 0:
        return ()
    facts = facts_of(read.text, read.detected, found, task.item.id, task.rules.max_facts)
    if read.held is not None:
        facts = _with_others(facts, read.held, task)
    if not read.inside and not read.held and "\\u" not in read.text:
        return tuple(facts)
    # The first scan did not see values behind escapes.
    return tuple(
        fact
        for fact in facts
        if _masked(task, f"{fact.name}={fact.value}") == f"{fact.name}={fact.value}"
    )


def _with_others(
    facts: list[ExtractedFact], held: EmbeddedText, task: _EnvelopeInput
) -> list[ExtractedFact]:
    """The fields beside a text come before the facts in it."""
    most = task.rules.max_facts
    beside = facts_of("", Detected(Form.JSON, held.others), None, task.item.id, most)
    said = {fact.value for fact in beside}
    return [*beside, *(fact for fact in facts if fact.value not in said)][:most]


def _masked(task: _EnvelopeInput, text: str) -> str:
    return without_secrets(text, task.key, deployment_rules(task.rules))


def _status(task: _EnvelopeInput, read: _ScannedBody) -> ResultStatus:
    is_error = task.reserved.is_error
    if is_error is None and read.inside is not None and read.inside.is_error:
        is_error = True  # false is what MCP servers say by default, also above an error
    status = _status_told(read, is_error)
    if status is ResultStatus.SUCCESS and not (read.taken.whole and read.detected.complete):
        return ResultStatus.PARTIAL
    return status


def _status_told(read: _ScannedBody, is_error: bool | None) -> ResultStatus:
    """What an object says of its call outranks what the text in it looks like."""
    for value in read.held.objects if read.held is not None and is_error is None else ():
        status = status_of("", value, None)
        if status is not ResultStatus.SUCCESS or has_verdict(value):
            return status
    return status_of(read.text, read.detected.value, is_error)


def _sensitivity(task: _EnvelopeInput, found: Sensitivity) -> Sensitivity:
    level = task.item.sensitivity.raised_to(found)
    if task.proved_level is not None:
        level = level.raised_to(task.proved_level)
    own = task.rule.sensitivity if task.rule is not None else None
    return level if own is None else level.raised_to(own)


def _is_masked_too_often(task: _EnvelopeInput, read: _ScannedBody) -> bool:
    return len(read.scanned.masks) > task.limits.masks


def _bounded(
    task: _EnvelopeInput, read: _ScannedBody, small: bool, whole: bool
) -> tuple[Signal, ...]:
    if not read.taken.whole:
        seen = _unread_part(read)
        if read.detected.read is not None:  # more is scanned than is read
            seen += f"; {len(read.taken.data)} bytes of both ends were scanned"
        return (Signal("bounded", "size", 1, seen),)
    if not whole and _is_masked_too_often(task, read):
        spans = f"{len(read.scanned.masks)} spans are masked; only the summary is shown"
        return (Signal("bounded", "masks", 1, spans),)
    if small and not whole:
        return (Signal("bounded", "whole", 1, "too large to pass whole; summarised"),)
    return ()
