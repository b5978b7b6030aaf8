import pytest

from weft.bodies.masking import clean_text, digest_of, masked_text
from weft_schemas.envelope import CleanBody, Mask
from weft_schemas.errors import Corrupt


def test_a_body_without_masks_is_its_clean_text() -> None:
    assert clean_text("naïve\ttext\n", CleanBody()) == "naïve\ttext\n"


def test_masks_count_characters_and_not_bytes() -> None:
    recorded = CleanBody(masks=(Mask(2, 5, "[a]"), Mask(6, 6, "+")))
    assert clean_text("üöabcß🙂", recorded) == "üö[a]ß+🙂"


def test_masks_lie_over_the_normalised_text() -> None:
    recorded = CleanBody(normalised=True, masks=(Mask(1, 4, "[a]"),))
    assert clean_text("x\u200ba\x1b[31mbc", recorded) == "x[a]"


def test_what_is_not_recorded_as_normalised_is_left_alone() -> None:
    assert clean_text("a\u200bb", CleanBody()) == "a\u200bb"


@pytest.mark.parametrize(
    "masks",
    [(Mask(0, 9, ""),), (Mask(-1, 1, ""),), (Mask(2, 1, ""),), (Mask(0, 2, ""), Mask(1, 3, ""))],
)
def test_masks_that_do_not_fit_the_body_are_refused(masks: tuple[Mask, ...]) -> None:
    with pytest.raises(Corrupt, match="weft rederive firewall"):
        masked_text("abcd", masks)


@pytest.mark.parametrize("body", ["the other body", "the body", "the bodY."])
def test_another_text_than_the_recorded_one_is_noticed(body: str) -> None:
    recorded = CleanBody(characters=9, digest=digest_of("the body."))
    assert clean_text("the body.", recorded) == "the body."
    with pytest.raises(Corrupt, match="weft rederive firewall"):
        clean_text(body, recorded)
