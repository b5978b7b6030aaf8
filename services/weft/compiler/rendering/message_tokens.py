"""Tokens of a prompt's entries as the messages of each provider, names, arguments and ids included.
They are added up from the steps of the conversation: the budget fit counts many prompts, and with
every provider's messages made for it each took 1.6 times as long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from weft.adapters.conversation import conversation, steps_between_users, steps_with_memory
from weft.adapters.drafting import compact
from weft.adapters.gemini import function_name
from weft.adapters.openai import FAILED
from weft.adapters.steps import Step
from weft.compiler.rendering.counting import MESSAGE, Count, reasoning_tokens
from weft_schemas.compile import PackEntry


class StepTokens(NamedTuple):
    """Tokens of a step's contents, without those of the messages around them."""

    text: int = 0
    calls: int = 0
    """How many calls there are."""
    arguments: int = 0
    ids: int = 0
    names: int = 0
    gemini_names: int = 0
    results: int = 0
    told: int = 0
    """Of the results with the line that OpenAI's messages have above a failed one."""
    errors: int = 0
    """Of the marks that Anthropic's messages have for failed ones."""


class _Counted:
    """The tokens of each step, which are counted once for all providers."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._made: dict[int, tuple[Step, StepTokens]] = {}

    def of(self, steps: Iterable[Step]) -> list[tuple[Step, StepTokens]]:
        return [self._made.get(id(step)) or self._new(step) for step in steps]

    def _new(self, step: Step) -> tuple[Step, StepTokens]:
        made = self._made[id(step)] = step, step_tokens(step, self._count)
        return made


def message_tokens(entries: Sequence[PackEntry], count: Count) -> dict[str, int]:
    """Tokens per provider."""
    plain = [
        msgspec.structs.replace(one, reasoning=None) if one.reasoning else one for one in entries
    ]
    talk = conversation(plain)
    counted, system = _Counted(count), count(talk.system)
    steps = counted.of(steps_with_memory(talk))
    turns = counted.of(steps_between_users(talk))
    said = {
        "openai": _openai(steps) + (system + MESSAGE if talk.system else 0),
        "openai-responses": _responses(steps) + system,
        "anthropic": _anthropic(turns) + system,
        "gemini": _gemini(turns) + system,
    }
    return {name: tokens + _returned(entries, name, count) for name, tokens in said.items()}


def step_tokens(step: Step, count: Count) -> StepTokens:
    """Tokens of one step."""
    calls = step.calls
    if not calls:
        return StepTokens(count(step.text))
    failed = [call for call in calls if call.is_error]
    results = sum(count(call.result) for call in calls)
    told = sum(count(f"{FAILED}\n{call.result}") - count(call.result) for call in failed)
    return StepTokens(
        calls=len(calls),
        arguments=sum(count(compact(call.arguments)) for call in calls),
        ids=sum(count(call.id) for call in calls),
        names=sum(count(call.name) for call in calls),
        gemini_names=sum(count(function_name(call.name)) for call in calls),
        results=results,
        told=results + told,
        errors=len(failed) * count("is_error"),
    )


def _openai(steps: Sequence[tuple[Step, StepTokens]]) -> int:
    """Results are messages; calls are one, with what the assistant said just before them."""
    total, said = 0, False
    for step, tokens in steps:
        if step.calls:
            total += tokens.names + tokens.arguments + 2 * tokens.ids + tokens.told
            total += MESSAGE * (tokens.calls + (not said))
        else:
            total += tokens.text + MESSAGE
        said = step.role == "assistant" and not step.calls
    return total


def _responses(steps: Sequence[tuple[Step, StepTokens]]) -> int:
    """Each call and each result is a message."""
    return sum(
        tokens.names + tokens.arguments + 2 * tokens.ids + tokens.told + 2 * MESSAGE * tokens.calls
        if step.calls
        else tokens.text + MESSAGE
        for step, tokens in steps
    )


def _anthropic(turns: Sequence[tuple[Step, StepTokens]]) -> int:
    return _alternating(turns) + sum(
        one.text + one.names + one.arguments + 2 * one.ids + one.results + one.errors
        for _, one in turns
    )


def _gemini(turns: Sequence[tuple[Step, StepTokens]]) -> int:
    return _alternating(turns) + sum(
        one.text + 2 * one.gemini_names + one.arguments + one.results for _, one in turns
    )


def _alternating(turns: Sequence[tuple[Step, StepTokens]]) -> int:
    """Tokens of messages whose roles alternate; results are the user's."""
    messages, last = 0, ""
    for step, _ in turns:
        messages += step.role != last
        messages += bool(step.calls)
        last = "user" if step.calls else step.role
    return MESSAGE * messages


def _returned(entries: Iterable[PackEntry], format: str, count: Count) -> int:
    """Tokens of the reasoning in a provider's messages."""
    held = (one.reasoning for one in entries)
    return sum(reasoning_tokens(one, count) for one in held if one and one.format == format)
