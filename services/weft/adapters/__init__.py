"""Other people's transcripts to items, and compiled entries to providers' messages.

`read_transcripts` takes any file that we know, one transcript or many; `openai.messages` and
`anthropic.messages` go the other way.
"""

from weft.adapters.formats import FORMATS, Transcript, detect, read_items, read_transcripts

__all__ = ["FORMATS", "Transcript", "detect", "read_items", "read_transcripts"]
