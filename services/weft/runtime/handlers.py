"""Handlers without dependencies are called directly: FastDepends would take as long as all of
FastStream's middlewares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from faststream._internal.endpoint.subscriber.usecase import SubscriberUsecase
from faststream.message import StreamMessage


class StraightToHandler(SubscriberUsecase[Any]):
    """For subscribers whose decoder returns the handler's argument."""

    def _build_fastdepends_model(self) -> None:
        super()._build_fastdepends_model()
        for call in self.calls:
            model = call.dependant
            assert model is not None
            if not (model.dependencies or model.extra_dependencies or model.custom_fields):
                call.handler._wrapped_call = _straight(call.handler._composed_call)

    def get_log_context(self, message: StreamMessage[Any] | None) -> dict[str, str]:
        """Nothing: FastStream would make it anew for each message, in a quarter of its time."""
        return {}


def _straight(handler: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def called(message: StreamMessage[Any]) -> Any:
        return await handler(await message.decode())

    return called
