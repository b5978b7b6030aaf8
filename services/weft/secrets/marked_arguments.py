"""Marks of masked secrets in the arguments of a call: a model copies them from a result, and no
tool knows them. Such a call is refused, since a tool that takes any text would store the mark in
place of the secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

MARK = re.compile(r"\[secret:([A-Za-z0-9_-]{1,100})(?::[0-9a-f]{8})?\]")
"""A mark as `weft.secrets.masking` writes it, with the rule's name as its group; the fold's and
those of the policy's own patterns have no fingerprint, or a name in other letters."""
BY_NAME = frozenset(
    {
        "assigned_secret",
        "call_secret",
        "command_password",
        "default_password",
        "form_secret",
        "block_secret",
        "paired_secret",
        "password",
        "quoted_password",
        "quoted_secret",
        "told_password",
        "told_secret",
        "url_secret",
        "xml_secret",
    }
)
"""Rules by which a value is a secret because of what it is called: `firewall.harmless_names` lifts
them where that is the name of a field."""


class MarkedArgument(msgspec.Struct, frozen=True):
    path: str
    """Such as `transfer.tokens[0]`."""
    mark: str
    rule: str


def marked_arguments(arguments: Mapping[str, Any]) -> list[MarkedArgument]:
    """The arguments that hold a mark, each with its first one, in their order."""
    found: dict[str, MarkedArgument] = {}
    for path, text in _texts(arguments):
        mark = MARK.search(text)
        if mark is not None:
            found.setdefault(path, MarkedArgument(path, mark.group(), mark.group(1)))
    return list(found.values())


def masked_values(arguments: Mapping[str, Any]) -> list[MarkedArgument]:
    """Those that are nothing but a mark."""
    return [
        MarkedArgument(path, text, mark.group(1))
        for path, text in _texts(arguments)
        if (mark := MARK.fullmatch(text)) is not None
    ]


def _texts(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """All texts in the arguments, also the names of members, with their paths."""
    left: list[tuple[str, Any]] = [("", arguments)]
    while left:
        path, value = left.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, Mapping):
            inside = [(f"{path}.{name}" if path else str(name), value[name]) for name in value]
            left += reversed([one for path, held in inside for one in ((path, path), (path, held))])
        elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            left += reversed([(f"{path}[{at}]", held) for at, held in enumerate(value)])


def refusal(tool: str, found: Sequence[MarkedArgument]) -> str:
    """Why the call was not made, for the model, and what an operator can do."""
    told = " and ".join(f"its argument {one.path!r} holds {one.mark}" for one in found[:_MOST])
    more = f", and {len(found) - _MOST} more hold such" if len(found) > _MOST else ""
    return (
        f"{tool} was not called: {told}{more}. That is the mark of a masked value, not the value, "
        f"which cannot be obtained; the same call will be refused again. {_way_out(found)}"
    )


_MOST = 3
"""How many arguments a refusal names."""


def _way_out(found: Sequence[MarkedArgument]) -> str:
    if all(one.rule in BY_NAME for one in found):
        return (
            "If the value is no secret and was masked because of the name of its field, the "
            "operator of this agent can publish a policy with that name in "
            "firewall.harmless_names; then the tool has to give it again."
        )
    return (
        "It has the form of a credential, so no policy shows it: the tool has to be given it "
        "outside of this conversation."
    )
