"""weft inside other people's agent frameworks: a thin module for each, on weft's public API alone.

Nothing is loaded before its module is: `from weft.integrations.langchain import WeftMiddleware`
needs the extra `langchain`. `docs/frameworks.md` has a section for each.
"""
