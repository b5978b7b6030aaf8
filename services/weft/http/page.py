"""The page for reading and trying the interface: one file that loads nothing from elsewhere."""

from pathlib import Path

PAGE = Path(__file__).with_suffix(".html").read_bytes()

POLICY = (
    "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a browser may load for it."""
