"""`weft sessions` on a real server."""

import pytest
from tests.integration.command_line import weft

import weft as package
from weft.cli.sessions import newest_sessions

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = 60.0


async def test_sessions_are_listed_the_last_active_first(url: str) -> None:
    turn = {"role": "user", "content": "Which invoice is open?"}
    async with package.connect(url, tenant="sessions") as client:
        for name in ("b", "a", "c", "d", "e"):
            async with client.session(name) as s:
                s.add(turn)
        async with client.session("a") as s:
            s.add({"role": "user", "content": "And now?"})
        ack = await client.close_session("b")
        await client.compile("a", "answer", after=ack.sequence, timeout=PATIENCE)
        in_pages, count = await newest_sessions(client, 2, page=2)
    assert ([one.session for one in in_pages], count) == (["a", "e"], 5)
    ran = await weft("sessions", "--tenant", "sessions", "--json", url=url)
    assert ran.code == 0, ran.err
    assert [(one["session"], one["items"], one["closed"]) for one in ran.json] == [
        ("a", 2, False), ("e", 1, False), ("d", 1, False), ("c", 1, False), ("b", 1, True),
    ]  # fmt: skip
    newest = ran.json[0]
    ran = await weft("sessions", "--tenant", "sessions", "--limit", "1", url=url)
    [_, row] = ran.out.splitlines()
    assert row.split() == ["a", "2", str(newest["sequence"]), newest["at"], "open"]
    assert ran.err == "\n4 older ones: --limit 5\n"


async def test_a_tenant_without_sessions_has_none(url: str) -> None:
    ran = await weft("sessions", "--tenant", "nobody-here", url=url)
    assert (ran.code, ran.out, ran.err) == (0, "", "tenant nobody-here has no sessions\n")
