"""A worker process for tests: for every item it derives one envelope that says how it went.

The item's text may ask for trouble: `raise N` fails in the first N attempts, `exit` ends the
process that does the work, `slow S` takes S seconds.
"""

import asyncio
import os
import sys
import time

from weft.log.record import LogRecord
from weft.runtime.application import serve
from weft.runtime.process import Process
from weft.runtime.settings import read_settings
from weft.workers.work_context import Derived, WorkContext, Worker
from weft.workers.worker_loop import run_worker
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.errors import Unavailable
from weft_schemas.events import EnvelopeEvent, Event
from weft_schemas.items import ContextItem
from weft_schemas.subjects import StoredSubject, derived_subject


def work(text: str, attempt: int) -> str:
    verb, _, argument = text.partition(" ")
    if verb == "raise" and attempt <= int(argument):
        raise KeyError(f"the secret text {text}")
    if verb == "unavailable":
        raise Unavailable("the model does not answer; try again")
    if verb == "exit":
        os._exit(1)
    if verb == "slow":
        time.sleep(float(argument))
    return f"seen: {text}"


async def derive(
    record: LogRecord, address: StoredSubject, event: Event, context: WorkContext
) -> list[Derived]:
    if not isinstance(event, ContextItem):
        return []
    size = 1 << 20 if event.text.startswith("slow") else len(event.text)
    summary = await context.compute(size, work, event.text, record.deliveries)
    envelope = EnvelopeEvent(context.origin(event.id), ResultEnvelope(summary=summary))
    subject = derived_subject(address.tenant, address.session, "envelope")
    return [Derived(subject, envelope, "envelope")]


WORKER = Worker("firewall", "echo", derive, reports="in")


async def service(process: Process) -> None:
    await run_worker(process, WORKER)


if __name__ == "__main__":
    try:
        asyncio.run(serve("firewall", read_settings(), service))
    except Unavailable:
        sys.exit(3)
