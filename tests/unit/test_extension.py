"""What a package adds by entry points is found: the example, installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.firewall.views.drill import drill
from weft.firewall.views.installed import registry
from weft.firewall.views.registry import Chunk, Part
from weft.redaction import redaction_hook
from weft.router.fusion import encoder_named
from weft.router.query_transform import configured
from weft.router.router import Router
from weft.testing import in_memory
from weft.tokens import DEFAULT_ENCODING
from weft_schemas.compile import DrilldownRequest
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, SensitivityAction
from weft_schemas.routing import RouteRequest, SelectableItem

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example as a package whose entry points are those that its text tells to write."""
    text = (EXAMPLES / "extension.py").read_text().split('"""')[1]
    points = re.sub(r'"', "", re.sub(r"project\.entry-points\.", "", text))
    lines = [line.strip() for line in points.splitlines() if re.match(r"\s{4}\S", line)]
    described = tmp_path / "extension-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: extension\nVersion: 1\n")
    (described / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.syspath_prepend(tmp_path)
    for found_once in (registry, redaction_hook):
        found_once.cache_clear()
    yield
    for found_once in (registry, redaction_hook):
        found_once.cache_clear()


@pytest.mark.usefixtures("installed")
def test_an_installed_view_is_offered_and_shows_its_slice() -> None:
    request = DrilldownRequest("art:x", "longest")
    body = "one\nthe longest of the three\ntwo\n"
    found = drill(
        body, request, content_type="text/plain", fingerprint_key=b"k", encoding=DEFAULT_ENCODING
    )
    assert found.text.strip() == "the longest of the three"
    assert "longest" in found.views
    assert "longest" not in registry().of("application/json")


def test_a_view_may_yield_chunks_by_the_name_of_release_0_2_0() -> None:
    assert Part is Chunk


@pytest.mark.usefixtures("installed")
def test_an_installed_encoder_is_found_by_its_name() -> None:
    encoder = encoder_named("letters")
    assert encoder.encode(["Rats"]) == encoder.encode(["star"])
    pytest.importorskip("numpy", reason="the extra `embeddings` is not installed")
    router = Router(
        [SelectableItem("a", "star", "x"), SelectableItem("b", "ooo", "u")], encoder=encoder
    )
    assert router.route(RouteRequest("arts", "c", top_k=1)).cards[0].id == "a"


@pytest.mark.usefixtures("installed")
async def test_an_installed_redaction_hook_is_named_by_a_policy() -> None:
    secret = ContextItem(
        "u", ItemKind.USER_TURN, "My salary is 1", sensitivity=Sensitivity.RESTRICTED
    )
    policy = ContextPolicy(
        sensitivity_floor=Sensitivity.RESTRICTED,
        sensitivity_action=SensitivityAction.REDACT,
        redaction_hook="size",
    )
    async with in_memory(policy=policy) as client:
        await client.publish("s", secret)
        pack = await client.compile("s", Phase.ANSWER)
    assert "[restricted: 4 words]" in pack.prompt
    assert "salary" not in pack.prompt


@pytest.mark.usefixtures("installed")
def test_an_installed_query_transformer_is_found_by_its_name() -> None:
    transformer = configured("last_sentence")
    assert transformer("I was in Rome. It rained! Book a hotel") == "Book a hotel"
    assert transformer("") == ""
