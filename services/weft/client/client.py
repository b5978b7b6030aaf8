"""The client that an agent connects: everything that it can do, and the sessions of its loops."""

from __future__ import annotations

from pathlib import Path

from weft.client.arguments import check_type, phase_named
from weft.client.base_client import BaseClient
from weft.client.offline import OnUnavailable
from weft.client.session import Session
from weft.runtime.settings import read_settings
from weft_schemas.policy import Phase


def connect(
    url: str | None = None,
    *,
    tenant: str | None = None,
    principal: str | None = None,
    creds: Path | str | None = None,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    tls_ca: Path | str | None = None,
    tls_cert: Path | str | None = None,
    tls_key: Path | str | None = None,
    lazily: bool = False,
) -> Client:
    """`async with weft.connect("nats://…", tenant="acme") as client:`

    `principal` is the agent within the tenant that publishes and asks: permissions and grants are
    given to principals. `@operator` may loosen the policy in force.

    `creds` is a NATS credentials file, which needs `nats-py[nkeys]`; the `tls_` ones are PEM files.
    With `tls_ca` or an address `tls://…` nothing is sent without TLS. Arguments that are left out
    are taken from the environment: `WEFT_NATS_URL`, `WEFT_TENANT`, `WEFT_CREDS`, … Raises
    `ConfigurationError`; entering raises `Unavailable` and `Forbidden`. With `lazily` it raises
    neither: the first call that finds a server connects, and until then each raises `Unavailable`.
    """
    return Client(
        read_settings(
            nats_url=url,
            tenant=tenant,
            principal=principal,
            creds=creds,
            user=user,
            password=password,
            token=token,
            tls_ca=tls_ca,
            tls_cert=tls_cert,
            tls_key=tls_key,
        ),
        lazily,
    )


class Client(BaseClient):
    """A connection of one tenant's agent; safe for any number of tasks at once."""

    def session(
        self,
        name: str,
        *,
        phase: Phase | str = Phase.CALL,
        budget: int | None = None,
        reserve: int = 0,
        timeout: float = 10.0,
        drilldown: bool = True,
        stable: bool = False,
        on_unavailable: OnUnavailable = "raise",
        wait_timeout: float = 60.0,
        spool: Path | str = "weft-spool",
        scope: str | None = None,
    ) -> Session:
        """`async with client.session("s1", budget=32_000) as s:` the loop of one agent; see
        `weft.Session`.

        `timeout` is how long, in seconds, a compile waits for what was just published. `drilldown`
        offers the model weft's tool. `stable` keeps as much of the previous prompt as pays off with
        a provider that charges less for a prefix that it has seen. `scope`, such as `user:42`, is
        whose memory the session's items teach and show, for those that name none of their own.

        While no server or service can be reached, `on_unavailable`:

        - `raise` raises `Unavailable`
        - `wait` tries again for up to `wait_timeout` seconds, then raises it
        - `spool` goes on: publications wait in a file in the folder `spool` and are sent, in order
          and once, as soon as a session of this name gets through; a request consists of the
          agent's own history, whole, with an `UnavailableWarning`. Connect with `lazily=True`, so
          that the agent also starts without a server.
        """
        check_type("wait_timeout", wait_timeout, int, float)
        check_type("spool", spool, str, Path)
        return Session(
            self,
            name,
            phase=phase_named(phase),
            budget=budget,
            reserve=reserve,
            timeout=timeout,
            drilldown=drilldown,
            stable=stable,
            on_unavailable=on_unavailable,
            wait_timeout=wait_timeout,
            spool=Path(spool),
            scope=scope,
        )
