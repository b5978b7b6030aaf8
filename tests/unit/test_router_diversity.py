"""Near-copies leave room for others."""

from weft.router.beam_search import Hit
from weft.router.router import Router
from weft_schemas.routing import RouteRequest, SelectableItem

COPIES = [
    SelectableItem(f"copy{n}", f"invoice_search_{where}", f"Search invoices in the {where}.")
    for n, where in enumerate(["north", "south", "east", "west", "centre"])
]
OTHER = SelectableItem("mail", "mail_invoice", "Send one by e-mail, with a letter to the customer.")


def ids(items: list[SelectableItem], query: str, top_k: int) -> list[str]:
    reply = Router(items).route(RouteRequest(query, "c", top_k=top_k))
    return [card.id for card in reply.cards]


def test_two_copies_of_a_kind_are_enough() -> None:
    found = ids([*COPIES, OTHER], "search invoices", 3)
    assert sorted(found[:2]) == ["copy0", "copy1"]
    assert found[2] == "mail"


def test_more_copies_fill_what_nothing_else_does() -> None:
    assert len(ids([*COPIES, OTHER], "search invoices", 6)) == 6


def test_the_copy_that_is_asked_for_is_first() -> None:
    assert ids([*COPIES, OTHER], "search invoices in the west", 3)[0] == "copy3"


def test_the_flat_ranking_is_varied_alike() -> None:
    router = Router([*COPIES, OTHER])
    flat: list[Hit] = router.flat("search invoices", 3)
    assert [hit.id for hit in flat] == ids([*COPIES, OTHER], "search invoices", 3)


def test_opposites_are_no_copies() -> None:
    pairs = [
        SelectableItem("c", "create_user", "Create a new user account."),
        SelectableItem("d", "delete_user", "Remove an account for good."),
        SelectableItem("l", "list_users", "Show everybody who has access."),
    ]
    assert set(ids(pairs, "user", 3)) == {"c", "d", "l"}
