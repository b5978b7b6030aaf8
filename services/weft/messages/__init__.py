"""Live messages to items and back: the content of an agent's loop, in its provider's form.

    read = weft.messages.read(messages)             # read.items, read.left_out
    request = weft.messages.request(pack, "gemini")  # keyword arguments for the provider's call

Formats: `openai` (chat completions), `openai-responses` (the items of the Responses API),
`anthropic` (messages) and `gemini` (contents). A message is a dict as it is sent, or the object
that the provider's own library returned. Everything here is pure: nothing is published.

An item's id is its place among the items of the history and a hash of its content, such as
`u3-5f0c…`. So reading the same history again gives the same items, a longer one the same and some
more, and two equal messages are two items. `Client.publish_messages` also recognises a history
whose beginning was cut off, see `weft.messages.history_matching`.
"""

from weft.messages.definitions import definition as definition
from weft.messages.offered_tools import OfferedTools as OfferedTools
from weft.messages.offered_tools import Selection as Selection
from weft.messages.reading import FORMATS as FORMATS
from weft.messages.reading import Format as Format
from weft.messages.reading import Messages as Messages
from weft.messages.reading import ReadMessages as ReadMessages
from weft.messages.reading import ToolCall as ToolCall
from weft.messages.reading import left_out_in_words as left_out_in_words
from weft.messages.reading import read as read
from weft.messages.reading import tool_call as tool_call
from weft.messages.reading import tool_calls as tool_calls
from weft.messages.writing import PROVIDERS as PROVIDERS
from weft.messages.writing import Provider as Provider
from weft.messages.writing import request as request
