"""Makes what servers send besides results safe for a host: log messages, progress and questions,
without secrets and limited in size. Pure."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from weft.gateway.masking import Masking, safe, safe_model, safe_value, without_files
from weft.gateway.protocol_json import as_json, dumped

MAX_LOGGED = 16_000
"""Characters of one log message."""
MAX_PROGRESS = 2_000
"""Characters of a progress message."""
MAX_ASKED = 200_000
"""Characters of a question, without its images. A longer one is not asked, since a form cannot be
cut."""
_MAX_NAME = 200
_TORN = 8_192
"""Characters that are dropped at the end of the scanned part of a longer text: a secret may have
been cut there."""


def log_message(
    server: str, params: types.LoggingMessageNotificationParams, masking: Masking
) -> types.LoggingMessageNotificationParams:
    """A log message as a host sees it, under the server's name."""
    logger = f"{server}:{params.logger or ''}".rstrip(":")
    written = as_json(params.data)
    if len(written) <= MAX_LOGGED:
        data = safe_value(params.data, masking)
    else:
        data = bounded(
            params.data if isinstance(params.data, str) else written, MAX_LOGGED, masking
        )
    update = {"logger": bounded(logger, _MAX_NAME, masking), "data": data, "meta": None}
    return params.model_copy(update=update)


def progress_message(text: str | None, masking: Masking) -> str | None:
    return None if text is None else bounded(text, MAX_PROGRESS, masking)


def question(request: types.InputRequest, masking: Masking) -> types.InputRequest | None:
    """A server's question to the host; None if it is too long, or has a secret in a part that
    cannot be changed, such as an address or a field's name."""
    params: Any = request.params
    if params is None:
        return request
    texts, _ = without_files(dumped(params))
    if len(as_json(texts)) > MAX_ASKED:
        return None
    shown = safe_model(params, masking)
    if shown is None or getattr(shown, "url", None) != getattr(params, "url", None):
        return None
    return request.model_copy(update={"params": shown})


def bounded(text: str, most: int, masking: Masking) -> str:
    """The text without secrets, with a count of the characters beyond `most`."""
    looked_at = text[: most + _TORN]
    shown = safe(looked_at, masking)
    if len(looked_at) < len(text):
        shown = shown[:-_TORN]
    if len(text) <= most:
        return shown
    return f"{shown[:most]} … {len(text) - most:,} more characters …"
