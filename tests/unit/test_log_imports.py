"""What an agent imports stays small: publishing and reading need nats-py and msgspec only."""

import subprocess
import sys

CLIENT_SIDE = ("connection", "publishing", "bulk_publishing", "bodies", "reading", "following")


def test_the_client_side_of_the_log_imports_no_worker_package() -> None:
    imports = "".join(f"import weft.log.{name}\n" for name in CLIENT_SIDE)
    code = f"import sys\n{imports}print(*{{name.split('.')[0] for name in sys.modules}})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unwanted = {"faststream", "pydantic", "tiktoken", "sqlite3", "aiosqlite", "click", "rich"}
    assert not unwanted & set(found.stdout.split())
    assert {"nats", "msgspec"} <= set(found.stdout.split())


def test_the_client_side_of_the_log_does_not_import_the_server() -> None:
    imports = "".join(f"import weft.log.{name}\n" for name in CLIENT_SIDE)
    code = f"import sys\n{imports}print('weft.supervision.embedded_server' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_the_front_door_needs_nats_and_msgspec_alone() -> None:
    """Sessions, with and without a loop, spooling, and live messages of every provider."""
    used = (
        "weft.connect, weft.connect_sync, weft.Session, weft.messages.read, weft.messages.request"
    )
    code = (
        f"import sys, weft\nused = [{used}]\nimport weft.client.session\n"
        "from weft.messages.writing import request_of\n"
        "items = weft.messages.read([{'role': 'user', 'content': 'hi'}]).items\n"
        "[request_of(items, provider) for provider in weft.messages.PROVIDERS]\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unwanted = {"faststream", "pydantic", "tiktoken", "sqlite3", "aiosqlite", "click", "rich"}
    unwanted |= {"yaml", "re2", "Stemmer", "bpe_openai", "uvicorn", "prometheus_client", "pytest"}
    assert not unwanted & set(found.stdout.split())
