"""Words of names and sentences."""

import pytest

from weft.router.words import query_words, words_of


@pytest.mark.parametrize(
    "name", ["getUserDetails", "get_user_details", "get user details", "GET-USER.details"]
)
def test_spellings_of_one_name_are_one(name: str) -> None:
    assert words_of(name) == ["get", "user", "detail"]


def test_an_acronym_is_kept_whole() -> None:
    assert words_of("parseHTTPResponse") == ["pars", "http", "respons"]


def test_a_query_loses_what_every_query_says() -> None:
    assert words_of("Can you please help me with my invoices?") == ["invoic"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("検索ツール", ["検索", "索ツ", "ツー", "ール"]),
        ("Поиск файлов", ["поиск", "файлов"]),
        ("Café", ["café"]),
        ("🔧", []),
        ("", []),
    ],
)
def test_any_script_is_read(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("在GitHub上创建issue", ["在", "git", "hub", "上创", "创建", "issu"]),
        ("Slackでチームに", ["slack", "でチ", "チー", "ーム", "ムに"]),
        ("iPhone15を", ["phone15", "を"]),
    ],
)
def test_names_within_scripts_without_spaces_are_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_accents_are_left_out_of_a_query_where_only_that_is_known() -> None:
    known = {"hotel": 2, "café": 1, "reserv": 1}
    assert query_words("hôtels café Réserve ñandú", known) == ["hotel", "café", "reserv", "ñandú"]
    assert query_words("поиск й", known) == ["поиск", "й"]


def test_scripts_without_spaces_match_in_part() -> None:
    assert set(words_of("検索")) < set(words_of("全文検索ツール"))


def test_reading_is_bounded() -> None:
    assert len(words_of("word " * 1_000_000)) <= 800
