"""What servers say beside their results, as a host may hear it: log messages, progress, questions
and completions, without secrets and bounded in size. Pure."""

from __future__ import annotations

from typing import Any, TypeVar

import mcp_types as types
import msgspec
from pydantic import BaseModel, ValidationError

from weft.gateway.results import Guard, safe, safe_value

MOST_LOGGED = 16_000
"""Characters of one log message."""
MOST_TOLD = 2_000
"""Characters of a progress message."""
MOST_ASKED = 200_000
"""Characters of a question, images apart; a longer one is not asked, since a form cannot be cut."""
_MOST_NAME = 200
_TORN = 8_192
"""Characters at the end of what is looked at of a longer text: a secret may have been cut there."""
_BYTES = ("data", "blob")
"""Fields that hold images, recordings and files, which are not looked into."""

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[Any, ...]
"""The keys that lead to a value in JSON."""


def log_message(
    server: str, params: types.LoggingMessageNotificationParams, guard: Guard
) -> types.LoggingMessageNotificationParams:
    """For a host, under the server's name."""
    logger = f"{server}:{params.logger or ''}".rstrip(":")
    written = _json(params.data)
    if len(written) <= MOST_LOGGED:
        data = safe_value(params.data, guard)
    else:
        data = bounded(params.data if isinstance(params.data, str) else written, MOST_LOGGED, guard)
    update = {"logger": bounded(logger, _MOST_NAME, guard), "data": data, "meta": None}
    return params.model_copy(update=update)


def progress_message(text: str | None, guard: Guard) -> str | None:
    return None if text is None else bounded(text, MOST_TOLD, guard)


def question(request: types.InputRequest, guard: Guard) -> types.InputRequest | None:
    """What a server asks of the host; None where it is too long, or where a secret stands in what
    cannot be changed, such as an address or a field's name."""
    params: Any = request.params
    if params is None:
        return request
    texts, files = _apart(_dumped(params))
    if len(_json(texts)) > MOST_ASKED:
        return None
    shown = _model(type(params), texts, files, guard)
    if shown is None or getattr(shown, "url", None) != getattr(params, "url", None):
        return None
    return request.model_copy(update={"params": shown})


def completion(result: types.CompleteResult, guard: Guard) -> types.CompleteResult:
    values = [safe(value, guard) for value in result.completion.values]
    shown = result.completion.model_copy(update={"values": values})
    return result.model_copy(update={"completion": shown})


def bounded(text: str, most: int, guard: Guard) -> str:
    """The text without secrets, and what is beyond `most` characters only counted."""
    looked_at = text[: most + _TORN]
    shown = safe(looked_at, guard)
    if len(looked_at) < len(text):
        shown = shown[:-_TORN]
    if len(text) <= most:
        return shown
    return f"{shown[:most]} … {len(text) - most:,} more characters …"


def _model(kind: type[Model], texts: Any, files: dict[Place, str], guard: Guard) -> Model | None:
    """One of the protocol's models without secrets; None where it is none any more without them."""
    shown = safe_value(texts, guard)
    try:
        return kind.model_validate(_together(shown, files), by_name=False)
    except (ValidationError, LookupError):
        return None


def _apart(value: Any, place: Place = ()) -> tuple[Any, dict[Place, str]]:
    """JSON with images and files taken out, and these by their places."""
    if isinstance(value, list):
        pairs: list[tuple[Any, Any]] = list(enumerate(value))
    elif isinstance(value, dict):
        pairs = list(value.items())
    else:
        return value, {}
    kept: dict[Any, Any] = {}
    files: dict[Place, str] = {}
    for key, held in pairs:
        if key in _BYTES and "mimeType" in value and isinstance(held, str):
            files[(*place, key)] = held
            kept[key] = ""
        else:
            kept[key], inside = _apart(held, (*place, key))
            files |= inside
    return (kept if isinstance(value, dict) else list(kept.values())), files


def _together(value: Any, files: dict[Place, str]) -> Any:
    for (*before, last), file in files.items():
        at = value
        for key in before:
            at = at[key]
        at[last] = file
    return value


def _dumped(model: BaseModel) -> Any:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
