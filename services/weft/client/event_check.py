"""Reads an event's bytes back before they are sent. A Struct does not check the types of its
fields, so only a strict reader tells whether the readers of the log will accept it."""

from __future__ import annotations

import msgspec

from weft.client.refusals import ItemRefused
from weft_schemas.errors import InvalidInput, UnknownVersion
from weft_schemas.events import Event, decode_event, encode_event
from weft_schemas.faults import converted, with_valid_values
from weft_schemas.items import ContextItem, check_item, check_new_item, not_a_number
from weft_schemas.routing import Catalog


def checked(event: Event) -> bytes:
    """The event's bytes, which decode to an equal event. Raises `InvalidInput` naming the item and
    the field: `ItemRefused`, if it is an item."""
    try:
        return _checked(event)
    except UnknownVersion:
        raise
    except InvalidInput as error:
        if isinstance(event, ContextItem):
            raise ItemRefused(str(error)) from None
        raise


def _checked(event: Event) -> bytes:
    try:
        payload = encode_event(event)
        same = decode_event(payload) == event
    except UnknownVersion:
        raise
    except InvalidInput as error:
        raise _named(event, error) from None
    if not same:
        _check_types(event)
        _check_numbers(event)
        # Otherwise it differs only as JSON does: a tuple comes back as a list.
    if isinstance(event, ContextItem):
        check_new_item(event)
    return payload


def _named(event: Event, error: InvalidInput) -> InvalidInput:
    """The same fault with the item and the field, if they can be found."""
    try:
        _check_types(event)
        if isinstance(event, ContextItem):
            check_item(event)
    except InvalidInput as found:
        return found
    return InvalidInput(f"{_name(event)}: {error}")


def _check_types(event: msgspec.Struct) -> None:
    """Raises `InvalidInput` for the first field whose value is not of its declared type."""
    if isinstance(event, Catalog) and isinstance(event.items, (tuple, list)):
        for item in event.items:
            if isinstance(item, msgspec.Struct):
                _check_types(item)
    try:
        converted(_as_dicts(event), type(event))
    except msgspec.ValidationError as error:
        fault = with_valid_values(error, type(event))
        todo = "" if fault != str(error) else "; send the type that it says"
        raise InvalidInput(f"{_name(event)}: {fault}{todo}") from None


def _check_numbers(event: msgspec.Struct) -> None:
    """Raises `InvalidInput` for a number that JSON cannot contain: it would be null there."""
    if path := not_a_number(_as_dicts(event)):
        raise InvalidInput(
            f"{_name(event)}: {path} is a number that JSON cannot contain (NaN, or infinite); give "
            "null or a text"
        )


def _as_dicts(value: object) -> object:
    """Structs as dicts at every level, so that their fields are checked."""
    if isinstance(value, msgspec.Struct):
        fields = {
            key: _as_dicts(field)
            for key, field in msgspec.structs.asdict(value).items()
            if field is not msgspec.UNSET
        }
        config = value.__struct_config__
        return fields if config.tag is None else {config.tag_field: config.tag} | fields
    return [_as_dicts(one) for one in value] if isinstance(value, (tuple, list)) else value


def _name(event: msgspec.Struct) -> str:
    """`item 'u1'`, `catalog 'tools'`, …"""
    kind = event.__struct_config__.tag or "item"
    known = getattr(event, "id", None) or getattr(event, "name", None)
    return f"{kind} {known!r:.60}" if known else str(kind)
