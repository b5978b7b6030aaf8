"""However many secrets a text holds, and however much in it only looks like one, none stays."""

import msgspec
import pytest
from tests.firewall_made import KEY, envelope

from weft.firewall.bounds import Bounds
from weft.firewall.guards import scan
from weft.secrets.scanning import as_shown, without_secrets
from weft_schemas.items import Sensitivity
from weft_schemas.policy import FirewallRules, PiiAction

FEW = 3
"""A bound that each text below exceeds."""
MANY = 12_000
VALUE = "Zx81kQpLm2v"
BEFORE = {
    "names of nothing": '{"auth": "none", "token": "ab"}\n',
    "counts": '{"prompt_tokens": 12, "k": 1}\n',
    "values": "value: x1y2\n",
    "found by their format": "ghp_" + "a1B2" * 9 + "\n",
    "found by their name": "password = q9w8e7r6t5\n",
    "documents": "---\nkind: ConfigMap\n",
}
LAST = f"DB_PASSWORD={VALUE}\n---\nname: DB_PASSWORD\nvalue: {VALUE}\n"


@pytest.mark.parametrize("before", BEFORE)
def test_what_stands_behind_many_others_is_masked(before: str) -> None:
    text = BEFORE[before] * MANY + LAST
    shown = scan(text, FirewallRules(), KEY, FEW).text
    for seen in (shown, without_secrets(text, KEY), as_shown(text)):
        assert VALUE not in seen
        assert "ghp_" not in seen
        assert "q9w8e7r6t5" not in seen


def test_a_secret_of_kubernetes_behind_many_objects_is_masked() -> None:
    kinds = "kind: Secret\ndata:\n  a: bcde1\n---\n" * 2 * MANY
    assert "bcde1" not in without_secrets(kinds, KEY)


def test_personal_data_behind_much_that_is_none_is_masked_and_raises() -> None:
    text = "10.0.0 and 1.2.3.999, order 1234567890123\n" * MANY + "ann@example.com, 8.8.8.8\n"
    masked = scan(text, FirewallRules(pii=PiiAction.MASK), KEY, FEW)
    assert "8.8.8.8" not in masked.text
    assert "ann@example.com" not in masked.text
    text = "1.2.3.999\n" * MANY + "8.8.8.8\n"
    raised = scan(text, FirewallRules(pii=PiiAction.RAISE), KEY, FEW)
    assert raised.sensitivity is Sensitivity.CONFIDENTIAL


def test_a_body_with_more_masks_than_an_event_holds_has_no_clean_text_and_says_so() -> None:
    rules = FirewallRules(threshold=0, show="fit")
    text = "".join(f"password = q9w8e7r6t{n}\n" for n in range(8))
    assert envelope(text, rules).clean is not None
    limits = msgspec.structs.replace(Bounds(), masks=7)
    found = envelope(text, rules, limits=limits)
    assert found.clean is None
    assert "q9w8" not in found.summary
    assert [(one.kind, one.name) for one in found.signals if one.kind == "bounded"] == [
        ("bounded", "masks")
    ]
    whole = envelope(text, FirewallRules(threshold=1_000_000), limits=limits)
    assert whole.complete
    assert not [one for one in whole.signals if one.kind == "bounded"]
