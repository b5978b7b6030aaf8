"""What the firewall's subprocess imports to make an envelope."""

import subprocess
import sys

CODE = """
import sys
import weft.runtime.subprocess_worker, weft.firewall.source_envelope
print(sorted({"faststream", "uvicorn"} & set(sys.modules)))
"""


def test_the_subprocess_for_huge_results_imports_no_broker() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
