"""A tool's definition in each provider's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.adapters import gemini
from weft.adapters.conversation import function_name
from weft.messages.writing import PROVIDERS, Provider
from weft_schemas.errors import InvalidInput

ANY_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
"""The schema of a tool without one."""


def definition(
    provider: Provider, name: str, description: str, schema: Mapping[str, Any]
) -> dict[str, Any]:
    """One entry for the `tools` of a request (for Gemini: of its `config`). `schema` is the JSON
    Schema of the arguments. Raises `InvalidInput` for another provider."""
    parameters = dict(schema) or ANY_ARGUMENTS
    match provider:
        case "openai":
            function = {"name": function_name(name), "description": description}
            return {"type": "function", "function": {**function, "parameters": parameters}}
        case "openai-responses":
            function = {"name": function_name(name), "description": description}
            return {"type": "function", **function, "parameters": parameters, "strict": False}
        case "anthropic":
            named = {"name": function_name(name), "description": description}
            return {**named, "input_schema": parameters}
        case "gemini":
            named = {"name": name_in(provider, name), "description": description}
            return {"function_declarations": [{**named, "parameters_json_schema": parameters}]}
    raise InvalidInput(f"no tool definition for {provider!r}; use {', '.join(PROVIDERS)}")


def merged(provider: Provider, tools: Sequence[Any]) -> list[Any]:
    """The tools of one request. Gemini wants all functions declared in one of them."""
    if provider != "gemini":
        return list(tools)
    declared: list[Any] = []
    others: list[Any] = []
    for tool in tools:
        functions = _declarations(tool)
        declared.extend(functions)
        if not functions:
            others.append(tool)
    return [*others, {"function_declarations": declared}] if declared else others


def _declarations(tool: Any) -> Sequence[Any]:
    """The functions that a tool declares, if it declares nothing else; also of the library's own
    object."""
    if isinstance(tool, Mapping):
        found = tool.get("function_declarations") or tool.get("functionDeclarations")
        return found if found and len(tool) == 1 else ()
    return getattr(tool, "function_declarations", None) or ()


def name_in(provider: Provider, name: str) -> str:
    """A tool's name in the form that a provider accepts."""
    plain = function_name(name)
    return gemini.function_name(plain) if provider == "gemini" else plain
