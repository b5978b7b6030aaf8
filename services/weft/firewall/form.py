"""The forms of a body that the firewall tells apart."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """The forms that have a summariser of their own, as MIME types."""

    JSON = "application/json"
    NDJSON = "application/x-ndjson"
    CSV = "text/csv"
    TSV = "text/tab-separated-values"
    TABLE = "text/x-markdown-table"
    ALIGNED = "text/x-aligned-table"
    LOG = "text/x-log"
    TRACEBACK = "text/x-traceback"
    DIFF = "text/x-diff"
    TESTS = "text/x-test-run"
    HTML = "text/html"
    MARKDOWN = "text/markdown"
    CODE = "text/x-source"
    XML = "application/xml"
    YAML = "application/yaml"
    LISTING = "text/x-listing"
    BINARY = "application/octet-stream"
    PROSE = "text/plain"
