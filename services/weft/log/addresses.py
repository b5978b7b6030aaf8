"""Addresses of servers as messages may show them."""

from __future__ import annotations

import re

_NEXT = re.compile(r"(,\s*(?=\w+://))")
"""The signs between several addresses."""


def with_credentials_as(addresses: str, shown: str) -> str:
    """One or several addresses, in which `shown` replaces what stands between `//` and the last `@`
    of each, and that `@`: a user, a password or a token. Linear in the text."""
    return "".join(_with_credentials_as(one, shown) for one in _NEXT.split(addresses))


def _with_credentials_as(address: str, shown: str) -> str:
    start, end = address.find("//") + 2, address.rfind("@")
    return address if not 2 <= start <= end else address[:start] + shown + address[end + 1 :]
