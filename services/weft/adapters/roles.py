"""Roles of messages, whoever wrote them. Only what the user certainly said counts as the user's:
memory learns from it, prompts keep it, and it is the question that a compile answers."""

from __future__ import annotations

USERS = frozenset({"user", "human"})
AGENTS = frozenset({"assistant", "ai", "model", "agent"})
SYSTEM = frozenset({"system", "developer"})
TOOLS = frozenset({"tool", "function"})
