"""A message whose role is only a word, in Anthropic's form, which has two roles: for frameworks in
which any name may be a role (`critic`, `planner`)."""

from __future__ import annotations

from typing import Any

from weft.adapters.roles import AGENTS, SYSTEM, TOOLS, USERS


def with_role(role: str, content: Any, name: str | None = None) -> dict[str, Any]:
    """What somebody of this role said; with the role `system` if that is part of the system prompt.

    A role that nobody knows is an agent's of this name. What a tool returned to no call that is
    known is a document, so it passes for nobody's words.
    """
    known = role.casefold()
    if known in TOOLS:
        return {"role": "assistant", "content": [_document(content, name)]}
    if known in SYSTEM:
        return {"role": "system", "content": content}
    author = name or ("" if known in USERS | AGENTS else role)
    said = {"role": "user" if known in USERS else "assistant", "content": content}
    return {**said, "name": author} if author else said


def _document(content: Any, name: str | None) -> dict[str, Any]:
    data = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
    return {"type": "document", "title": name, "source": {"type": "content", "content": data}}
