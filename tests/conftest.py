"""The deployment that the processes of all tests belong to."""

import os

from tests.audited import KEY

os.environ.setdefault("WEFT_FINGERPRINT_KEY", KEY.decode())
