"""Traces in: spans with GenAI attributes as items of a session.

    spans = otlp.spans(content, "application/x-protobuf")
    for session, items in conversion.sessions(spans).items(): ...

Everything here is pure. An item's id follows from what was said and how often before in the same
list of messages, not from the span: each call of a model repeats the whole history, spans come late
or twice, and still everything is one item.
"""
