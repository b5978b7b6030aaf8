"""Records an agent's session as ContextItems: every tool call is really made, every tool result is
the true output of its call, and no path or address of the recording machine is kept."""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from weft.cli.demo_session import KEY_MARK
from weft_schemas.items import ContextItem, ItemKind, Sensitivity, check_item

_COMMAND_SECONDS = 120


class Output(msgspec.Struct, frozen=True):
    """What a tool gave back."""

    text: str
    content_type: str = "text/plain"
    is_error: bool = False


class Recorder:
    """Collects the items of one session whose tools work in `folder`."""

    def __init__(self, folder: Path, scope: str, secret: str) -> None:
        self.items: list[ContextItem] = []
        self._folder = folder
        self._scope = scope
        self._secret = secret
        self._turn = 0
        self._calls = 0
        self._tools: dict[str, Callable[..., Output]] = {
            "run": self._run,
            "http_get": self._http_get,
            "read_file": self._read_file,
            "write_file": self._write_file,
        }

    def say(
        self,
        kind: ItemKind,
        text: str,
        sensitivity: Sensitivity = Sensitivity.PUBLIC,
        **metadata: Any,
    ) -> None:
        """One item that is no tool's: a turn, a message, a plan, a policy, a snippet, a fact."""
        self._add(f"i{len(self.items) + 1:03d}", kind, text, None, metadata, sensitivity)

    def call(self, tool: str, **arguments: Any) -> str:
        """Call one tool and record call and result. Returns the result's text."""
        return self.parallel((tool, arguments))[0]

    def parallel(self, *calls: tuple[str, dict[str, Any]]) -> list[str]:
        """Call several tools in one turn: all calls stand before all results."""
        self._turn += 1
        parent = self.items[-1].id
        numbers = range(self._calls + 1, self._calls + 1 + len(calls))
        self._calls += len(calls)
        tags = [
            {"tool_name": tool, "call_id": f"call_{number}", "turn_id": f"turn_{self._turn}"}
            for (tool, _), number in zip(calls, numbers, strict=True)
        ]
        for (tool, arguments), tag in zip(calls, tags, strict=True):
            call = tag | {"arguments": arguments, "author": "agent"}
            shown = f"{tool}({json.dumps(arguments, ensure_ascii=False, separators=(',', ':'))})"
            self._add(tag["call_id"], ItemKind.TOOL_CALL, shown, parent, call)
        outputs = [self._tools[tool](**arguments) for tool, arguments in calls]
        for output, tag in zip(outputs, tags, strict=True):
            result = tag | {"content_type": output.content_type, "is_error": output.is_error}
            self._add(
                tag["call_id"].replace("call", "result"),
                ItemKind.TOOL_RESULT,
                output.text,
                tag["call_id"],
                result,
            )
        return [output.text for output in outputs]

    def save(self, path: Path) -> None:
        """Write the session as JSON lines; refuses one that names this machine."""
        lines = b"".join(msgspec.json.encode(item) + b"\n" for item in self.items)
        found = [word for word in _machine_words(self._folder) if word.encode() in lines]
        if found:
            raise SystemExit(f"the session still names this machine: {found}; extend `_neutral`")
        path.write_bytes(lines)

    def _add(
        self,
        item_id: str,
        kind: ItemKind,
        text: str,
        parent_id: str | None,
        metadata: dict[str, Any],
        sensitivity: Sensitivity = Sensitivity.PUBLIC,
    ) -> None:
        known = {
            "scope": self._scope,
            "occurred_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        item = ContextItem(
            item_id,
            kind,
            self._neutral(text),
            parent_id=parent_id,
            sensitivity=sensitivity,
            metadata=known | _map_text(metadata, self._neutral),
        )
        self.items.append(check_item(item))

    def _neutral(self, text: str) -> str:
        """Without this machine's paths, ports and user, and with the fake key as its mark."""
        for found, shown in (
            (str(self._folder), "/home/agent/tally"),
            (sys.prefix, "/opt/python"),
            (sys.base_prefix, "/usr"),
            (self._secret, KEY_MARK),
        ):
            text = text.replace(found, shown)
        text = re.sub(r"(127\.0\.0\.1|localhost):\d+", "orders.example:8080", text)
        return re.sub(r"/tmp/[\w./-]+", "/tmp/build", text)

    def _run(self, command: str) -> Output:
        done = subprocess.run(
            command,
            shell=True,
            cwd=self._folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_COMMAND_SECONDS,
            env=_environment(),
        )
        text = done.stdout + (f"\n[exit {done.returncode}]" if done.returncode else "")
        return Output(text, is_error=done.returncode != 0)

    def _http_get(self, url: str) -> Output:
        try:
            with urllib.request.urlopen(url, timeout=_COMMAND_SECONDS) as reply:
                return Output(reply.read().decode(), reply.headers.get_content_type())
        except urllib.error.HTTPError as error:
            with error:
                body = error.read().decode()
                return Output(body, error.headers.get_content_type(), is_error=True)

    def _read_file(self, path: str) -> Output:
        return Output((self._folder / path).read_text())

    def _write_file(self, path: str, text: str) -> Output:
        written = (self._folder / path).write_text(text)
        return Output(f"wrote {written} characters to {path}")


def _environment() -> dict[str, str]:
    """Nothing of the recording machine but what finds programs, and this Python before others."""
    people = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", "Agent"), ("EMAIL", "agent@tally.example"))
    }
    return people | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def _machine_words(folder: Path) -> list[str]:
    words = [str(folder), sys.prefix, sys.base_prefix + "/lib", os.getcwd(), str(Path.home()) + "/"]
    return [*words, f"{getpass.getuser()}@", socket.gethostname(), "/simple", "pypi"]


def _map_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_text(inner, change) for key, inner in value.items()}
    return value
