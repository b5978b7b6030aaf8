"""The span of a compile, named by OpenTelemetry's conventions for retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


@contextmanager
def retrieval_span(
    tracer: Tracer | None, session: str, query: str
) -> Iterator[Callable[[bytes], None]]:
    """The span of a compile, within that of its request, if there is a tracer. `query` is empty if
    spans may not contain texts. Yields a function to call with the finished pack, as JSON."""
    if tracer is None:
        yield lambda pack: None
        return
    from opentelemetry.trace import SpanKind

    attributes = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.conversation.id": session,
        "gen_ai.data_source.id": "weft",
    }
    if query:
        attributes["gen_ai.retrieval.query.text"] = query
    with tracer.start_as_current_span(
        "retrieval weft", kind=SpanKind.INTERNAL, attributes=attributes
    ) as span:
        yield partial(_add_pack, span)


def _add_pack(span: Span, pack: bytes) -> None:
    made = msgspec.json.decode(pack, type=_Pack)
    span.set_attribute("gen_ai.usage.input_tokens", made.stats.prompt_tokens)
    span.set_attribute("weft.sequence", made.sequence)
    span.set_attribute("weft.items.included", made.stats.included_count)
    span.set_attribute("weft.items.dropped", made.stats.dropped_count)


class _Stats(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    included_count: int = 0
    dropped_count: int = 0


class _Pack(msgspec.Struct, frozen=True):
    sequence: int
    stats: _Stats
