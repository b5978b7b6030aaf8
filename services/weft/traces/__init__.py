"""Reads spans with GenAI attributes as items of a session.

    spans = otlp.spans(content, "application/x-protobuf")
    for session, items in conversion.sessions(spans).items(): ...

Everything here is pure. An item's id depends on its content and the number of equal messages before
it in the same list, not on the span: each call of a model repeats the whole history, and spans
arrive late or twice, and still every message is one item.
"""
