"""From a text to its outline: by its form, kept as bytes, searched by its passages."""

import json

import pytest

from weft.passages.part import PASSAGE, leaf_count, leaves, packed, passage_texts, unpacked
from weft.passages.splitting import SHORT, outline_of

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
    sizes = [
        sum(part.size for part in parts[a:b]) for a, b in zip(bounds, bounds[1:], strict=False)
    ]
    assert max(sizes) <= 2 * PASSAGE + max(part.size for part in parts)
    for number, leaf in enumerate(parts):
        at = max(place for place, first in enumerate(made.passages) if first <= number)
        assert text[leaf.start : leaf.end] in found[at]


def test_a_passage_is_found_by_the_heading_that_it_stands_under() -> None:
    text, _ = TEXTS["prose"]
    made = outline_of(text)
    assert made is not None
    assert all("# Head" in one for one in passage_texts(text, made))
