"""A framework's own pictures take the places of their placeholders, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

from weft.integrations.media import MAX_EARLIER_MEDIA, media_in, placeholder_of, with_media
from weft.messages import Format


def picture(number: int, format: Format) -> dict[str, Any]:
    data = "QUJD" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] * 4
    match format:
        case "openai":
            return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        case "openai-responses":
            return {"type": "input_image", "image_url": f"data:image/png;base64,{data}"}
        case "gemini":
            return {"inline_data": {"mime_type": "image/png", "data": data}}
        case _:
            return {"type": "image", "base64": data, "mime_type": "image/png"}  # LangChain's


def said(role: str, format: Format, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts" if format == "gemini" else "content": list(parts)}


FORMATS: tuple[Format, ...] = ("openai", "openai-responses", "anthropic", "gemini")


@pytest.mark.parametrize("format", FORMATS)
def test_a_part_whose_type_is_an_object_is_no_media(format: Format) -> None:
    odd = said("user", format, {"type": {"name": "circle"}}, {"type": ["image"]})
    assert media_in([odd, said("user", format, picture(1, format))], format) == {
        placeholder_of(picture(1, format), format): picture(1, format)
    }


@pytest.mark.parametrize("format", FORMATS)
def test_the_media_since_the_latest_words_are_found_and_of_earlier_ones_the_newest(format) -> None:
    early = [said("user", format, picture(at, format)) for at in range(12)]
    late = said("user", format, {"text": "and?", "type": "text"}, *[
        picture(at, format) for at in (12, 13)
    ])  # fmt: skip
    found = media_in([*early, said("assistant", format), late], format)
    assert list(found.values()) == [
        picture(at, format) for at in range(13, 13 - MAX_EARLIER_MEDIA, -1)
    ]
    many = said("user", format, *[picture(at, format) for at in range(20)])
    assert len(media_in([many], format)) == 20
    assert media_in([said("user", format, {"type": "text", "text": "no picture"})], format) == {}


@pytest.mark.parametrize(
    "result",
    [
        said("user", "anthropic", {
            "type": "tool_result", "tool_use_id": "a", "content": [picture(1, "anthropic")]
        }),
        {"type": "function_call_output", "call_id": "a",
         "output": [picture(1, "openai-responses")]},
    ],
)  # fmt: skip
def test_media_of_a_result_belong_to_the_words_before_it(result) -> None:
    format: Format = "anthropic" if "role" in result else "openai-responses"
    words = said("user", format, *[picture(at, format) for at in range(2, 12)])
    assert len(media_in([words, result], format)) == 11


def test_a_text_is_split_at_placeholders_and_json_is_left_alone() -> None:
    name = placeholder_of(picture(1, "openai"), "openai")
    assert name is not None and name.startswith("[image left out: image/png")  # noqa: PT018
    media = {name: "PICTURE"}
    split = with_media(f"user: look\n{name}\n<data:1>{name}</data:1>", media, str.strip)
    assert split == ["user: look", "PICTURE", "<data:1>", "PICTURE", "</data:1>"]
    for text in ("no picture", f'[{{"text": "{name}"}}]', f'"a\\n{name}\\nb"'):
        assert with_media(text, media, str.strip) == text


def test_a_picture_in_a_document_is_found_and_the_document_is_not() -> None:
    """It goes to the model as weft has scanned it, in its fence."""
    inner = [{"type": "text", "text": "Look."}, picture(1, "anthropic")]
    documents = [
        {"type": "document", "source": {"type": "content", "content": inner}},
        {"type": "search_result", "source": "https://h.example", "title": "A", "content": inner},
    ]
    for document in documents:
        assert placeholder_of(document, "anthropic") is None
        assert media_in([said("user", "anthropic", document)], "anthropic") == {
            placeholder_of(picture(1, "anthropic"), "anthropic"): picture(1, "anthropic")
        }
