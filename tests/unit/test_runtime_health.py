"""What a process says of itself."""

from weft.runtime.process import Health


def test_what_a_process_waits_for_while_it_starts_is_no_error() -> None:
    """A fresh `weft up` told the first `weft status` that there was no read model."""
    health = Health()
    health.report("replica", "there is no read model yet")
    assert health.complaint() == "starting; there is no read model yet"
    assert health.last_error == ""
    health.report("service", None)
    health.report("replica", "there is no read model yet")
    assert health.last_error.endswith("Z there is no read model yet")
    health.report("replica", None)
    assert health.complaint() is None
