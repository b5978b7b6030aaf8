"""Reads other people's transcripts as items, and writes compiled entries as providers' messages.

`read_transcripts` takes any file in a known format, with one transcript or many; `openai.messages`
and `anthropic.messages` go the other way.
"""

from weft.adapters.formats import FORMATS, Transcript, detect, read_items, read_transcripts

__all__ = ["FORMATS", "Transcript", "detect", "read_items", "read_transcripts"]
