"""A user that is bound to its session, as docs/security.md says how: it publishes and asks there
alone, and nothing else of the tenant's is open to it."""

import re
from pathlib import Path

import pytest
from tests.data import ROOT
from tests.guarded import guarded_server, probing, signed_in

from weft.audit.permission_files import findings_in
from weft.log.publishing import Publisher
from weft_schemas.subjects import item_subject

ACME = Path("tenants") / "acme.conf"
OWN = [
    "weft.acme.kiosk.in.user_turn.kiosk",
    "weft.acme.kiosk.in.tool_result.kiosk",
    "weft-rpc.acme.kiosk.compile.kiosk",
    "weft-rpc.acme.kiosk.hydrate.kiosk",
]
OTHERS = [
    "weft.acme.s1.in.user_turn.kiosk",
    "weft.acme.kiosk.in.user_turn",
    "weft.acme.kiosk.in.user_turn.assistant",
    "weft.acme.kiosk.in.revived.kiosk",
    "weft.acme.kiosk.out.envelope",
    "weft.acme.@tenant.out.policy",
    "weft-rpc.acme.s1.compile.kiosk",
    "weft-rpc.acme.s1.explain.kiosk",
    "weft-rpc.acme.kiosk.compile",
    "weft-rpc.acme.kiosk.compile.@operator",
    "weft-rpc.acme.@tenant.sessions.kiosk",
    "weft-rpc.acme.@tenant.drilldown.kiosk",
    "weft-rpc.rival.kiosk.compile.kiosk",
]


def bound(text: str) -> str:
    """A tenant's file with the user that the document adds."""
    document = (ROOT / "docs" / "security.md").read_text()
    imported, user = re.findall(r"```\n +# among [^\n]*\n(.*?)```", document, re.DOTALL)
    text = text.replace("  imports: [\n", f"  imports: [\n{imported}", 1)
    return text.replace("  users: [\n", f"  users: [\n{user}", 1)


async def test_a_user_bound_to_its_session_has_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KIOSK_PASSWORD", "p-acme_kiosk_password")
    async with guarded_server(tmp_path / "nats", tenant=bound) as server:
        async with probing(server, "acme-kiosk") as probe:
            assert [one for one in OWN if not await probe.may_publish(one)] == []
            assert [one for one in OTHERS if await probe.may_publish(one)] == []
        async with signed_in(server, "acme-kiosk") as kiosk, Publisher(kiosk) as publisher:
            subject = item_subject("acme", "kiosk", "user_turn", "kiosk")
            ack = await publisher.publish(subject, b"{}", "one")
            assert ack.sequence > 0
    assert findings_in(tmp_path / "nats" / ACME) == []
