"""The table of operations, from which the routes and the OpenAPI document are made."""

from __future__ import annotations

import msgspec

from weft.client.histories import PublishedMessages
from weft.http.payloads import (
    Closed,
    Closing,
    Compiled,
    CompileQuery,
    EventPage,
    EventsQuery,
    ExplainBody,
    LogEvent,
    MessagesBody,
    Progress,
    Published,
    PublishQuery,
    RouteQuery,
    SessionsQuery,
    StatusQuery,
)
from weft_schemas.compile import CompileRequest, DrilldownReply, DrilldownRequest, ExplainReply
from weft_schemas.items import ContextItem
from weft_schemas.routing import (
    ChoiceReply,
    ChoiceRequest,
    HydrateRequest,
    HydrationResult,
    RouteReply,
    RouteRequest,
)
from weft_schemas.status import SessionsReply, StatusReply

Shape = type[msgspec.Struct]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    name: str
    """The name of its handler in `handlers.py`, and its `operationId`."""
    method: str
    path: str
    about: str
    """What it does; the first sentence is its title."""
    reply: Shape
    body: object = None
    """Type of the JSON body; None if there is none."""
    is_body_optional: bool = False
    """Whether it may be left out; its fields then have their defaults."""
    query: Shape | None = None
    events: tuple[tuple[str, Shape], ...] = ()
    """With `Accept: text/event-stream`: the events by name. An empty name stands for several
    names."""


ITEMS = ContextItem | list[ContextItem]
"""One type, or several in their order."""

_SESSION = "/v1/sessions/{session}"

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="publish",
        method="POST",
        path=f"{_SESSION}/items",
        about="Publish one item or many. In order, and stored when this returns. Publishing the "
        "same again changes nothing; the first item with an id counts.",
        body=ITEMS,
        query=PublishQuery,
        reply=Published,
    ),
    Operation(
        name="messages",
        method="POST",
        path=f"{_SESSION}/messages",
        about="Publish what is new of a whole history. It may be handed over again at every step, "
        "in the form of OpenAI, Anthropic or Gemini; nothing doubles, and an edited past is told.",
        body=MessagesBody,
        reply=PublishedMessages,
    ),
    Operation(
        name="close",
        method="POST",
        path=f"{_SESSION}/close",
        about="Close a session. It is summarised and its memory kept; a later item opens it again.",
        body=Closing,
        is_body_optional=True,
        reply=Closed,
    ),
    Operation(
        name="compile",
        method="POST",
        path=f"{_SESSION}/compile",
        about="Compile the context for a step. With `Accept: text/event-stream` it tells what it "
        "waits for (`progress`) until the context (`compiled`) or a failure (`problem`) ends the "
        "stream.",
        body=CompileRequest,
        query=CompileQuery,
        reply=Compiled,
        events=(("progress", Progress), ("compiled", Compiled)),
    ),
    Operation(
        name="explain",
        method="POST",
        path=f"{_SESSION}/explain",
        about="Explain why an item is in a compile, or why not.",
        body=ExplainBody,
        reply=ExplainReply,
    ),
    Operation(
        name="hydrate",
        method="POST",
        path=f"{_SESSION}/hydrate",
        about="Hydrate a tool. Its whole schema, and the session's values for its parameters.",
        body=HydrateRequest,
        reply=HydrationResult,
    ),
    Operation(
        name="events",
        method="GET",
        path=f"{_SESSION}/events",
        about="Read a session's events. As they stand in the log, raw results among them; needs a "
        "token that may. With `Accept: text/event-stream` the stream goes on with new ones; each "
        "has its sequence as id, from which `Last-Event-ID` resumes.",
        query=EventsQuery,
        reply=EventPage,
        events=(("", LogEvent),),
    ),
    Operation(
        name="session_status",
        method="GET",
        path=f"{_SESSION}/status",
        about="Show what is folded of a session. Counts, conflicts, what waits, what was given up.",
        reply=StatusReply,
    ),
    Operation(
        name="sessions",
        method="GET",
        path="/v1/sessions",
        about="List the sessions. By name, a page at a time.",
        query=SessionsQuery,
        reply=SessionsReply,
    ),
    Operation(
        name="status",
        method="GET",
        path="/v1/status",
        about="Show what is folded of the tenant. With `processes` also how every process is.",
        query=StatusQuery,
        reply=StatusReply,
    ),
    Operation(
        name="drilldown",
        method="POST",
        path="/v1/drilldown",
        about="Look into a result. A slice of the raw body behind a handle that a prompt shows.",
        body=DrilldownRequest,
        reply=DrilldownReply,
    ),
    Operation(
        name="route",
        method="POST",
        path="/v1/route",
        about="Route to tools. The cards of a catalogue's tools that fit a query best.",
        body=RouteRequest,
        query=RouteQuery,
        reply=RouteReply,
    ),
    Operation(
        name="choose",
        method="POST",
        path="/v1/choose",
        about="Record a choice. Which card of a routing decision the model took.",
        body=ChoiceRequest,
        query=RouteQuery,
        reply=ChoiceReply,
    ),
)


def of_session(operation: Operation) -> bool:
    """Whether its path names a session."""
    return "{session}" in operation.path


def paths() -> dict[str, list[Operation]]:
    """The operations by path, in order."""
    found: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        found.setdefault(operation.path, []).append(operation)
    return found
