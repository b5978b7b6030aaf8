"""The works that a text cites stand beside what it says."""

from __future__ import annotations

from weft.passages.bibliography import with_bibliography
from weft.passages.part import leaves
from weft.passages.prose import split_prose

SAID = "Shift workers slept 41 minutes longer in the second week, and the third group did not. " * 5
WORK = (
    "{n}. Iversen A, Okafor B. Light and sleep of nurses who work at night, a trial in ward {n}. "
    "Journal of Sleep Research. 20{n}; 12(3): 45-67. https://doi.org/10.1000/jsr.{n}"
)


def works(count: int) -> list[str]:
    return [WORK.format(n=n) for n in range(10, 10 + count)]


def asides(text: str) -> str:
    """The list of works, though the text says the same several times."""
    found = leaves(with_bibliography(text, split_prose(text)))
    return "".join(text[leaf.start : leaf.end] for leaf in found if leaf.is_aside)


def test_the_list_of_works_at_the_end_is_an_aside() -> None:
    body = [SAID, "## Results", SAID, "## Limits", SAID, SAID, "## Works"]
    text = "\n\n".join([*body, *works(8)])
    found = asides(text)
    assert all(work in found for work in works(8))
    assert "41 minutes" not in found


def test_a_list_of_works_is_what_a_search_was_for() -> None:
    assert not asides("\n\n".join(["Found 12 works.", *works(12)]))


def test_a_few_works_or_those_in_the_middle_are_no_aside() -> None:
    assert not asides("\n\n".join([SAID, SAID, SAID, *works(2)]))
    assert not asides("\n\n".join([SAID, *works(8), SAID, SAID, SAID]))


def test_dated_steps_at_the_end_are_no_list_of_works() -> None:
    steps = [f"- 2026-03-{day}: the valve was changed, and the pump ran." for day in range(10, 22)]
    assert not asides("\n\n".join([SAID, SAID, SAID, *steps]))


def test_releases_and_talks_at_the_end_are_no_list_of_works() -> None:
    releases = [
        f"{n}. Release 3.{n} (2024-0{n}-11): mends the crash of module m{n}, after which one runs "
        f"`migrate --to {n}`. Announced at https://example.org/releases/3.{n}, with the checksums."
        for n in range(1, 9)
    ]
    talks = [f"- 2026-03-{day} 14:30-16:00 Light at night, hall B." for day in range(10, 22)]
    assert not asides("\n\n".join([SAID, SAID, SAID, SAID, *releases]))
    assert not asides("\n\n".join([SAID, SAID, SAID, *talks]))
