"""One tree of errors: a caller of weft catches `WeftError`, and no other error leaves a module."""

from collections.abc import Iterator

from tests.growing import modules

from weft_schemas.errors import WeftError

CAUGHT_WITHIN = {
    "weft.gateway.tasks.protocol.BecameTask": "the gateway's calls go on with the task",
    "weft.log.connect_errors.CredentialRefused": "`connect` raises `Forbidden`",
    "weft.log.connect_errors.WithoutTls": "`connect` raises `Unavailable`",
}
"""Why an error that another module catches is outside of the tree."""


def own_exceptions() -> Iterator[tuple[str, type[BaseException]]]:
    for name, module in modules():
        for attribute, value in vars(module).items():
            is_exception = isinstance(value, type) and issubclass(value, BaseException)
            if is_exception and value.__module__ == name and not issubclass(value, Warning):
                yield f"{name}.{attribute}", value


def test_what_leaves_a_module_is_of_the_tree() -> None:
    found = dict(own_exceptions())
    outside = {
        name
        for name, one in found.items()
        if not issubclass(one, WeftError) and not one.__name__.startswith("_")
    }
    assert outside == set(CAUGHT_WITHIN)
    assert sum(issubclass(one, WeftError) for one in found.values()) > 14


def test_a_private_error_is_caught_in_its_module() -> None:
    for name, one in own_exceptions():
        if one.__name__.startswith("_"):
            others = [other for other, module in modules() if one in vars(module).values()]
            assert others == [one.__module__], name


def test_an_error_says_when_it_is_raised() -> None:
    assert [name for name, one in own_exceptions() if not one.__doc__] == []
