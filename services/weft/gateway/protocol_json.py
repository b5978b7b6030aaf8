"""Models of the protocol and other values as JSON."""

from __future__ import annotations

from typing import Any

import msgspec
from pydantic import BaseModel


def dumped(model: BaseModel) -> Any:
    """As the protocol writes it."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
