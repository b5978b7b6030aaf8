"""`weft work`: one service in the foreground, as a container runs it."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from weft.cli.connecting import connected
from weft.cli.main import broken
from weft.cli.services import SERVICES, preloaded
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.supervision.preloaded import PreloadedProcess


class ServiceName(click.ParamType[str]):
    """The name of a service, or `module:worker` for a worker of your own."""

    name = "service"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        known = (*SERVICES, "replica")
        if ":" not in value and value not in known:
            self.fail(f"{value!r} is none of {', '.join(known)}, and no module:worker", param, ctx)
        return value


@click.command()
@click.argument("service", type=ServiceName(), metavar="SERVICE")
@click.option("--compilers", type=click.IntRange(min=1), default=1, show_default=True,
              help="Of `replica`.")  # fmt: skip
@connected
def work(service: str, compilers: int, settings: Settings) -> int | None:
    """Run SERVICE until SIGTERM or Ctrl-C, which drain it: firewall, summarizer, memory, indexer,
    compiler, router or replica, or MODULE:WORKER for a worker of your own, from a module that
    Python finds here (docs/workers.md).

    Start more of the same to scale: workers of one kind share their consumer, compilers share
    their requests. `replica` is one indexer with its compilers on one data folder (WEFT_DATA_DIR);
    a second indexer on the folder stands by. Logs are JSON on stderr; /metrics, /live and /ready
    are served on WEFT_HTTP_PORT.

    \b
    Examples:
      weft work firewall
      weft work examples.birthdays:birthdays
      WEFT_DATA_DIR=/data WEFT_HTTP_PORT=8080 weft work replica --compilers 2
    """
    try:
        _run(service, compilers, settings)
    except OSError as error:
        # Wrong settings were told at the start. A file that is gone later may be there again, and
        # the exit code must not be the one after which no supervisor starts a service again.
        return broken(error)
    return None


def _run(service: str, compilers: int, settings: Settings) -> None:
    if service == "replica":
        with preloaded(("indexer", "compiler"), settings.encoding) as forked:
            asyncio.run(_replica(settings, compilers, forked))
        return
    from weft.runtime.application import serve

    if ":" in service:
        from weft.workers.running import loaded, run

        deriver = loaded(service)
        asyncio.run(serve(deriver.name, settings, partial(run, deriver=deriver)))
    else:
        asyncio.run(serve(service, settings, _loaded(SERVICES[service], settings)))


def _loaded(path: str, settings: Settings) -> Any:
    """The service. If it has a pool, it gets the fork server of its processes, which is forked now,
    before there are threads and a loop."""
    path, _, name = path.partition(":")
    module = import_module(path)
    service, warm = getattr(module, name), getattr(module, "warm", None)
    if warm is None:
        return service
    from weft.runtime.fork_server import ForkServer

    return partial(service, fork_server=ForkServer.first(partial(warm, settings.encoding)))


async def _replica(settings: Settings, compilers: int, forked: PreloadedProcess | None) -> None:
    import msgspec

    from weft.cli.up import export, until_signal
    from weft.supervision.supervisor import Supervisor, work_children

    export(settings)
    indexer, *others = work_children({"indexer": 1, "compiler": compilers})
    # The indexer answers for the health of the whole replica, on the port that is set; the
    # compilers serve their metrics on the ports after it.
    children = []
    for place, child in enumerate((indexer, *others)):
        port = settings.http_port + place if settings.http_port else 0
        environ = {**child.environ, "WEFT_HTTP_PORT": str(port)}
        children.append(msgspec.structs.replace(child, environ=environ))
    async with Supervisor(children, preloaded=forked) as supervisor:
        await until_signal(supervisor)
