"""The forms in which a session is given to a reader: weft's prompt and messages, two plain ways to
fill the same budget, and the whole history, which is the ceiling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from weft.adapters import openai
from weft_eval.baselines import cleared, newest
from weft_eval.grounding import Compile
from weft_eval.next_call import latest_user_turn
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.policy import Phase

FORMS = ("weft", "mask", "tail", "full")
"""The compiled prompt; all turns and calls with old results cleared; newest items until full;
everything."""
EVERY_FORM = (*FORMS, "openai")
"""Also the compiled messages for OpenAI, written as text."""


def prompts_of(
    transcript: LabelledTranscript,
    position: int,
    compile_at: Compile,
    budget: int,
    forms: Sequence[str],
) -> dict[str, str]:
    """The first `position` items of a session in each form, for the call that comes next; the query
    is the latest user turn."""
    query = latest_user_turn(transcript.items[:position])
    request = CompileRequest(phase=Phase.CALL, query=query, budget=budget)
    made: dict[str, ContextPack] = {}

    def compiled() -> ContextPack:
        if "weft" not in made:
            made["weft"] = compile_at(transcript, position, request)
        return made["weft"]

    ways = {
        "weft": lambda: compiled().prompt,
        "openai": lambda: as_text(openai.messages(compiled().entries)["messages"]),
        "mask": lambda: cleared(transcript, position, request).prompt,
        "tail": lambda: newest(transcript, position, request).prompt,
        "full": lambda: whole(transcript, position),
    }
    return {form: ways[form]() for form in forms}


def whole(transcript: LabelledTranscript, position: int) -> str:
    """The first items of a session unchanged."""
    items = transcript.items[:position]
    return "\n".join(f"{item.kind.value}: {item.text}" for item in items)


def as_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """A provider's messages as a text with all of their content."""
    return "\n\n".join(block for message in messages for block in _blocks(message))


def _blocks(message: Mapping[str, Any]) -> Iterator[str]:
    role = message["role"]
    if message.get("content"):
        named = f" {message['tool_call_id']}" if "tool_call_id" in message else ""
        yield f"[{role}{named}]\n{message['content']}"
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield f"[{role} calls {call['id']}]\n{function['name']}({function['arguments']})"
