"""What takes long about a closed session's summary does not hold the worker's event loop."""

import threading

import pytest

from weft.prompt_injection.detection import signals_in
from weft.runtime.settings import Settings
from weft.summarizer import flagged_repeats
from weft.testing.in_memory_workers import InMemoryWorkers
from weft.testing.log import MemoryLog
from weft_schemas.envelope import Signal
from weft_schemas.events import SessionClosedEvent, SummaryEvent
from weft_schemas.items import ContextItem, ItemKind


async def test_documents_are_searched_for_orders_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = []

    def watched(text: str) -> tuple[Signal, ...]:
        threads.append(threading.get_ident())
        return signals_in(text)

    monkeypatch.setattr(flagged_repeats, "signals_in", watched)
    settings = Settings()
    log = MemoryLog(settings.encoding)
    working = InMemoryWorkers(settings, log, ())
    for event in (
        ContextItem("d", ItemKind.DOC_SNIPPET, "A page about orders."),
        ContextItem("a", ItemKind.AGENT_MSG, "It is about orders."),
        SessionClosedEvent(),
    ):
        await working.take("t", "s", event)
    assert any(isinstance(record.event(), SummaryEvent) for record in log.records)
    assert threads
    assert threading.get_ident() not in threads
