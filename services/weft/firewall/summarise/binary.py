"""Describes bytes that are not text: their type and their number, never the bytes themselves."""

from __future__ import annotations

from weft.firewall.form import Form
from weft.firewall.unwrap import dimensions

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-elf"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ", "application/x-xz"),
    (b"7z\xbc\xaf", "application/x-7z-compressed"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x00asm", "application/wasm"),
    (b"RIFF", "application/x-riff"),
)
"""First bytes of common formats, from their specifications."""
_STARTS = tuple(magic for magic, _ in _MAGIC)
_SAMPLE = 8_192
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 27})
_SHARE = 0.1
"""From this share of control codes on, bytes are not text."""


def binary_type(data: bytes) -> str | None:
    """The MIME type of bytes that are not text; None for text. An image in text form (a data URL)
    is text."""
    if data.startswith(_STARTS) and not _is_text(data[:256]):
        return next(mime for magic, mime in _MAGIC if data.startswith(magic))
    sample = data[:_SAMPLE]
    if not sample or len(sample) - len(sample.translate(None, _CONTROL)) <= _SHARE * len(sample):
        return None
    return None if _is_text(sample) else Form.BINARY.value


def _is_text(sample: bytes) -> bool:
    """Valid UTF-8 (except for a character that is cut off at the end) with few control codes."""
    try:
        sample[: max(len(sample) - 4, 0)].decode()
    except UnicodeDecodeError:
        return False
    return len(sample) - len(sample.translate(None, _CONTROL)) <= 0.3 * len(sample)


def summarise_binary(data: bytes, mime: str, size: int) -> str:
    shape = dimensions(data[:65_536])
    return f"[{mime}{', ' + shape if shape else ''}, {size} bytes; not shown]"
