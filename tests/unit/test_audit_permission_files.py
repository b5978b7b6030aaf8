"""A tenant's permission file that grants too much, or lacks what was added, is told by its user."""

from pathlib import Path

import pytest
from tests.data import ROOT

from weft.audit.permission_files import findings_in
from weft_schemas.errors import InvalidInput

SHIPPED = ROOT / "deploy" / "nats" / "tenants" / "acme.conf"


def findings(path: Path, text: str) -> list[tuple[str, bool, str]]:
    path.write_text(text)
    return [(one.user, one.is_too_much, one.what.split(" (")[0]) for one in findings_in(path)]


def test_the_shipped_files_are_as_they_should_be() -> None:
    assert findings_in(SHIPPED) == []
    assert findings_in(ROOT / "deploy" / "nats") == []


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ('deny: ["weft.acme.@tenant.>", "weft.acme.*.in.revived"]', "",
         [("acme-agent", True, "may publish items as the tenant"),
          ("acme-agent", True, "may decide on parked events, which is the operator's")]),
        ('"weft.acme.*.in.revived.*"', '"weft.acme.*.in.gone.*"',
         [("acme-assistant", True, "may decide on parked events, which is the operator's")]),
        ('allow: ["weft.acme.*.in.*", "weft-rpc.acme.*.*"]',
         'allow: ["weft.acme.*.in.>", "weft-rpc.acme.>"]',
         [("acme-agent", True, "may loosen the policy in force"),
          ("acme-agent", True, "may ask as any principal"),
          ("acme-agent", True, "may publish as any principal")]),
        ('publish: ["weft-rpc.acme.*.*"]', 'publish: ["weft-rpc.acme.>"]',
         [("acme-reader", True, "may loosen the policy in force"),
          ("acme-reader", True, "may ask as any principal")]),
        ('"weft-rpc.acme.*.*", "weft-rpc.acme.*.*.@operator"', '"weft-rpc.acme.*.*"',
         [("acme-operator", False, "may not loosen a policy for a request of its own")]),
        ('allow: ["weft.acme.*.in.*.assistant", "weft-rpc.acme.*.*.assistant"]',
         'allow: ["weft.acme.*.in.*.assistant"]',
         [("acme-assistant", False, "may not ask as assistant")]),
        ('allow: ["weft.acme.*.in.*",', 'allow: ["weft.acme.>",',
         [("acme-agent", True, "may publish what only workers derive")]),
    ],
)  # fmt: skip
def test_what_an_old_file_lacks_is_told(
    old: str, new: str, wrong: list[tuple[str, bool, str]], tmp_path: Path
) -> None:
    text = SHIPPED.read_text()
    assert text.count(old) == 1
    found = findings(tmp_path / "acme.conf", text.replace(old, new))
    assert [one for one in wrong if one not in found] == []
    assert {user for user, _, _ in found} == {user for user, _, _ in wrong}


def test_another_tenants_name_is_understood(tmp_path: Path) -> None:
    text = SHIPPED.read_text().replace("acme", "rival").replace("ACME", "RIVAL")
    assert findings(tmp_path / "rival.conf", text) == []


def test_what_is_commented_out_does_not_count(tmp_path: Path) -> None:
    deny = 'deny: ["weft.acme.@tenant.>", "weft.acme.*.in.revived"]'
    found = findings(tmp_path / "acme.conf", SHIPPED.read_text().replace(deny, f"# {deny}"))
    assert ("acme-agent", True, "may publish items as the tenant") in found


def test_a_file_without_a_tenant_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no user with rights"):
        findings(tmp_path / "other.conf", "accounts { SYS { users: [{ user: sys }] } }")
    with pytest.raises(InvalidInput, match="cannot be read"):
        findings_in(tmp_path / "missing.conf")
