"""Concepts of everyday words: weft's own list, and a deployment's, which replaces it."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weft.gateway.configuration.config import GatewayConfig
from weft.gateway.data_folder import DataFolder
from weft.gateway.gateway import Gateway
from weft.gateway.log.deployment import GatewayDeployment
from weft.router.concepts import Concepts, concepts_in, own_concepts
from weft.router.router import Router
from weft.router.words import words_of
from weft.runtime.settings import Settings, read_settings
from weft_schemas.errors import ConfigurationError
from weft_schemas.routing import RouteRequest, SelectableItem

ITEMS = [
    SelectableItem("coins", "coins", "Shows cryptocurrencies."),
    SelectableItem("vessel", "vessel", "Finds a boat."),
]


def concept_file(folder: Path, text: str) -> Concepts:
    file = folder / "concepts.txt"
    file.write_text(text)
    return concepts_in(read_settings({"WEFT_ROUTER_CONCEPTS": str(file)}).router_concepts)


def found(query: str, concepts: Concepts | None = None) -> list[str]:
    router = Router(ITEMS, concepts=concepts)
    return [card.id for card in router.route(RouteRequest(query, "c")).cards]


def test_related_words_share_a_concept() -> None:
    concepts = concepts_in(None)
    assert set(concepts["bitcoin"]) & set(concepts["crypto"])
    assert found("bitcoin") == ["coins"]


def test_no_product_or_company_is_in_the_list() -> None:
    names = words_of("airbnb tesla netflix spotify youtube midjourney github nasa lemon solana")
    assert not own_concepts().keys() & set(names)


def test_a_file_replaces_the_list(tmp_path: Path) -> None:
    concepts = concept_file(tmp_path, "# ships\nsea: yacht boat\n\n")
    assert found("a yacht", concepts) == ["vessel"]
    assert found("bitcoin", concepts) == []


def test_an_empty_file_means_no_concepts(tmp_path: Path) -> None:
    assert found("bitcoin", concept_file(tmp_path, "")) == []


def test_an_item_that_is_added_later_has_the_same_concepts() -> None:
    router = Router([], concepts={"boat": ("#sea",), "yacht": ("#sea",)})
    router.update(ITEMS)
    assert [card.id for card in router.route(RouteRequest("yacht", "c")).cards] == ["vessel"]


@pytest.mark.parametrize("text", ["boats", "sea:", ": boat", "\udcff"])
def test_a_file_in_another_form_is_refused_by_name(text: str, tmp_path: Path) -> None:
    file = tmp_path / "concepts.txt"
    file.write_text(text, errors="surrogateescape")
    with pytest.raises(ConfigurationError, match=r"WEFT_ROUTER_CONCEPTS: .*concepts\.txt cannot"):
        concepts_in(file)


async def test_a_gateways_search_uses_the_file_too(tmp_path: Path) -> None:
    file = tmp_path / "concepts.txt"
    file.write_text("sea: yacht boat")
    settings = Settings(router_concepts=file, data_dir=tmp_path)
    deployment = GatewayDeployment(settings, named=True)
    made = Gateway(GatewayConfig(servers={}), deployment, DataFolder(tmp_path))
    manifest = SimpleNamespace(tools=[{"name": "boat", "inputSchema": {"type": "object"}}])
    server: Any = SimpleNamespace(
        name="s", manifest=manifest, wait_for_lists=lambda: asyncio.sleep(0)
    )
    made.upstreams["s"] = server
    made.catalogue.refresh()
    made.catalogue.complete.set()
    assert "s:boat" in await made.catalogue.find({"query": "yacht"}, "estimate")
