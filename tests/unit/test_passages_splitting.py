"""From a text to its outline: by its form, kept as bytes, searched by its passages."""

import json
import random
from itertools import pairwise

import pytest

from weft.passages.asides import split_with_asides
from weft.passages.literals import decoded
from weft.passages.part import PASSAGE, leaf_count, leaves, packed, passage_texts, unpacked
from weft.passages.splitting import SHORT, is_plain_line, outline_of, passages_of

TEXTS = {
    "json": (json.dumps([{"id": n, "note": "w " * 90} for n in range(30)]), ""),
    "call": ('write({"path": "a.py", "content": "' + "word. " * 200 + '"})', ""),
    "csv": ("id,name\n" + "".join(f"{n},name {n}\n" for n in range(200)), "text/csv"),
    "prose": ("# Head\n\n" + "\n\n".join(f"Paragraph {n}. " * 20 for n in range(20)), ""),
    "code": ("\n".join(f"def f{n}():\n    return {n}\n" for n in range(90)), ""),
}


def test_a_short_text_is_one_passage() -> None:
    assert outline_of("x" * SHORT) is None
    assert outline_of("") is None


def test_a_plain_line_is_one_passage_as_its_splitting_would_say() -> None:
    rng = random.Random(7)
    words = 'order paid a - -- # 1. 2024 | main ( " é 日本 key: = ; ... @@ +++ error: meta= * link'
    plain = 0
    for _ in range(2_000):
        words_of_line = rng.choices(words.split(" "), k=rng.randint(90, 130))
        line = rng.choice([" ", "  ", ". "]).join(words_of_line)[: rng.randint(SHORT + 1, 660)]
        if is_plain_line(line):
            plain += 1
            read = decoded(line)
            assert (read.text, read.literals, read.form, read.wrapper) == (line, (), "text", "")
            assert leaf_count(split_with_asides(line)) == 1
            assert passages_of(line) == (None, [line])
    assert plain > 1_000


@pytest.mark.parametrize("text", ["a\nb", "a\u2028b", 'say {"a": 1}', "see [1]", "<p>one", "a\\nb"])
def test_a_line_with_a_sign_of_a_form_is_not_plain(text: str) -> None:
    assert not is_plain_line(text)
    assert not is_plain_line("one line", "text/csv")


@pytest.mark.parametrize("form", TEXTS)
def test_an_outline_is_kept_as_bytes(form: str) -> None:
    made = outline_of(*TEXTS[form])
    assert made is not None
    assert leaf_count(made.root) > 1
    assert unpacked(packed(made)) == made
    assert made.is_json is (form in ("json", "call"))
    assert (packed(None), unpacked(b"")) == (b"", None)


@pytest.mark.parametrize("form", TEXTS)
def test_passages_are_all_of_the_text_and_of_about_one_size(form: str) -> None:
    text, content_type = TEXTS[form]
    made = outline_of(text, content_type)
    assert made is not None
    found = passage_texts(text, made)
    assert len(found) == len(made.passages)
    assert made.passages[0] == 0
    parts = list(leaves(made.root))
    bounds = [*made.passages, len(parts)]
    sizes = [sum(part.size for part in parts[a:b]) for a, b in pairwise(bounds)]
    assert max(sizes) <= 2 * PASSAGE + max(part.size for part in parts)
    for number, leaf in enumerate(parts):
        at = max(place for place, first in enumerate(made.passages) if first <= number)
        assert text[leaf.start : leaf.end] in found[at]


def test_a_passage_is_found_by_the_heading_that_it_stands_under() -> None:
    text, _ = TEXTS["prose"]
    made = outline_of(text)
    assert made is not None
    assert all("# Head" in one for one in passage_texts(text, made))
