"""Which views an artifact has, by its content type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

import msgspec

from weft.firewall.views.arguments import Value
from weft.firewall.views.artifact import Artifact
from weft_schemas.envelope import View


class Chunk(msgspec.Struct, frozen=True):
    """A stretch of text that a view yields; a slice shows as many as fit."""

    text: str
    resume: dict[str, Value] | None
    """Arguments that begin after this chunk; None if the artifact ends with it."""


def of_all(count: int, kind: str) -> Chunk:
    """Shown for a slice behind the end: a model would take an empty text for an empty artifact."""
    return Chunk(f"(there are {count:,} {kind})\n", None)


Part = Chunk
"""Its name in release 0.2.0, which views of other packages import."""
Generate = Callable[[Artifact, Mapping[str, Value]], Iterator[Chunk]]
"""Yields chunks in order; the caller takes as many as fit its tokens."""


class RegisteredView(msgspec.Struct, frozen=True):
    pattern: str
    """Glob over content types, such as `text/*`."""
    view: View
    arguments: tuple[str, ...]
    generate: Generate
    to_the_end: bool = False
    """The chunks end only with the artifact, so that nothing follows the last one."""


class ViewRegistry:
    """Content-type patterns and their view generators, in order of registration."""

    def __init__(self) -> None:
        self._views: list[RegisteredView] = []

    def register(
        self,
        pattern: str,
        name: str,
        hint: str,
        arguments: tuple[str, ...],
        generate: Generate,
        to_the_end: bool = False,
    ) -> None:
        """Add a view for content types that match the glob `pattern`; a later one of the same name
        takes precedence."""
        self._views.append(
            RegisteredView(pattern, View(name, hint), arguments, generate, to_the_end)
        )

    def of(self, content_type: str) -> dict[str, RegisteredView]:
        """The views of a content type by name."""
        fitting = (view for view in self._views if fnmatchcase(content_type, view.pattern))
        return {view.view.name: view for view in fitting}
