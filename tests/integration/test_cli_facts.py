"""`weft facts` on a real server with its workers."""

import asyncio

import pytest
from tests.integration.command_line import weft

import weft as package

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = 60.0


async def test_what_a_scope_remembers_is_listed_with_its_sources(url: str) -> None:
    async with package.connect(url, tenant="listing") as client:
        async with client.session("s1", scope="user:42", timeout=PATIENCE) as s:
            s.add({"role": "user", "content": "My name is Ada Obi."})
        async with asyncio.timeout(PATIENCE):
            while not (known := await client.facts("user:42", after=s.after, timeout=PATIENCE)):
                await asyncio.sleep(0.05)
    [fact] = known
    assert (fact.value, fact.session, fact.sequence) == ("Ada Obi", "s1", s.after)
    listed = await weft("facts", "user:42", "--tenant", "listing", url=url)
    assert (listed.code, "Ada Obi" in listed.out, fact.sources[0] in listed.out) == (0, True, True)
    made = await weft("facts", "user:42", "--tenant", "listing", "--json", url=url)
    assert [one["key"] for one in made.json] == [fact.key]
    none = await weft("facts", "user:7", "--tenant", "listing", url=url)
    assert (none.out, none.err) == ("", "nothing is remembered for user:7\n")
    other = await weft("facts", "session:s1", "--tenant", "listing", url=url)
    assert other.code != 0
    assert "scope 'session:s1' is not granted" in other.err
