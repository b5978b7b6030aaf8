"""What a package can add to weft by entry points: a view of artifacts, a sentence encoder, a
redaction hook and a query transformer.

Its `pyproject.toml` names them:

    [project.entry-points."weft.views"]
    longest = "extension:register"

    [project.entry-points."weft.encoders"]
    letters = "extension:Letters"

    [project.entry-points."weft.redaction_hooks"]
    size = "extension:size_alone"

    [project.entry-points."weft.query_transformers"]
    last_sentence = "extension:last_sentence"

Then every drill-down into a text has the view `longest`, and `WEFT_ROUTER_ENCODER=letters` has the
router fuse its own scores with those of this encoder. A policy whose `redaction_hook` is `size`
shows how long a sensitive item is, and `WEFT_ROUTER_TRANSFORMER=last_sentence` has the router look
for tools by the end of a long question.
"""

import re
from collections.abc import Iterator, Mapping

from weft.firewall.views.arguments import Value
from weft.firewall.views.artifact import Artifact
from weft.firewall.views.registry import Chunk, ViewRegistry
from weft.readmodel.rows import ItemRow
from weft_schemas.items import Sensitivity


def register(views: ViewRegistry) -> None:
    views.register("text/*", "longest", "the longest line", (), longest)


def longest(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    start, end = max(artifact.lines(), key=lambda line: line[1] - line[0])
    yield Chunk(artifact.text(start, end), None)


class Letters:
    """Counts letters: texts with the same letters mean the same."""

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[float(text.casefold().count(letter)) for letter in "aeiourst"] for text in texts]


def size_alone(text: str, sensitivity: Sensitivity, row: ItemRow) -> str:
    """What may be shown of an item at or above the policy's sensitivity floor."""
    return f"[{sensitivity.value}: {len(text.split())} words]"


def last_sentence(query: str) -> str:
    """The routing query that is made of a question."""
    *_, last = re.split(r"(?<=[.!?])\s+", query.strip())
    return last
