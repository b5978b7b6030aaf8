"""Whose memory the items of a session belong to, where they do not name a scope themselves."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from weft.client.arguments import check_type
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem


def check_scope(scope: str | None) -> None:
    """Raises `InvalidInput` for what can be no scope's name."""
    check_type("scope", scope, str, type(None))
    if scope is not None and not scope.strip():
        raise InvalidInput("scope is empty; name a user or a project, such as 'user:42'")


def scoped(items: Sequence[ContextItem], scope: str | None) -> tuple[ContextItem, ...]:
    """The items; those that name no scope of their own name this one, if it is given."""
    if scope is None:
        return tuple(items)
    return tuple(
        item
        if item.metadata.get("scope") is not None
        else replace(item, metadata={**item.metadata, "scope": scope})
        for item in items
    )
