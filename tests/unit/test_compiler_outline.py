"""Texts taken apart: what is left keeps its values exact, beside their names."""

import json

from weft.compiler.outline import flat, outline, sentences, structured

FLIGHTS = """[
 {"flight": "HAT069", "prices": {"economy": 121, "business": 239.50}, "free": true},
 {"flight": "HAT083", "prices": {"economy": 100}, "note": null}
]"""


def chosen(text: str, *fields: str) -> str:
    made = outline(text)
    return made.assemble([at for at, part in enumerate(made.parts) if part.field in fields])


def test_fields_of_json_keep_their_names_and_their_place() -> None:
    assert chosen(FLIGHTS, "flight") == "[{flight=HAT069} {flight=HAT083}]"
    assert chosen(FLIGHTS, "economy") == "[{prices{economy=121}} {prices{economy=100}}]"


def test_numbers_and_literals_are_written_as_they_were() -> None:
    assert chosen(FLIGHTS, "business", "free", "note") == (
        "[{prices{business=239.50} free=true} {note=null}]"
    )


def test_all_parts_together_say_everything() -> None:
    made = outline(FLIGHTS)
    text = made.assemble(range(len(made.parts)))
    for value in ("HAT069", "121", "239.50", "HAT083", "100"):
        assert value in text


def test_a_short_list_of_plain_values_is_one_part() -> None:
    assert [part.text for part in structured({"ids": ["A1", "B2"]}).parts] == ["ids=[A1, B2]"]


def test_sentences_left_out_are_marked() -> None:
    made = outline("First one. Second one. Third one.")
    assert made.assemble([0, 2]) == "First one. … Third one."
    assert made.assemble([1]) == "… Second one. …"
    assert made.assemble([]) == "…"


def test_lines_of_a_quoted_result_are_lines() -> None:
    made = outline("content=[Text(text='server: a\\nport: 12\\nmode: x')]")
    assert "port: 12" in [part.text for part in made.parts]
    assert [part.field for part in made.parts if part.text == "port: 12"] == ["port"]


def test_a_long_sentence_is_cut_at_its_clauses() -> None:
    pieces = sentences(", ".join(f"clause number {n} of a long one" for n in range(40)))
    assert max(map(len, pieces)) <= 320
    assert len(pieces) > 3


def test_a_long_sentence_without_clauses_is_cut_at_blanks() -> None:
    text = " ".join(f"word-{n}" for n in range(100)) + " " + "x" * 700
    pieces = sentences(text)
    assert max(map(len, pieces)) <= 320
    assert set(text.split()[:100]) <= {word for piece in pieces for word in piece.split()}
    made = outline(text)
    assert made.assemble(range(len(made.parts)))[: text.index("xxx")] == text[: text.index("xxx")]


def test_broken_json_and_deep_json_are_taken_as_text_or_whole() -> None:
    assert outline('{"a": 1').parts
    assert outline("[" * 5_000).parts
    deep = structured(json.loads("[" * 100 + "1" + "]" * 100))
    assert "1" in deep.assemble(range(len(deep.parts)))


def test_arguments_read_flat() -> None:
    assert flat({"id": "m_3", "to": {"city": "Oslo"}}) == "id=m_3 to{city=Oslo}"
    assert flat({}) == ""
