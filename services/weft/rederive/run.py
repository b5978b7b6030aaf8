"""Rederives: runs this release's worker over the history of a tenant, under the policy in force.
Its results carry the run's name, and replace earlier ones from their own sequence on; earlier
results stay for `as_of`. The log itself records what a run has done, so a second or resumed run
neither derives nor publishes anything twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from weft.erasure.tombstones import tombstones
from weft.firewall.worker import firewall
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import EventLog, read_session, subjects
from weft.memory.languages import fingerprint, languages_with
from weft.memory.worker import memory
from weft.progress import OnProgress
from weft.rederive.plan import (
    DerivedEvent,
    SourceEvent,
    Standing,
    decoded,
    misplaced,
    run_name,
    sources,
    standings,
    to_publish,
)
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.logs import safe_error
from weft.runtime.policies import Policies, following_policies
from weft.runtime.settings import Settings
from weft.runtime.subprocess_worker import SubprocessWorker
from weft.summarizer.worker import PATIENT_ATTEMPTS, summarizer
from weft.workers.deriver import Deriver
from weft.workers.work_context import Derived, WorkContext, derived_message
from weft_schemas.errors import ConfigurationError, InvalidInput, NotFound, Unavailable
from weft_schemas.events import EXTRACTIVE, SessionClosedEvent
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import (
    UNREADABLE,
    StoredSubject,
    derived_subject,
    place_of,
    stored_filter,
)

WORKERS = ("firewall", "summarizer", "memory")


class Failure(msgspec.Struct, frozen=True):
    """A source that the worker could not process; its earlier result, if any, still counts."""

    session: str
    sequence: int
    error: str


class Rederived(msgspec.Struct):
    """The outcome of a run."""

    worker: str
    version: str
    runs: list[str] = []
    """Names of the runs: one for each policy version in force."""
    sessions: int = 0
    sources: int = 0
    """Events looked at."""
    known: int = 0
    """Sources among these that have a result of this version and policy in the log already."""
    unchanged: int = 0
    """Sources that were derived anew, with the same result."""
    published: int = 0
    failed: list[Failure] = []
    skipped: list[Failure] = []
    """Events whose subject cannot be read: nothing can be derived from them."""
    last_sequence: int = 0
    """Sequence of the last published event; compiles after it see the new results."""


async def rederive(
    connection: Connection,
    settings: Settings,
    worker: str | Deriver,
    session: str | None = None,
    progress: OnProgress = lambda done, all: None,
) -> Rederived:
    """Run one of weft's workers, by name, or another worker, over one session of the tenant or over
    all. Raises `InvalidInput` for an unknown worker, `NotFound` for an unknown session, and
    `Unavailable` if the log or a model does not answer; a second run then continues. `progress`
    counts sessions."""
    deriver = _own(connection, settings, worker) if isinstance(worker, str) else worker
    names = await _sessions(connection, settings.tenant, session)
    async with _rework(connection, settings, deriver) as work:
        for done, name in enumerate(names):
            progress(done, len(names))
            await work.session(name)
        progress(len(names), len(names))
        return work.result


def _own(connection: Connection, settings: Settings, name: str) -> Deriver:
    match name:
        case "firewall":
            return firewall(settings, EventLog(connection))
        case "summarizer":
            return summarizer(settings, EventLog(connection))
        case "memory":
            return memory(EventLog(connection), languages_with(settings.memory_languages))
    raise InvalidInput(
        f"worker {name!r} is unknown; use {', '.join(WORKERS)}, or MODULE:WORKER for one of your "
        "own"
    )


@asynccontextmanager
async def _rework(
    connection: Connection, settings: Settings, deriver: Deriver
) -> AsyncIterator[_Rederivation]:
    subprocess_worker = SubprocessWorker()
    async with following_policies(connection) as policies, Publisher(connection) as publisher:
        artifacts = ArtifactStore(connection, publisher)
        by = _made_by(settings, deriver)
        try:
            yield _Rederivation(
                settings, deriver, artifacts, by, publisher, policies, subprocess_worker
            )
        finally:
            subprocess_worker.close()


def _made_by(settings: Settings, deriver: Deriver) -> str:
    """Everything else that results depend on besides version and policy: the summarizer's model, or
    the memory-updater's languages if they are configured."""
    if deriver.name == "summarizer":
        return settings.summary_model or ""
    if deriver.name == "memory" and settings.memory_languages is not None:
        return fingerprint(languages_with(settings.memory_languages))
    return ""


class _Rederivation:
    """Runs one worker over one session after the other."""

    def __init__(
        self,
        settings: Settings,
        deriver: Deriver,
        artifacts: ArtifactStore,
        by: str,
        publisher: Publisher,
        policies: Policies,
        subprocess_worker: SubprocessWorker,
    ) -> None:
        self.result = Rederived(deriver.name, deriver.version)
        self._tenant = settings.tenant
        self._deriver = deriver
        self._worker = deriver.worker(artifacts).keyed(settings.fingerprint_key)
        self._by = by
        self._publisher = publisher
        self._policies = policies
        self._subprocess_worker = subprocess_worker

    async def session(self, session: str) -> None:
        """Derive again, in order, from each source that has no result of this run."""
        stored = read_session(self._publisher.connection, self._tenant, session)
        records = [record async for record in stored]
        self.result.skipped += [Failure(session, *one) for one in misplaced(records)]
        pairs = decoded(records)
        known = standings(pairs, self._worker.name)
        version, policy = self._policies.of(self._tenant, session)
        run = run_name(self._worker.name, self._worker.version, version, self._by)
        if run not in self.result.runs:
            self.result.runs.append(run)
        self.result.sessions += 1
        for source in sources(pairs, self._deriver.takes):
            self.result.sources += 1
            standing = known.get((self._worker.name, source.about))
            if standing is not None and self._is_known(standing, run, version):
                self.result.known += 1
                continue
            # The worker's first attempts at a closed session wait for envelopes; history is
            # complete.
            closing = isinstance(source.event, SessionClosedEvent)
            record = source.record
            if closing:
                record = msgspec.structs.replace(record, deliveries=PATIENT_ATTEMPTS)
            untrusted = partial(self._policies.untrusted_kinds, self._tenant, session)
            context = WorkContext(
                self._worker, record, (version, policy), self._subprocess_worker, untrusted, run
            )
            await self._one(source, context, standing, session)

    def _is_known(self, standing: Standing, run: str, policy_version: int) -> bool:
        origin = standing.current.origin
        made_by = (origin.worker_version, origin.policy_version)
        same = made_by == (self._worker.version, policy_version)
        return run in standing.runs or (same and not self._may_differ(standing))

    def _may_differ(self, standing: Standing) -> bool:
        """Whether the result that counts may differ from the one that today's worker would give: it
        came from another summarizer than the configured one, or from a memory-updater, whose facts
        do not say which languages it knew."""
        if self._worker.name == "summarizer":
            return getattr(standing.current, "model", "") != (self._by or EXTRACTIVE)
        return self._worker.name == "memory"

    async def _one(
        self, source: SourceEvent, context: WorkContext, standing: Standing | None, session: str
    ) -> None:
        address = source.record.address()
        try:
            made = await self._worker.derive(context.record, address, source.event, context)
            messages = [
                derived_message(
                    self._worker, source.record, one, context.policy_version,
                    self._publisher.connection.max_payload,
                )
                for one in self._news(made, standing, source, context, address)
            ]  # fmt: skip
        except (Unavailable, ConfigurationError):
            raise
        except Exception as error:
            failure = Failure(session, source.record.sequence, safe_error(error))
            self.result.failed.append(failure)
            return
        if not messages:
            self.result.unchanged += bool(made)
            return
        acks = await self._publisher.publish_many(messages)
        self.result.published += sum(not ack.duplicate for ack in acks)
        self.result.last_sequence = max(self.result.last_sequence, acks[-1].sequence)

    def _news(
        self,
        made: list[Derived],
        standing: Standing | None,
        source: SourceEvent,
        context: WorkContext,
        address: StoredSubject,
    ) -> list[Derived]:
        item_id = standing.current.origin.item_id if standing else ""
        origin = context.origin(item_id, source.about)
        first = made[0] if made else None
        event = to_publish(_derived_event(first), standing, origin)
        if event is None:
            return []
        if first is not None and event is first.event:
            return [first]
        tag = str(type(event).__struct_config__.tag)
        return [Derived(derived_subject(address.tenant, address.session, tag), event, tag)]


def _derived_event(derived: Derived | None) -> DerivedEvent | None:
    if derived is None:
        return None
    assert isinstance(derived.event, DerivedEvent)
    return derived.event


async def _sessions(connection: Connection, tenant: str, session: str | None) -> list[str]:
    """The sessions to work on, without erased ones."""
    stones = await tombstones(connection, tenant)
    stored = await subjects(connection, stored_filter(tenant, session, "in"))
    found = {place_of(subject)[1] for subject in stored} - {TENANT_SESSION, UNREADABLE}
    if session is not None and session not in found:
        raise NotFound(f"the log holds nothing of session {session!r}; check its name")
    return [] if "" in stones else sorted(found - stones.keys())
