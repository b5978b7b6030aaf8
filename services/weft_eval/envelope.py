"""How much of what later calls need is in the firewall's envelopes: of the values that later tool
calls take from a result above the threshold, the share in its summary and facts.

Baselines in the same run, on the same results: head-and-tail truncation to as many tokens as the
summary may have, and to as many as summary and facts have together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from weft import tokens
from weft.leaves import leaves
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.items import ContextItem, ItemKind

_TRIVIAL = frozenset(("true", "false", "none", "null", "yes", "no", "text", "string", "default"))
_MIN_CHARS = 3
"""A shorter value is found anywhere by chance."""
_MAX_CHARS = 200
"""A longer value is a text that the agent wrote."""

EnvelopeOf = Callable[[ContextItem], ResultEnvelope]


class EnvelopeReport(msgspec.Struct, frozen=True):
    """Shares over all (result, value) pairs of all sessions."""

    sessions: int
    results: int
    """Results above the threshold."""
    values: int
    """Values that a later call took from one of them."""
    kept: float
    """Share in summary and facts."""
    kept_in_summary: float
    """Share in the summary alone."""
    head_and_tail: float
    """Share in head-and-tail truncation to the summary's cap."""
    head_and_tail_same_tokens: float
    """The same with as many tokens as summary and facts have together."""
    mean_summary_tokens: float
    mean_total_tokens: float
    """Summary, and facts as `name=value` lines."""
    over_cap: int
    """Summaries above the cap: there should be none."""


class _Tally(msgspec.Struct):
    sessions: int = 0
    results: int = 0
    values: int = 0
    kept: int = 0
    in_summary: int = 0
    baseline: int = 0
    baseline_same: int = 0
    summary_tokens: int = 0
    total_tokens: int = 0
    over_cap: int = 0


def evaluate(
    sessions: Iterable[Sequence[ContextItem]],
    envelope_of: EnvelopeOf,
    *,
    threshold: int,
    cap: int,
    encoding: str,
) -> EnvelopeReport:
    """Measure sessions, each a list of items in order. `threshold` and `cap` are tokens of a result
    and of a summary."""
    tally = _Tally()
    for items in sessions:
        tally.sessions += 1
        for index, item in enumerate(items):
            if item.kind is ItemKind.TOOL_RESULT:
                wanted = values_first_stated_by(items, index)
                _measure(tally, item, wanted, envelope_of, threshold, cap, encoding)
    return _report(tally)


def values_first_stated_by(items: Sequence[ContextItem], index: int) -> list[str]:
    """Values in the arguments of later calls that occur in the result at `index` and in nothing
    before it: the agent cannot have them from anywhere else."""
    text = items[index].text
    found: dict[str, None] = {}
    for later in items[index + 1 :]:
        if later.kind is not ItemKind.TOOL_CALL:
            continue
        for value in argument_values(later.reserved.arguments or {}):
            if value not in found and states_whole(text, value):
                found[value] = None
    before = "\n".join(_everything(item) for item in items[:index]) if found else ""
    return [value for value in found if not states_whole(before, value)]


def argument_values(arguments: object) -> Iterator[str]:
    """The specific leaves of a call's arguments, as text; JSON inside a string is read too."""
    for _, leaf in leaves(arguments):
        value = str(leaf).strip()
        if isinstance(leaf, str) and leaf[:1] in ("{", "["):
            try:
                yield from argument_values(json.loads(leaf))
            except (ValueError, RecursionError):
                continue
        elif _MIN_CHARS <= len(value) <= _MAX_CHARS and value.lower() not in _TRIVIAL:
            yield value


def states_whole(text: str, value: str) -> bool:
    """Whether `value` occurs in `text` as a whole, not as a part of a longer word or number."""
    if value not in text:
        return False
    left = r"(?<![^\W_])" if value[0].isalnum() else ""
    right = r"(?![^\W_])" if value[-1].isalnum() else ""
    return re.search(f"{left}{re.escape(value)}{right}", text) is not None


def head_and_tail(text: str, limit: int, encoding: str) -> str:
    """The plain truncation to compare with: half of `limit` tokens from each end."""
    ids = tokens.encoding(encoding).encode_ordinary(text)
    if len(ids) <= limit:
        return text
    half = limit // 2
    decode = tokens.encoding(encoding).decode
    return f"{decode(ids[:half])}\n…\n{decode(ids[-(limit - half) :])}"


def _measure(
    tally: _Tally,
    item: ContextItem,
    wanted: list[str],
    envelope_of: EnvelopeOf,
    threshold: int,
    cap: int,
    encoding: str,
) -> None:
    if tokens.count(item.text, encoding) <= threshold:
        return
    envelope = envelope_of(item)
    facts = "\n".join(f"{fact.name}={fact.value}" for fact in envelope.facts)
    together = f"{envelope.summary}\n{facts}"
    total = tokens.count(together, encoding)
    short = head_and_tail(item.text, cap, encoding)
    same = head_and_tail(item.text, total, encoding)
    tally.results += 1
    tally.summary_tokens += envelope.summary_tokens
    tally.total_tokens += total
    tally.over_cap += envelope.summary_tokens > cap
    tally.values += len(wanted)
    tally.kept += sum(states_whole(together, value) for value in wanted)
    tally.in_summary += sum(states_whole(envelope.summary, value) for value in wanted)
    tally.baseline += sum(states_whole(short, value) for value in wanted)
    tally.baseline_same += sum(states_whole(same, value) for value in wanted)


def _everything(item: ContextItem) -> str:
    arguments = item.reserved.arguments
    return item.text if arguments is None else f"{item.text} {json.dumps(arguments)}"


def _report(tally: _Tally) -> EnvelopeReport:
    def share(part: int) -> float:
        return part / tally.values if tally.values else 0.0

    results = tally.results or 1
    return EnvelopeReport(
        sessions=tally.sessions,
        results=tally.results,
        values=tally.values,
        kept=share(tally.kept),
        kept_in_summary=share(tally.in_summary),
        head_and_tail=share(tally.baseline),
        head_and_tail_same_tokens=share(tally.baseline_same),
        mean_summary_tokens=tally.summary_tokens / results,
        mean_total_tokens=tally.total_tokens / results,
        over_cap=tally.over_cap,
    )
