"""Why a value of the contract cannot be written as JSON."""

from __future__ import annotations

import msgspec

from weft_schemas.lone_surrogates import lone_surrogate_in


def why_unwritable(request: msgspec.Struct, error: Exception) -> str:
    """Names the field that no JSON can have."""
    for name in request.__struct_fields__:
        held = getattr(request, name)
        if held is msgspec.UNSET:
            continue
        if where := lone_surrogate_in(
            msgspec.to_builtins(held, builtin_types=(bytes,), enc_hook=str)
        ):
            return f"$.{name}{where[1:]} has a lone surrogate; send valid Unicode"
        try:
            msgspec.json.encode(held)
        except (msgspec.MsgspecError, TypeError) as fault:
            return f"$.{name} cannot be written as JSON ({fault}); give plain values"
    return f"it cannot be written: {error}"
