"""What a package can add to weft by entry points: a view of artifacts and a sentence encoder.

Its `pyproject.toml` names both:

    [project.entry-points."weft.views"]
    longest = "extension:register"

    [project.entry-points."weft.encoders"]
    letters = "extension:Letters"

Then every drill-down into a text has the view `longest`, and `WEFT_ROUTER_ENCODER=letters` has the
router fuse its own scores with those of this encoder.
"""

from collections.abc import Iterator, Mapping

from weft.firewall.views.arguments import Value
from weft.firewall.views.artifact import Artifact
from weft.firewall.views.registry import Chunk, ViewRegistry


def register(views: ViewRegistry) -> None:
    views.register("text/*", "longest", "the longest line", (), longest)


def longest(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    start, end = max(artifact.lines(), key=lambda line: line[1] - line[0])
    yield Chunk(artifact.text(start, end), None)


class Letters:
    """Counts letters: texts with the same letters mean the same."""

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[float(text.casefold().count(letter)) for letter in "aeiourst"] for text in texts]
