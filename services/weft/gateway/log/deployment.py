"""The weft behind a gateway: one that runs already, or one that the gateway starts in its data
folder. Gateways of one folder share it. When the gateway that started it ends, another one takes
over, on the same port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import msgspec

from weft.client import Client
from weft.file_lock import FileLock
from weft.gateway.log.erased_sessions import ErasedSessions, following_erased_sessions
from weft.log.reading import state
from weft.log.secret_check import check_log
from weft.log.transport import connect
from weft.runtime.deployment import kept_secret, made_secret, private
from weft.runtime.policies import Policies, following_policies
from weft.runtime.settings import Settings
from weft_schemas.errors import Forbidden, Unavailable, WeftError
from weft_schemas.policy import ContextPolicy

if TYPE_CHECKING:
    from weft.supervision.preloaded import PreloadedProcess

PROCESSES = {"firewall": 1, "memory": 1, "indexer": 1, "compiler": 1}
"""The services of a weft that a gateway starts: what results, handles and memory need."""
_POLL_SECONDS = 0.5
_TRY_SECONDS = 1.0
_START_SECONDS = 60.0

_log = logging.getLogger(__name__)


class GatewayDeployment:
    """`async with GatewayDeployment(settings, named=False):`. With `named` the settings name
    a server, and no other one is used. The services of a weft that is started are forked from
    `preloaded` if it is given."""

    def __init__(
        self, settings: Settings, *, named: bool, preloaded: PreloadedProcess | None = None
    ) -> None:
        self.settings = settings
        self._named = named
        self._preloaded = preloaded
        self._open = AsyncExitStack()
        self._keeping: asyncio.Task[None] | None = None
        self._policies: Policies | None = None
        self._erased = ErasedSessions()
        self.client: Client
        self.is_own = False
        """Whether it was started by a gateway."""

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opening:
            self._opening = opening
            private(self.settings.data_dir)
            url = await self._address()
            self.settings = msgspec.structs.replace(self.settings, nats_url=url)
            self.client = await opening.enter_async_context(Client(self.settings))
            self.settings = await self._with_secret()
            try:
                self._policies = await opening.enter_async_context(
                    following_policies(self.client.connection)
                )
            except Forbidden:
                _log.warning("this credential may not read policies: the default one counts")
            try:
                self._erased = await opening.enter_async_context(
                    following_erased_sessions(self.client.connection, self.settings.tenant)
                )
            except Forbidden:
                _log.warning("this credential may not read tombstones: an erased session goes on")
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._open.aclose()

    def session_after(self, session: str) -> str:
        """The name under which a session continues: a new one if the session was erased."""
        return self._erased.session_after(session)

    def policy(self, session: str) -> tuple[int, ContextPolicy]:
        """The policy in force and its version, kept up to date."""
        if self._policies is None:
            return 0, ContextPolicy()
        return self._policies.of(self.settings.tenant, session)

    async def _with_secret(self) -> Settings:
        """With the log's secret; one of the data folder's own is made only for a log that has
        none. Raises `ConfigurationError`."""
        settings = self.settings
        key = settings.fingerprint_key or kept_secret(settings.data_dir)
        try:
            await check_log(self.client.connection, key)
        except Forbidden:
            _log.warning("this credential may not see whether the log has another secret")
        key = key or made_secret(settings.data_dir)
        return msgspec.structs.replace(settings, fingerprint_key=key)

    async def _address(self) -> str:
        if self._named or await _is_weft(self.settings):
            return self.settings.nats_url
        self.is_own = True
        keeper = _Keeper(self.settings, self._preloaded)
        await self._opening.enter_async_context(keeper)
        return await keeper.address()


async def _is_weft(settings: Settings) -> bool:
    """Whether the log of a weft answers at the settings' address."""
    if not await _somebody_listens(settings.nats_url):
        return False
    try:
        connection = await connect(
            name="weft-gateway", timeout=_TRY_SECONDS, **settings.connection()
        )
    except WeftError:
        return False
    try:
        await state(connection)
        return True
    except WeftError:
        return False
    finally:
        await connection.close()


async def _somebody_listens(url: str) -> bool:
    """A refused connection is reported at once; the client would retry for a while."""
    for address in url.split(","):
        place = urlsplit(address.strip())
        try:
            async with asyncio.timeout(_TRY_SECONDS):
                _, writer = await asyncio.open_connection(place.hostname, place.port or 4222)
        except (OSError, TimeoutError):
            continue
        writer.close()
        return True
    return False


class _Keeper:
    """The gateway that holds the lock runs the folder's weft. The others wait for the lock."""

    def __init__(self, settings: Settings, preloaded: PreloadedProcess | None) -> None:
        self._settings = settings
        self._preloaded = preloaded
        folder = private(settings.data_dir / "gateway")
        self._lock = FileLock(folder / "keeper.lock")
        self._file = folder / "address"
        self._started = asyncio.Event()
        self._failed: BaseException | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def address(self) -> str:
        """Returns once the server takes connections. Raises `Unavailable`."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                return await self._running_address()
        except TimeoutError:
            folder = self._settings.data_dir
            raise Unavailable(
                f"the weft of {folder} did not answer within {_START_SECONDS:.0f} s, and another "
                f"gateway holds its lock; see {folder / 'weft.log'}, and end that gateway"
            ) from None

    async def _running_address(self) -> str:
        while not self._started.is_set():
            if self._failed is not None:
                raise Unavailable(f"no weft could be started: {self._failed}")
            known = self._known()
            if known and await _is_weft(msgspec.structs.replace(self._settings, nats_url=known)):
                return known
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._started.wait(), 0.1)
        return self._known()

    def _known(self) -> str:
        try:
            return self._file.read_text(encoding="ascii").strip()
        except OSError:
            return ""

    async def _keep(self) -> None:
        try:
            await self._lock.acquired(_POLL_SECONDS)
            try:
                await self._run()
            finally:
                self._lock.release()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            _log.exception("no weft could be started")
            self._failed = error

    async def _run(self) -> None:
        from weft.supervision.up import running

        known = self._known()
        port = int(known.rsplit(":", 1)[1]) if known else 0
        with (self._settings.data_dir / "weft.log").open("ab") as log:
            async with running(
                self._settings, PROCESSES, port=port, log_file=log, preloaded=self._preloaded
            ) as started:
                self._file.write_text(started.settings.nats_url, encoding="ascii")
                self._started.set()
                await asyncio.Event().wait()
