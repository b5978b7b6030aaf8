"""An operator's commands on the log, from Python: `client.operator` has the commands of the command
line. They read the log themselves and ask no service, so they need the extra `workers` and a
credential that may read it; each raises what the function that it names raises."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from weft.log.connection import Connection
from weft.runtime.settings import Settings
from weft_schemas.compile import CompileAudit
from weft_schemas.policy import ContextPolicy

if TYPE_CHECKING:
    from weft.audit.backtest_from_log import Backtest
    from weft.audit.compiles import LoggedCompile
    from weft.audit.difference import Difference
    from weft.audit.explanation import ExplainedCompile
    from weft.audit.reproduce import Reproduction
    from weft.audit.verify import Verification
    from weft.copies.exporting import Exported
    from weft.copies.forking import Forked
    from weft.copies.importing import Imported
    from weft.dead_letters.dead_letter import DeadLetter
    from weft.erasure.scope import ErasedScope
    from weft.erasure.session import Erased
    from weft.indexer.rebuild import Rebuilt
    from weft.rederive.run import Rederived
    from weft.snapshots.snapshot import Snapshot
    from weft.snapshots.trimming import Trimmed


class Operator:
    """For one tenant, over a client's connection."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        self._connection = connection
        self._settings = settings
        self._tenant = settings.tenant
        self._key = settings.fingerprint_key.encode()

    async def compiles(self, session: str | None = None) -> list[LoggedCompile]:
        """Every recorded compile, of a session or of the whole tenant, in order."""
        from weft.audit.compiles import all_compiles

        return await all_compiles(self._connection, self._tenant, session)

    async def reproduce(self, compiles: Sequence[CompileAudit]) -> list[Reproduction]:
        """Several recorded compiles rendered again from the log, with their tokens and what they
        dropped; `client.reproduce` is for one, by its id."""
        from weft.audit.reproduce_from_log import reproduce_each

        made = reproduce_each(self._connection, self._tenant, compiles, self._key)
        return [one async for one in made]

    async def explain(
        self, compile_id: str, item: str | None = None, *, everything: bool = False
    ) -> ExplainedCompile:
        """Why each item was in a recorded compile or was not, or why one; with `everything` also of
        items that were no candidates."""
        from weft.audit.reproduce_from_log import explain_recorded

        place = (self._connection, self._tenant)
        return await explain_recorded(*place, compile_id, self._key, item, everything)

    async def diff(self, before: str, after: str) -> Difference:
        """Two recorded compiles of one session, by id;
        `weft.audit.difference_from_log.compare` also takes other sequences and policies."""
        from weft.audit.difference_from_log import compare, logged_input

        was, now = [
            await logged_input(self._connection, self._tenant, one) for one in (before, after)
        ]
        return await compare(self._connection, self._tenant, was, now, self._key)

    async def backtest(
        self, policy: ContextPolicy, processes: int = 1, since_ns: int = 0
    ) -> Backtest:
        """Compile everything that was compiled since a time again, under another policy.

        With more than one process, the script must guard its start with `__name__ == "__main__"`.
        """
        from weft.audit.backtest_from_log import backtest_policy

        return await backtest_policy(
            self._connection, self._tenant, policy, self._key, processes, since_ns
        )

    async def fork(self, session: str, at: int, new: str) -> Forked:
        """Copy a session, as it was at a sequence, to session `new`."""
        from weft.copies.forking import fork

        return await fork(self._connection, self._tenant, session, at, new)

    async def export(self, file: BinaryIO, session: str | None = None) -> Exported:
        """A session, or the whole tenant, as JSON lines."""
        from weft.copies.exporting import export

        return await export(self._connection, self._tenant, session, file)

    async def import_(self, file: BinaryIO, session: str | None = None) -> Imported:
        """Copy an export into the log; a single session under another name, if one is given."""
        from weft.copies.importing import import_

        return await import_(self._connection, file, self._tenant, session)

    async def erase(self, session: str, reason: str = "") -> Erased:
        """Erase a session and its forks everywhere. This cannot be undone."""
        return await self._erase(session, reason)

    async def erase_scope(self, scope: str, reason: str = "") -> ErasedScope:
        """Erase a scope such as `user:42`: its items in every session, everything derived from
        them, and its memory. This cannot be undone."""
        from weft.erasure.scope import erase_scope, plan_scope

        found = await plan_scope(self._connection, self._tenant, scope)
        return await erase_scope(self._connection, found, reason)

    async def erase_tenant(self, reason: str = "") -> Erased:
        """Erase the whole tenant everywhere. This cannot be undone."""
        return await self._erase(None, reason)

    async def _erase(self, session: str | None, reason: str) -> Erased:
        from weft.erasure.session import erase, plan

        found = await plan(self._connection, self._tenant, session)
        return await erase(self._connection, found, reason)

    async def rederive(self, worker: str, session: str | None = None) -> Rederived:
        """Run this release's `firewall`, `summarizer` or `memory` over the past."""
        from weft.rederive.run import rederive

        return await rederive(self._connection, self._settings, worker, session)

    async def verify(self, data_dir: Path | None = None) -> Verification:
        """Whether the log, its bodies and the replica on a data folder agree; the settings' folder
        if none is given."""
        from weft.audit.verify import verify

        folder = data_dir or self._settings.data_dir
        return await verify(self._connection, folder, self._settings.encoding)

    async def rebuild(self, data_dir: Path | None = None, *, snapshot: bool = False) -> Rebuilt:
        """Build a replica's read model anew from the log, or from the newest snapshot, beside the
        live one."""
        from weft.indexer.rebuild import rebuild

        folder, encoding = data_dir or self._settings.data_dir, self._settings.encoding
        return await rebuild(self._connection, folder, encoding, snapshot=snapshot)

    async def snapshot(self, data_dir: Path | None = None) -> Snapshot:
        """Put a replica's read model into the object store."""
        from weft.snapshots.snapshot import take

        return await take(self._connection, data_dir or self._settings.data_dir)

    async def trim(self, before: int) -> Trimmed:
        """Remove every session's events below a sequence from the log, once a snapshot contains
        them."""
        from weft.snapshots.trimming import trim

        return await trim(self._connection, before, self._settings.encoding)

    async def dead_letters(self, session: str | None = None) -> list[DeadLetter]:
        """What workers gave up, open or not."""
        from weft.dead_letters.reviving import dead_letters

        return await dead_letters(self._connection, self._tenant, session)

    async def revive(self, *letters: DeadLetter, drop: bool = False) -> int:
        """Have these processed again, or dropped; returns the sequence of the last event about
        it."""
        from weft.dead_letters.reviving import revive

        return await revive(self._connection, self._tenant, letters, drop)
