"""The same compile without a log: for tests and notebooks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft import tokens
from weft.compiler.compile import compile_pack
from weft.readmodel.model import ReadModel, records_of
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.events import Event
from weft_schemas.policy import ContextPolicy


def compile_context(
    events: Sequence[Event],
    request: CompileRequest,
    policy: ContextPolicy | None = None,
    *,
    key: bytes = b"",
    encoding: str = tokens.DEFAULT_ENCODING,
) -> ContextPack:
    """The pack for one session's events, which get the sequences 1, 2, 3, … in their order.

    A tool result is shown only through its envelope: without an `EnvelopeEvent` whose origin names
    its sequence, the pack names it as pending. `policy` has priority over the request's and the
    events'; `key` makes the fences.
    """
    if policy is not None:
        request = msgspec.structs.replace(request, policy=policy)
    model = ReadModel.in_memory(records_of(events), encoding)
    try:
        view = model.view("default", "session")
        return compile_pack(view, request, key=key).pack
    finally:
        model.close()
