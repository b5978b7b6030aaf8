"""docs/operations.md knows every metric and every setting, and no others."""

import re

from tests.data import ROOT

from weft.runtime.process import Process
from weft.runtime.settings import Settings

TEXT = (ROOT / "docs" / "operations.md").read_text()


def test_every_metric_is_explained_and_no_other():
    metrics = Process("firewall", Settings()).metrics
    families = {family.name: family.type for family in metrics.registry.collect()}
    shown = {f"{name}_total" if kind == "counter" else name for name, kind in families.items()}
    assert set(re.findall(r"^\| `(weft_\w+)`", TEXT, re.M)) == shown


def test_every_setting_is_explained():
    table = TEXT[TEXT.index("| variable |") :]
    named = set(re.findall(r"`(WEFT_\w+)`", table))
    assert named == {f"WEFT_{name.upper()}" for name in Settings.__struct_fields__}
