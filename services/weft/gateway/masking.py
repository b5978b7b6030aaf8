"""Removes secrets and hidden characters from what servers say: from a text, from JSON, or from a
whole model of the protocol, since every field may hold a secret: `_meta`, titles, addresses.
Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from mcp import MCPError
from mcp_types import ContentBlock, TextContent
from pydantic import BaseModel, ValidationError

from weft.bodies.clean import clean
from weft.firewall.bounds import Bounds
from weft.firewall.guards import scan
from weft.gateway.protocol_json import as_json, dumped
from weft_schemas.policy import FirewallRules

_TO_FILES = ("content", "contents", "messages", "resource")
"""Fields of the protocol that contain images, recordings and files, …"""
_FILES = ("data", "blob")
"""… and the fields with their data, which is not scanned."""

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[Any, ...]
"""The keys that lead to a value in JSON."""


class Masking(msgspec.Struct, frozen=True):
    """The rules for scanning: the same as the log's firewall has."""

    rules: FirewallRules
    key: bytes
    tenant: str
    encoding: str
    policy_version: int = 0


def safe(text: str, masking: Masking) -> str:
    """A server's text without secrets and hidden characters."""
    raw = text.encode("utf-8", "surrogatepass")
    return scan(clean(raw).text, masking.rules, masking.key, Bounds().matches, raw).text


def safe_value(value: Any, masking: Masking) -> Any:
    """JSON with the secrets in its strings masked. If a secret can only be recognised by its
    neighbours, all of it becomes one masked text. Without a secret, the same object is returned."""
    written = as_json(value)
    if safe(written, masking) == written:
        return value
    masked = _each(value, masking)
    rewritten = _MASK.sub("-", as_json(masked))  # a mask must not pass for another secret
    return masked if safe(rewritten, masking) == rewritten else {"masked": safe(written, masking)}


_MASK = re.compile(r"\[[a-z]+:[a-z0-9_]+:[0-9a-f]+\]")
"""The mask for a secret in a text."""


def _each(value: Any, masking: Masking, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _each(held, masking, key) for key, held in value.items()}
    if isinstance(value, list):
        return [_each(held, masking, name) for held in value]
    if not isinstance(value, str):
        return value
    before = f'"{name}": "'
    shown = safe(f'{before}{value}"', masking)
    if shown.startswith(before) and shown.endswith('"'):
        return shown[len(before) : -1]
    return safe(value, masking)


def safe_model(model: Model, masking: Masking) -> Model | None:
    """The model without secrets in any field; the same object if it has none, and None if it is not
    valid without them."""
    texts, files = without_files(dumped(model))
    shown = safe_value(texts, masking)
    if shown is texts:
        return model
    try:
        return type(model).model_validate(_together(shown, files), by_name=False)
    except (ValidationError, LookupError, TypeError):
        return None


def safe_models(models: Sequence[Model], masking: Masking) -> list[Model]:
    """A list's entries; an entry that is not valid without its secrets is left out."""
    together = as_json([without_files(dumped(model))[0] for model in models])
    if safe(together, masking) == together:
        return list(models)
    shown = (safe_model(model, masking) for model in models)
    return [model for model in shown if model is not None]


def safe_block(block: ContentBlock, masking: Masking) -> ContentBlock:
    """A part of a result or a prompt; if it is not valid without its secrets, its other content as
    text."""
    if isinstance(block, TextContent) and block.meta is None and block.annotations is None:
        return block.model_copy(update={"text": safe(block.text, masking)})
    shown = safe_model(block, masking)
    if shown is not None:
        return shown
    texts, _ = without_files(dumped(block))
    return TextContent(text=safe(as_json(texts), masking))


def safe_error(error: MCPError, masking: Masking) -> MCPError:
    """A server's refusal as the host gets it."""
    data = None if error.error.data is None else safe_value(error.error.data, masking)
    return MCPError(error.code, safe(error.message, masking), data)


def without_files(value: Any, place: Place = ()) -> tuple[Any, dict[Place, str]]:
    """A model's JSON without its images and files, and these by their places."""
    if isinstance(value, list):
        parts, files = list[Any](), dict[Place, str]()
        for number, held in enumerate(value):
            part, inside = without_files(held, (*place, number))
            parts.append(part)
            files |= inside
        return parts, files
    if not isinstance(value, dict):
        return value, {}
    texts, files = dict(value), {}
    for key in value.keys() & {*_TO_FILES, *_FILES}:
        held = value[key]
        if key in _TO_FILES:
            texts[key], inside = without_files(held, (*place, key))
            files |= inside
        elif isinstance(held, str):
            texts[key], files[(*place, key)] = "", held
    return texts, files


def _together(value: Any, files: dict[Place, str]) -> Any:
    for (*before, last), file in files.items():
        at = value
        for key in before:
            at = at[key]
        at[last] = file
    return value
