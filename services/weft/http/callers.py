"""Who sent a request: the grant of its token, or the grant of this machine's user if there are no
tokens."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from weft.http.grants import TokenGrant, TokenGrants
from weft.http.problems import RequestRefused
from weft_schemas.errors import ConfigurationError

OPEN = "whoever reaches this port"
"""Name of the grant that all requests have if there are no tokens."""
_OWN_PAGES = frozenset(["same-origin", "none"])
"""`none`: the user entered the address."""


def open_grant(tenant: str, principal: str = "") -> TokenGrant:
    """For a process without tokens, on loopback: everything that its own credential may do."""
    return TokenGrant(OPEN, tenant, principal=principal, read_log=True)


def caller(grants: TokenGrants | TokenGrant, authorization: str, host: str) -> TokenGrant:
    """The grant of a request. Raises `RequestRefused`. Without tokens, the request must name
    loopback as its host, so that a web page whose name points to this machine is refused."""
    if isinstance(grants, TokenGrant):
        if not is_loopback(host_name(host)):
            raise RequestRefused(
                403, "host", f"without tokens only localhost is served, not {host!r:.80}"
            )
        return grants
    scheme, _, token = authorization.partition(" ")
    found = grants.find(token.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        detail = "send a token of the tokens' file: Authorization: Bearer …"
        raise RequestRefused(401, "token", detail, www_authenticate='Bearer realm="weft"')
    return found


def check_page(headers: Mapping[str, str]) -> None:
    """Raises `RequestRefused` for a request that a web page of another address made a browser send.
    Browsers say so in `Sec-Fetch-Site`, older ones in `Origin` alone; other programs send neither.
    Without tokens nothing else tells such a request from the user's own."""
    site, origin = headers.get("sec-fetch-site", ""), headers.get("origin", "")
    if site.strip().lower() in _OWN_PAGES if site else _is_own(origin, headers.get("host", "")):
        return
    raise RequestRefused(
        403,
        "origin",
        f"a web page of another address ({origin or site!r:.80}) sent this; without tokens only "
        "weft's own page may: call from a program, or start `weft serve --tokens FILE`",
    )


def _is_own(origin: str, host: str) -> bool:
    return not origin or origin.partition("://")[2].lower() == host.lower()


def check_open(host: str) -> None:
    """Raises `ConfigurationError` if a process without tokens would listen beyond loopback."""
    if not is_loopback(host):
        raise ConfigurationError(
            f"without tokens weft listens on loopback only, and {host} is not: give --tokens FILE "
            "(see docs/http.md), or --host 127.0.0.1"
        )


def host_name(header: str) -> str:
    """The name in a `Host` header, without port and brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if ":" in header else header


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
