"""The same real server and empty log that the integration tests have."""

from tests.integration.conftest import log, server

__all__ = ["log", "server"]
