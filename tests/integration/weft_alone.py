"""The command line of a machine where no weft runs on the usual port: here one may."""

from weft.cli.main import main
from weft.gateway.log import deployment
from weft.runtime.settings import Settings

_is_weft = deployment._is_weft


async def _is_another(settings: Settings) -> bool:
    return not settings.nats_url.endswith(":4222") and await _is_weft(settings)


if __name__ == "__main__":
    deployment._is_weft = _is_another
    main()
