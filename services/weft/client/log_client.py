"""What an agent can do with the log: publish to it, read it, and say what is in force."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

import msgspec

from weft.client.arguments import check_type, checked_choice, checked_list
from weft.client.catalogues import newest_catalogue
from weft.client.confirmation import Confirmation, distinct
from weft.client.confirmation_requests import confirm_acknowledged, confirm_ids
from weft.client.erasure_check import ErasureCheck
from weft.client.event_check import checked
from weft.client.histories import Histories, OnEdit, PublishedMessages
from weft.client.lazy_connection import LazyConnection
from weft.client.message_ids import logged_message_ids, message_ids
from weft.client.operator import Operator
from weft.client.outgoing import Items, PublishAck, Sent
from weft.client.policy_check import check_policy
from weft.client.scoped_items import check_scope, scoped
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.following import Follower
from weft.log.message import Ack, Message
from weft.log.reading import read_session
from weft.log.record import LogRecord
from weft.log.trace_context import current_trace
from weft.messages.reading import Format, Messages, draft
from weft.runtime.crashpoints import crash_point
from weft.runtime.policies import grants_in_force, policy_in_force
from weft.runtime.request_client import Reply, ask
from weft.runtime.settings import Settings
from weft_schemas.errors import Forbidden, Unavailable, WeftError
from weft_schemas.grants import ScopeGrants
from weft_schemas.ids import encode_token
from weft_schemas.items import BodyRef
from weft_schemas.policy import ContextPolicy
from weft_schemas.routing import Catalog
from weft_schemas.status import StatusReply, StatusRequest
from weft_schemas.subjects import stored_filter

if TYPE_CHECKING:
    from weft.audit.reproduce import Reproduction


class LogClient:
    """A connection of one tenant's agent to the log."""

    def __init__(self, settings: Settings, lazily: bool = False) -> None:
        self.settings = settings
        self.tenant = settings.tenant
        self._lazily = lazily
        self._link = LazyConnection(settings)
        self.histories = Histories(self.publish, self._message_ids)
        """The message histories that this client's sessions remember."""
        self._erased = ErasureCheck(self.tenant, self.check_not_erased)
        self._after_publish = crash_point("publisher.after_publish")

    async def __aenter__(self) -> Self:
        try:
            await self._link.opened()
        except (Unavailable, Forbidden):
            if not self._lazily:
                raise
        return self

    @property
    def connection(self) -> Connection:
        """The connection to the log. Raises `Unavailable` if there is none (yet)."""
        return self._link.connection

    @property
    def is_up(self) -> bool:
        """Whether a server is connected now."""
        return self._link.is_up

    @property
    def is_cut_off(self) -> bool:
        """Whether there was a server that is gone now."""
        return self._link.is_cut_off

    def _check_loop(self) -> None:
        """Raises `InvalidInput` in another event loop or process than this client's own."""
        self._link.check_home()

    async def __aexit__(self, *_: object) -> None:
        await self._link.close()

    async def publish(
        self,
        session: str,
        items: Items,
        *,
        traceparent: str = "",
    ) -> PublishAck:
        """Publish one item or many, in order, and return when all are stored.

        Events derived from them continue the trace `traceparent`, or else that of the current span.
        A list or tuple is checked as a whole before anything is sent; an iterator is sent item by
        item, in bounded memory. Publishing the same items again changes nothing. Raises
        `InvalidInput` naming the item, `Forbidden`, `Overloaded` (the log is full), and
        `Unavailable` if it is unknown what was stored: publish again, or ask `confirm(session,
        error.ids)`. Raises `Conflict` if the session was erased: then nothing is stored.
        """
        encode_token(session, "session")
        await self._erased.check(await self._link.opened(), session)
        sent = Sent()
        trace = traceparent or current_trace()
        messages = self._link.outgoing.messages(session, items, trace, sent)
        try:
            done = await self._link.sending.publish(messages)
        except WeftError as error:
            error.ids = tuple(sent.ids)
            raise
        self._after_publish()
        self.histories.published(session, sent.ids)
        return PublishAck(
            session,
            done.sequence,
            done.first,
            done.count,
            done.duplicates,
            tuple(sent.ids),
            tuple(sent.digests),
        )

    async def publish_messages(
        self,
        session: str,
        messages: Messages,
        *,
        format: Format = "auto",
        on_edit: OnEdit = "report",
        scope: str | None = None,
    ) -> PublishedMessages:
        """Publish the new part of a history. You may pass the whole history at every step.

        `messages` are those of any provider, see `weft.messages`: dicts, objects of the provider's
        library, or a whole request with its system prompt. Nothing is published twice: not if the
        history is passed again, by another process or after a restart, and not if its beginning or
        its middle was cut out. Equal messages stay separate. If a message of the past was changed,
        the change is not published: it is listed in `conflicts`, or, with `on_edit="raise"`, raises
        `Conflict` before anything is published. The user's last message, if it is the last of all,
        is never past. A history that shares nothing with what is known counts as another
        conversation in the session. `scope`, such as `user:42`, is whose memory they teach and
        show.

        The first call for a session asks a service what the session contains, or reads it from the
        log. Raises the same errors as `publish`, and `Conflict` if the session was erased.
        """
        encode_token(session, "session")
        checked_choice("on_edit", on_edit, OnEdit)
        check_scope(scope)
        read = draft(messages, format)
        read = msgspec.structs.replace(read, items=scoped(read.items, scope))
        return await self.histories.hand_over(session, read, on_edit)

    async def _message_ids(self, session: str) -> tuple[int, Sequence[str]]:
        return await message_ids(self._ask, partial(self._logged_ids, session), session)

    async def _logged_ids(self, session: str) -> tuple[int, Sequence[str]]:
        return await logged_message_ids(
            await self._link.opened(), self.tenant, session, self.events(session)
        )

    async def close_session(self, session: str, reason: str = "closed") -> Ack:
        """Say that the session has ended: it is then summarised, and its memory is kept. Raises
        `Conflict` if it was erased."""
        encode_token(session, "session")
        await self._erased.check(await self._link.opened(), session)
        return await self._send(self._link.outgoing.closing(session, reason))

    async def publish_policy(self, policy: ContextPolicy, *, hook_elsewhere: bool = False) -> Ack:
        """Put a policy in force, for the tenant or for the session that it names, from the ack's
        sequence on. Needs a credential that may publish the tenant's own events.

        In a session with a policy of its own, the stricter value of the two holds wherever
        something is concealed (docs/concepts.md). Raises `InvalidInput` for what no compile could
        use: values out of range, patterns that cannot be run, a phase that shows no kind, and a
        redaction hook that is not installed here. `hook_elsewhere` says that it is installed where
        compiles run.
        """
        check_type("policy", policy, ContextPolicy)
        checked(policy)
        check_policy(policy, hook_elsewhere=hook_elsewhere)
        await self._link.opened()
        return await self._send(self._link.outgoing.tenants(policy))

    async def policy(
        self, session: str | None = None, *, as_of: int | None = None
    ) -> tuple[int, ContextPolicy]:
        """The policy in force and its sequence (0: the default; none was published), for a session,
        or for those without a policy of their own; `as_of` asks for a sequence in the past.

        Needs a credential that may read the log.
        """
        return await policy_in_force(await self._link.opened(), self.tenant, session, as_of)

    async def publish_grants(self, grants: ScopeGrants) -> Ack:
        """Say whose memory each principal of the tenant may read and write, from the ack's sequence
        on. These grants replace all earlier ones. Needs an operator's credential."""
        check_type("grants", grants, ScopeGrants)
        await self._link.opened()
        return await self._send(self._link.outgoing.tenants(grants))

    async def grants(self) -> tuple[int, ScopeGrants | None]:
        """The grants in force and their sequence; None and 0 if there are none yet. Needs a
        credential that may read the log."""
        return await grants_in_force(await self._link.opened(), self.tenant)

    async def publish_catalog(self, catalog: Catalog) -> Ack:
        """Publish a new version of a catalogue; its version is the ack's sequence. Raises
        `InvalidInput` with every fault of its tools."""
        check_type("catalog", catalog, Catalog)
        await self._link.opened()
        return await self._send(await self._link.outgoing.catalogue(catalog))

    async def catalog(self, name: str) -> tuple[int, Catalog]:
        """The newest version of a catalogue and its sequence, read from the log. Raises `NotFound`.

        Needs a credential that may read the log.
        """

        connection = await self._link.opened()

        def fetch(tenant: str, body: BodyRef) -> Awaitable[bytes]:
            return Bodies(connection, self._link.publisher, tenant).get(body)

        return await newest_catalogue(connection, fetch, self.tenant, name)

    async def confirm(self, session: str, published: PublishAck | Iterable[str]) -> Confirmation:
        """Tells which of the published items were there before, and which lost to another item; for
        the ids of a publish that failed, which of them the log contains nevertheless.

        Waits until the items are folded. Raises `Unavailable` if that takes too long, and, for an
        acknowledged publish, `Conflict` if the session was erased: nothing of it counts.
        """
        if isinstance(published, PublishAck):
            return await confirm_acknowledged(self._ask, session, published)
        return await confirm_ids(self._ask, session, distinct(checked_list("published", published)))

    async def check_not_erased(self, session: str) -> None:
        """Ask a service whether what is published to this session counts. Raises `Conflict` if the
        session was erased, and `Unavailable`."""
        await self._ask(session, "status", StatusRequest(contents=()), StatusReply)

    async def reproduce(self, compile_id: str) -> Reproduction:
        """Render a past compile's prompt again from the log, and say whether it is the same.

        Runs in this process and asks no service: it needs the extra `workers`, a credential that
        may read the log, and the compiler's fingerprint key in the settings. Raises `NotFound`.
        """
        from weft.audit.reproduce_from_log import reproduce_compile

        key = self.settings.fingerprint_key.encode()
        return await reproduce_compile(await self._link.opened(), self.tenant, compile_id, key)

    @property
    def operator(self) -> Operator:
        """Forking, comparing, moving, erasing and auditing: an operator's commands on the log."""
        return Operator(self.connection, self.settings)

    async def events(
        self, session: str, *, first: int = 1, follow: bool = False
    ) -> AsyncGenerator[LogRecord, None]:
        """The session's events as the log contains them, from sequence `first` on; with `follow` it
        continues with new ones. Needs a credential that may read the log."""
        check_type("first", first, int)
        first = max(1, first)
        await self._link.opened()
        if not follow:
            async for record in read_session(
                self.connection, self.tenant, session, after=first - 1
            ):
                yield record
            return
        subjects = stored_filter(self.tenant, session)
        async with Follower(self.connection, after=first - 1, subjects=subjects) as log:
            async for followed in log:
                for record in followed.records:
                    yield record

    async def _send(self, message: Message) -> Ack:
        return await self._link.publisher.publish(
            message.subject, message.payload, message.message_id, message.headers
        )

    async def _ask(
        self,
        session: str,
        service: str,
        request: msgspec.Struct,
        kind: type[Reply],
        wait: float = 0.0,
        answer: float | None = None,
    ) -> Reply:
        address, principal = (self.tenant, session, service), self.settings.principal
        connection = await self._link.opened()
        return await ask(connection, address, request, kind, wait, principal, answer)
