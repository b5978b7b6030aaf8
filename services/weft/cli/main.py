"""The command line: a command's module is imported when it is called, and every failure is one
line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import click

from weft.cli.concealing import conceal
from weft_schemas.errors import (
    ConfigurationError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Overloaded,
    Unavailable,
    WeftError,
)

EXIT_CODES: dict[type[WeftError], int] = {
    InvalidInput: 2,
    ConfigurationError: 2,
    Unavailable: 3,
    Overloaded: 3,
    NotFound: 4,
    Forbidden: 5,
    Conflict: 6,
}
FAILED = 1
BROKEN = 70
"""EX_SOFTWARE of sysexits.h. A supervisor restarts what ends with it."""
_CALLERS = 4
"""How many places an unforeseen failure names beside its own."""
_WRONG_PATHS = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
INTERRUPTED = 130
"""128 plus the number of SIGINT, the convention of shells."""

_COMMANDS = {
    "up": ("weft.cli.up:up", "Start everything on this machine."),
    "work": ("weft.cli.work:work", "Run one service in the foreground."),
    "serve": ("weft.cli.serve:serve", "Serve weft over HTTP."),
    "provision": ("weft.cli.provision:provision", "Create the log's streams and consumers."),
    "publish": ("weft.cli.publish:publish", "Publish a transcript as a session."),
    "compile": ("weft.cli.compiling:compile", "Compile the context for a step."),
    "explain": ("weft.cli.explain:explain", "Say why an item is in a compile, or not."),
    "drilldown": ("weft.cli.compiling:drilldown", "Look into a raw result by its handle."),
    "events": ("weft.cli.events:events", "Show a session's events as the log holds them."),
    "sessions": ("weft.cli.sessions:sessions", "List the sessions, the newest first."),
    "status": ("weft.cli.status:status", "Show streams, consumers, processes, lag, dead letters."),
    "doctor": ("weft.cli.doctor:doctor", "Check what could keep weft from working."),
    "rebuild": ("weft.cli.rebuild:rebuild", "Rebuild the read model from the log."),
    "snapshot": (
        "weft.cli.snapshot:snapshot",
        "Store the read model, so that replicas start fast.",
    ),
    "trim": ("weft.cli.snapshot:trim", "Erase the log's oldest events, once a snapshot has them."),
    "compiles": ("weft.cli.compiles:compiles", "List the recorded compiles."),
    "reproduce": ("weft.cli.reproduce:reproduce", "Render a past prompt again from the log."),
    "fork": ("weft.cli.fork:fork", "Copy the first part of a session as a new session."),
    "export": ("weft.cli.export:export", "Write a session or a tenant as JSON lines."),
    "import": ("weft.cli.export:import_", "Copy an export into the log."),
    "erase": ("weft.cli.erase:erase", "Erase a session or a tenant everywhere, for good."),
    "diff": ("weft.cli.diff:diff", "Compare two compiles of a session."),
    "backtest": ("weft.cli.backtest:backtest", "Repeat recorded compiles under another policy."),
    "rederive": ("weft.cli.rederive:rederive", "Run a worker of this release over past events."),
    "verify": ("weft.cli.verify:verify", "Check that log, bodies and read model agree."),
    "workers": ("weft.cli.workers:workers", "Remove a worker of your own from the log."),
    "dlq": ("weft.cli.dlq:dlq", "List, show, replay and drop parked events."),
    "catalog": ("weft.cli.catalog:catalog", "Publish and compare catalogues of tools."),
    "route": ("weft.cli.routing:route", "Show the tools that fit a query best."),
    "hydrate": ("weft.cli.routing:hydrate", "Show a tool with the session's values for it."),
    "graph": ("weft.cli.catalog:graph", "Draw the graph that routing searches."),
    "facts": ("weft.cli.facts:facts", "List what is remembered for a scope, with its sources."),
    "policy": ("weft.cli.policy:policy", "Publish and show context policies."),
    "grants": ("weft.cli.grants:grants", "Publish and show who may use which memory."),
    "config": ("weft.cli.config:config", "Show the settings in force."),
    "gateway": ("weft.cli.gateway:gateway", "Serve MCP servers behind firewall and log."),
    "mcp": ("weft.cli.mcp:mcp", "Run weft as an MCP server."),
    "demo": ("weft.cli.demo:demo", "Run a recorded session through every service."),
}
"""Command → its module, and its line in `weft --help`."""

GROUP = "weft.commands"
"""Entry points of other packages' commands: a click command each; the first is `eval` of
`weft_eval`. Their line in `weft --help` is the first one of the package's docstring. A built-in
command takes precedence."""


class _Lazy(click.Group):
    """Imports a command's module when it is called, so that each starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *_installed()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in _COMMANDS:
            module, _, attribute = _COMMANDS[name][0].partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        point = _installed().get(name)
        return None if point is None else point.load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            lines = [(name, line) for name, (_, line) in _COMMANDS.items()]
            lines += [(name, _line(point)) for name, point in _installed().items()]
            formatter.write_dl(lines)


def _installed() -> dict[str, EntryPoint]:
    """Other packages' commands by name."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return {point.name: point for point in points if point.name not in _COMMANDS}


def _line(point: EntryPoint) -> str:
    """What its package says about itself; the command itself is not loaded for that."""
    said = import_module(point.module.partition(".")[0]).__doc__ or point.module
    return said.strip().splitlines()[0]


@click.command(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(package_name="weft")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Weft turns an agent's life into a log and the log into prompts.

    \b
    Five minutes:
      weft up                                    # server and services, until Ctrl-C
      weft publish chat.json --session s1        # in another terminal
      weft compile --session s1 --phase answer --query "when does it leave?"
      weft status

    Every command reads the connection from its options or from the environment: WEFT_NATS_URL,
    WEFT_TENANT, WEFT_CREDS, WEFT_USER and WEFT_PASSWORD, WEFT_TOKEN, WEFT_TLS_CA, WEFT_TLS_CERT,
    WEFT_TLS_KEY. `weft config show` lists all settings.

    \b
    Exit codes:
      0    done
      1    a check failed, such as `weft rebuild --verify`, or `weft status` finds a process amiss;
           or a question was answered with no, and nothing was done
      2    wrong usage, settings or input; nothing was published
      3    no server or service answers, or it is overloaded; try again
      4    no such session, item, handle or catalogue
      5    the credential does not allow it
      6    a conflict: the log holds something else
      70   a fault of weft or of this machine; WEFT_LOG_LEVEL=debug shows its traceback
      130  interrupted by Ctrl-C
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code. Files that it writes are readable by its user only."""
    if arguments is None:
        conceal()
    os.umask(0o077)
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; every failure is one line on stderr."""
    try:
        done = cli.main(arguments, prog_name="weft", standalone_mode=False)
        return done if isinstance(done, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except WeftError as error:
        click.echo(f"weft: {error}", err=True)
        return exit_code(error)
    except BrokenPipeError:
        # The reader (`| head`) has gone. Python flushes stdout at exit and would report it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except _WRONG_PATHS as error:
        if error.filename is None:
            return broken(error)
        click.echo(f"weft: {error.filename}: {error.strerror}; give another path", err=True)
        return EXIT_CODES[ConfigurationError]
    except Exception as error:
        return broken(error)


def _no_room() -> str:
    from tempfile import gettempdir

    return (
        "no space is left on a disk that this command writes to: that of the data folder, of its "
        f"output, or of temporary files ({gettempdir()}; TMPDIR names another). Make room and run "
        "it again"
    )


def broken(error: Exception) -> int:
    """Report what nobody foresaw, in one line, and return the exit code. The line has places and
    none of the error's text, which may quote a body: what services write is kept in a file."""
    import traceback

    from weft.durable_files import is_disk_full
    from weft.runtime.logs import safe_error

    if os.environ.get("WEFT_LOG_LEVEL", "").lower() == "debug":
        traceback.print_exception(error)
    callers = reversed(traceback.extract_tb(error.__traceback__)[-_CALLERS - 1 : -1])
    called = ", ".join(f"{Path(one.filename).name}:{one.lineno}" for one in callers)
    reason = f", {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
    what = (
        _no_room()
        if is_disk_full(error)
        else "a fault of weft or of this machine; with WEFT_LOG_LEVEL=debug it shows its traceback"
    )
    where = f"(called at {called or 'the top'})"
    click.echo(f"weft: {safe_error(error)} {where}{reason}: {what}", err=True)
    return BROKEN


def exit_code(error: WeftError) -> int:
    """The documented code of an error."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), FAILED)


if __name__ == "__main__":
    main()
