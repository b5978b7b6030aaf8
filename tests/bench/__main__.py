"""`make bench`: every measurement in turn, each a process of its own, each beside its baseline.

`python -m tests.bench publish compiling` runs only those named.
"""

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
SUPPORT = {"__init__", "__main__", "gateway_texts", "stack", "table"}


def measurements() -> list[str]:
    """Names of the benchmark modules of this folder, sorted."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in SUPPORT)


def run(name: str) -> int:
    print(f"\n### {name}\n", flush=True)
    started = time.perf_counter()
    code = subprocess.call([sys.executable, "-m", f"tests.bench.{name}"])
    print(f"\n({name}: {time.perf_counter() - started:.0f} s, exit code {code})", flush=True)
    return code


def main() -> int:
    known = measurements()
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no measurement {unknown[0]!r}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    failed = [name for name in wanted if run(name)]
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
