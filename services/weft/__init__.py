"""Weft turns an agent's life into a log and the log into prompts.

    async with weft.connect("nats://127.0.0.1:4222", tenant="acme") as client:
        ack = await client.publish("s1", weft.ContextItem("m1", weft.ItemKind.USER_TURN, "Hello"))
        pack = await client.compile("s1", phase="answer", after=ack.sequence)

Names are loaded when they are first used: `import weft` needs msgspec and nats-py only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from weft import messages as messages
    from weft import testing as testing
    from weft.client import Client as Client
    from weft.client import connect as connect
    from weft.client.blocking import SyncClient as SyncClient
    from weft.client.blocking import SyncSession as SyncSession
    from weft.client.blocking import connect_sync as connect_sync
    from weft.client.confirmation import Confirmation as Confirmation
    from weft.client.drilldown import drilldown_tool as drilldown_tool
    from weft.client.drilldown import slice_item as slice_item
    from weft.client.histories import ChangedMessage as ChangedMessage
    from weft.client.histories import PublishedMessages as PublishedMessages
    from weft.client.offline import UnavailableWarning as UnavailableWarning
    from weft.client.outgoing import PublishAck as PublishAck
    from weft.client.pack import Pack as Pack
    from weft.client.parking import Parked as Parked
    from weft.client.parking import ParkedWarning as ParkedWarning
    from weft.client.session import Session as Session
    from weft.firewall.without_log import firewall_result as firewall_result
    from weft_schemas.errors import Conflict as Conflict
    from weft_schemas.errors import Forbidden as Forbidden
    from weft_schemas.errors import InvalidInput as InvalidInput
    from weft_schemas.errors import NotFound as NotFound
    from weft_schemas.errors import Overloaded as Overloaded
    from weft_schemas.errors import Unavailable as Unavailable
    from weft_schemas.errors import WeftError as WeftError
    from weft_schemas.items import ContextItem as ContextItem
    from weft_schemas.items import ItemKind as ItemKind
    from weft_schemas.items import Sensitivity as Sensitivity
    from weft_schemas.policy import ContextPolicy as ContextPolicy
    from weft_schemas.policy import Phase as Phase

_HOMES = {
    "connect": "weft.client",
    "Client": "weft.client",
    "Confirmation": "weft.client.confirmation",
    "drilldown_tool": "weft.client.drilldown",
    "slice_item": "weft.client.drilldown",
    "ChangedMessage": "weft.client.histories",
    "PublishedMessages": "weft.client.histories",
    "Session": "weft.client.session",
    "firewall_result": "weft.firewall.without_log",
    "UnavailableWarning": "weft.client.offline",
    "connect_sync": "weft.client.blocking",
    "SyncClient": "weft.client.blocking",
    "SyncSession": "weft.client.blocking",
    "PublishAck": "weft.client.outgoing",
    "Pack": "weft.client.pack",
    "Parked": "weft.client.parking",
    "ParkedWarning": "weft.client.parking",
    "ContextItem": "weft_schemas.items",
    "ItemKind": "weft_schemas.items",
    "Sensitivity": "weft_schemas.items",
    "ContextPolicy": "weft_schemas.policy",
    "Phase": "weft_schemas.policy",
    "WeftError": "weft_schemas.errors",
    "InvalidInput": "weft_schemas.errors",
    "NotFound": "weft_schemas.errors",
    "Forbidden": "weft_schemas.errors",
    "Unavailable": "weft_schemas.errors",
    "Overloaded": "weft_schemas.errors",
    "Conflict": "weft_schemas.errors",
}

_MODULES = ("messages", "testing")
"""Loaded when they are first used, too: `weft.messages.read`."""

__all__ = [*_HOMES, *_MODULES]


if not TYPE_CHECKING:  # otherwise every misspelt name would type-check

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"weft.{name}")
        if name == "__version__":
            return import_module("importlib.metadata").version("weft")
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'weft' has no attribute {name!r}")
        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return [*globals(), "__version__", *_HOMES, *_MODULES]
