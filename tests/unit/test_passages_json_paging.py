"""What says that a JSON reply lists only a part is shown with any of its records."""

import json

import pytest

from weft.passages.splitting import outline_of

RECORDS = [
    {"id": f"ch_{n}", "amount": 100 * n, "note": f"the payment of week {n}"} for n in range(20)
]


def always_shown(reply: object) -> str:
    text = json.dumps(reply)
    outline = outline_of(text, "application/json")
    assert outline is not None
    return " ".join(text[one.start : one.end] for one in outline.leaves if one.identifies)


@pytest.mark.parametrize(
    "fields",
    [
        {"has_more": True},
        {"next_page": "WyJjaF8zU0F6azFLZDBWdDVMbVl6MHBRbjRDd0UiXQ=="},
        {"nextPageToken": "CAoQAA"},
        {"NextToken": "eyJ2IjoxfQ"},
        {"IsTruncated": True},
        {"total": 214},
        {"total_count": 21},
        {"paging": {"hasNextPage": True, "endCursor": "Y3Vyc29y"}},
    ],
)
def test_it_is_shown_with_any_record(fields: dict[str, object]) -> None:
    made = always_shown({"id": "r1", **fields, "padding": "y" * 300, "data": RECORDS})
    assert all(json.dumps({key: value})[1:-1] in made for key, value in fields.items())


@pytest.mark.parametrize(
    "fields",
    [
        {"has_more": False},
        {"next_page": None},
        {"next_cursor": ""},
        {"total": 20},
        {"total_cent": 214},
    ],
)
def test_what_says_that_there_is_no_more_is_not(fields: dict[str, object]) -> None:
    made = always_shown(
        {"id": "r1", "padding": "y" * 300, "more": "z" * 300, **fields, "data": RECORDS}
    )
    assert not any(key in made for key in fields)
