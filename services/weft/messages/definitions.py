"""A tool as each provider wants it defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.adapters import gemini
from weft.adapters.conversation import function_name
from weft.messages.writing import PROVIDERS, Provider
from weft_schemas.errors import InvalidInput

ANY_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
"""The schema of a tool that has none."""


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


def name_in(provider: Provider, name: str) -> str:
    """A tool's name as a provider takes it."""
    plain = function_name(name)
    return gemini.function_name(plain) if provider == "gemini" else plain
