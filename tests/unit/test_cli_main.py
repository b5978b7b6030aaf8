"""The command line: help that teaches, documented exit codes, one line for each failure."""

import logging
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from weft.cli import main
from weft.rederive.run import rederive
from weft.runtime import logs
from weft.runtime.settings import Settings
from weft.supervision.supervisor import GIVE_UP
from weft_schemas import errors

OFFLINE = ["--nats", "nats://127.0.0.1:1"]
"""Nobody listens on port 1."""


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `weft up` exports to its children ends with the test."""
    monkeypatch.setenv("WEFT_NATS_URL", "")
    monkeypatch.delenv("WEFT_NATS_URL")


def weft(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main.run(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def imported(code: str) -> set[str]:
    """Top-level packages that a fresh interpreter has after running some code."""
    script = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


HEAVY = {"faststream", "uvicorn", "rich", "tiktoken", "pydantic", "sqlite3", "prometheus_client"}


def test_the_client_needs_msgspec_and_nats_only() -> None:
    extras = {*HEAVY, "click", "yaml", "Stemmer", "re2"}
    assert not imported("import weft; weft.connect; weft.Pack; weft.ContextItem") & extras


def test_help_loads_no_service_and_no_client() -> None:
    loaded = imported("from weft.cli.main import run\nsys.stdout = sys.stderr\nrun(['--help'])\n"
                      "sys.stdout = sys.__stdout__")  # fmt: skip
    assert not loaded & {*HEAVY, "nats", "asyncio"}


def test_help_documents_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = weft(capsys, "--help")
    assert code == 0
    documented = {int(line.split()[0]) for line in out.splitlines() if line.strip()[:1].isdigit()}
    assert documented == {0, main.FAILED, main.BROKEN, main.INTERRUPTED, *main.EXIT_CODES.values()}
    assert all(f"  {name} " in out for name in (*main._COMMANDS, "eval"))


@pytest.mark.parametrize("command", sorted({*main._COMMANDS, "eval"} - {"demo"}))
def test_each_command_teaches_by_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = weft(capsys, command, "--help")
    assert code == 0
    assert "Usage: weft" in out
    assert f"weft {command} " in out or "Commands:" in out


def test_another_package_brings_a_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "shouting.py").write_text(
        '"""Says it loudly.\n\nMore."""\nimport click\n\n\n'
        "@click.command()\ndef shout():\n    click.echo('HEY')\n"
    )
    described = tmp_path / "shouting-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1\n")
    points = f"[{main.GROUP}]\nshout = shouting:shout\nup = shouting:shout\n"
    (described / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    assert weft(capsys, "shout") == (0, "HEY\n", "")
    _, out, _ = weft(capsys, "--help")
    assert re.search(r"^  shout +Says it loudly\.$", out, re.MULTILINE)
    _, out, _ = weft(capsys, "up", "--help")
    assert "weft up" in out, "a command of ours is not replaced"


def test_every_error_has_a_documented_code() -> None:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.WeftError):
            assert main.exit_code(kind("x")) in {*main.EXIT_CODES.values(), main.FAILED}


def test_a_wrong_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = weft(capsys, "pubish", "x")
    assert code == 2
    assert "No such command 'pubish'" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["publish", "-", "--session", "s"],
        ["compile", "--session", "s", "--phase", "answer"],
    ],
)
def test_without_a_server_there_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr("weft.cli.publish._content", lambda _: b'{"id": "a", "kind": "user_turn"}')
    code, out, err = weft(capsys, *arguments, *OFFLINE)
    assert (code, out) == (3, "")
    assert err.startswith("weft: no nats-server answers at nats://127.0.0.1:1 ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('[{"role": "user"},\n{"role": "robot"}]', "line 2: $.role: invalid enum value 'robot'"),
        ("not json", "line 1: not JSON"),
        ("", "line 1: the file is empty"),
        ('{"colour": "red"}', "line 1: no format that we read has records with the keys colour"),
    ],
)
def test_a_malformed_file_is_named_before_anything_is_connected(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, line: str
) -> None:
    file = tmp_path / "chat.json"
    file.write_text(content)
    code, _, err = weft(capsys, "publish", str(file), "--session", "s", *OFFLINE)
    assert code == 2
    assert err.startswith(f"weft: {file}, {line}")
    assert err.endswith("nothing was published\n") or "--format" in err
    assert err.count("\n") == 1


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = weft(capsys, "publish", "/none/such.json", "-s", "s")
    assert (code, err) == (
        2,
        "weft: /none/such.json: No such file or directory; nothing was published\n",
    )


def test_wrong_settings_are_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_HTTP_PORT", "many")
    code, _, err = weft(capsys, "config", "show", "--creds", "/none")
    assert code == 2
    assert "WEFT_CREDS='/none': no such file" in err
    assert "WEFT_HTTP_PORT='many': not a whole number" in err


def test_options_go_before_the_environment_and_secrets_stay_hidden(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_TENANT", "env")
    monkeypatch.setenv("WEFT_TOKEN", "hush")
    _, out, _ = weft(capsys, "config", "show", "--tenant", "option", "--json")
    assert '"WEFT_TENANT": "option"' in out
    assert "hush" not in out


def test_a_policy_file_is_checked_by_field(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.json"
    good.write_text("name: strict\nsensitivity_floor: internal\n")
    bad.write_text('{"budgets": {"call": "many"}}')
    code, out, _ = weft(capsys, "policy", "show", str(good))
    assert (code, '"sensitivity_floor": "internal"' in out) == (0, True)
    code, _, err = weft(capsys, "policy", "publish", str(bad), *OFFLINE)
    assert code == 2
    assert "$.budgets.call" in err


def test_counts_and_ports_are_checked_before_anything_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = weft(capsys, "up", "--port", "99999")
    assert (code, "--port" in err) == (2, True)
    code, _, err = weft(capsys, "up", "--firewall", "-1")
    assert (code, "--firewall" in err) == (2, True)
    code, _, err = weft(capsys, "work", "replica", "--compilers", "0")
    assert (code, "--compilers" in err) == (2, True)


def test_a_data_folder_that_cannot_be_is_named_with_its_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    code, _, err = weft(capsys, "up", "--data", str(file / "data"), "--port", "0")
    assert code == 2
    assert err.startswith(f"weft: {file}/data: ")
    assert "choose another --data or --log" in err


def test_a_server_that_is_named_is_used_even_at_the_default_address(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("WEFT_NATS_URL", raising=False)
    default = ["--nats", "nats://127.0.0.1:4222"]
    code, _, err = weft(capsys, "up", "--cluster", "3", "--data", str(tmp_path), *default)
    assert (code, "--cluster starts servers here" in err) == (2, True)


def test_a_password_in_an_address_stays_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = weft(capsys, "config", "show", "--nats", "nats://bob:hush@one:4222,tls://t0k@two")
    assert "nats://********@one:4222,tls://********@two" in " ".join(out.split())
    assert "hush" not in out


@pytest.mark.parametrize(
    ("arguments", "content", "line"),
    [
        (["eval", "grounding"], "{", "not JSON"),
        (["eval", "evidence"], '{"id": "a"}\n{"id": "b"}', "records with the keys id"),
        (["eval", "hydration"], '{"colour": "red"}', "records with the keys colour"),
        (["eval", "grounding"], "[]", "no items in this file"),
        (["eval", "grounding"], '[{"role": "user", "content": "Hi"}]', "nothing to measure on"),
        (["compile", "-s", "s", "-p", "route", "--tools"], "3", "holds no list of tools"),
        (["publish", "-s", "s"], "{}", "records with the keys (none)"),
        (["compile", "-s", "s", "-p", "route", "--tools"], '[{"name": 3}]', "tool"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: list[str],
    content: str,
    line: str,
) -> None:
    file = tmp_path / "given.json"
    file.write_text(content)
    code, out, err = weft(capsys, *arguments, str(file))
    assert (code, out) == (2, "")
    assert err.startswith(f"weft: {file}")
    assert line in err


def test_the_lists_of_commands_are_not_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    for group in ("catalog", "config", "eval", "policy"):
        _, out, _ = weft(capsys, group, "--help")
        assert "..." not in out.partition("Commands:")[2], group


def test_a_chosen_tool_is_one_that_is_described(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "tools.json"
    file.write_text('[{"name": "refund"}, {"name": "mail"}]')
    call = ["compile", "-s", "s", "-p", "call", "--tool", "refnd"]
    code, _, err = weft(capsys, *call, "--tools", str(file))
    assert (code, err) == (2, "weft: --tool refnd: is none of mail, refund\n")
    code, _, err = weft(capsys, *call)
    assert (code, "give --tools or --catalog" in err) == (2, True)


def test_a_rebuild_to_compare_needs_something_to_compare_with(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = weft(capsys, "rebuild", "--verify", "--data", str(tmp_path))
    assert (code, err.startswith(f"weft: {tmp_path}: no read model to compare with")) == (4, True)
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken_is_named_with_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("WEFT_NATS_URL", raising=False)
    level = logging.getLogger().level
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, err = weft(capsys, "up", "--data", str(tmp_path), "--port", port)
    assert code == 2
    assert err == (
        f"weft: port {port} is taken; choose another one with --port (0 takes a free one), or use "
        f"the server that is there: --nats nats://127.0.0.1:{port}\n"
    )
    assert not [one for one in logging.getLogger().handlers if one.__module__ == logs.__name__]
    assert logging.getLogger().level == level


def test_what_is_no_handle_is_said_before_anybody_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = weft(capsys, "drilldown", "report.txt", *OFFLINE)
    assert (code, err) == (2, "weft: 'report.txt' is no handle; they look like art:k3m7zq2dpa\n")


@pytest.mark.parametrize("name", ["self", "handle", "view", "max_tokens"])
def test_a_drill_downs_own_arguments_are_none_of_a_view(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code, _, err = weft(capsys, "drilldown", "art:k3m7zq2dpa", "-a", f"{name}=1", *OFFLINE)
    said = f"weft: drill-down: {name!r} is no argument of a view; leave it out\n"
    assert (code, err) == (2, said)


@pytest.mark.parametrize(
    "command", [["policy", "show"], ["grants", "publish"], ["gateway", "--config"]]
)
def test_a_file_that_is_nested_without_end_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    file = tmp_path / "deep.json"
    file.write_text("[" * 100_000)
    said = f"weft: {file}: is nested too deeply; flatten it\n"
    assert weft(capsys, *command, str(file)) == (2, "", said)


def test_one_transcript_and_each_of_them_are_not_both_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["publish", "runs.json", "-s", "s", "--each", "--transcript", "5", *OFFLINE]
    code, _, err = weft(capsys, *given)
    assert (code, "--each publishes all, and --transcript one" in err) == (2, True)


async def test_a_worker_to_rederive_that_there_is_not_is_told_with_all_that_there_are() -> None:
    connection: Any = None
    named = "use firewall, summarizer, memory, or MODULE:WORKER for one of your own"
    with pytest.raises(errors.InvalidInput, match=f"'nosuch' is unknown; {named}"):
        await rederive(connection, Settings(), "nosuch")


def test_where_there_is_no_snapshot_it_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*_: object) -> list[object]:
        return []

    monkeypatch.setattr("weft.cli.snapshot._snapshots", none)
    said = "there is no snapshot; `weft snapshot` stores one\n"
    assert weft(capsys, "snapshot", "--list", *OFFLINE) == (0, "", said)
    assert weft(capsys, "snapshot", "--list", "--json", *OFFLINE) == (0, "[]\n", "")


def raising(error: Exception) -> click.Command:
    def fail() -> None:
        raise error

    return click.Command("fail", callback=fail)


def test_a_path_that_cannot_be_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(main, "cli", click.Command("fail", callback=(tmp_path / "a" / "b").mkdir))
    said = f"weft: {tmp_path}/a/b: No such file or directory; give another path\n"
    assert weft(capsys) == (2, "", said)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("secret"), "weft: KeyError at "),
        (OSError(5, "Input/output error"), ", Input/output error: a fault"),
        (
            OSError(28, "No space left on device"),
            ", No space left on device: no space is left on a disk",
        ),
        (TimeoutError(), "weft: TimeoutError at "),
    ],
)
def test_what_nobody_foresaw_is_one_line_with_its_place_and_a_code_of_its_own(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    said: str,
) -> None:
    monkeypatch.setattr(main, "cli", raising(error))
    code, _, err = weft(capsys)
    assert (code, err.count("\n"), "secret" in err) == (70, 1, False)
    assert said in err
    assert " at test_cli_main.py:" in err
    monkeypatch.setenv("WEFT_LOG_LEVEL", "debug")
    code, _, err = weft(capsys)
    assert (code, err.startswith("Traceback (most recent call last)")) == (70, True)


def test_a_service_that_loses_a_file_is_worth_a_restart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lost.py").write_text("open('/none/such')")
    monkeypatch.syspath_prepend(tmp_path)
    code, _, err = weft(capsys, "work", "lost:worker")
    assert (code in GIVE_UP, code) == (False, main.BROKEN)
    assert err.startswith("weft: FileNotFoundError at lost.py:1 ")


WITHOUT_A_SERVER = {
    "weft gateway status",
    "weft gateway approve",
    "weft gateway login",
    "weft gateway logout",
    "weft demo",
    "weft eval envelope",
    "weft policy known",
    "weft eval hydration",
    "weft eval reading ask",
    "weft eval reading score",
    "weft eval routing",
}


def test_every_command_that_connects_takes_every_way_to_sign_in() -> None:
    ways = {"--creds", "--user", "--password", "--token", "--tls-ca", "--tls-cert", "--tls-key"}
    for path, command in leaves(main.cli, click.Context(main.cli), "weft"):
        options = {name for option in command.params for name in option.opts}
        assert (path in WITHOUT_A_SERVER) != (ways | {"--nats", "--tenant"} <= options), path


def leaves(
    group: click.Group, context: click.Context, path: str
) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, context, f"{path} {name}")
        elif command is not None:
            yield f"{path} {name}", command


@pytest.mark.parametrize("by", ["--nats", "WEFT_NATS_URL"])
def test_a_port_for_a_server_that_is_not_started_here_is_refused(
    by: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    where = "nats://127.0.0.1:4999"
    given = ["--nats", where] if by == "--nats" else []
    if not given:
        monkeypatch.setenv("WEFT_NATS_URL", where)
    code, _, err = weft(capsys, "up", "--data", str(tmp_path), "--port", "4333", *given)
    assert code == 2
    assert f"{by} names one to connect to: {where}; leave --port out" in err
    assert list(tmp_path.iterdir()) == []
