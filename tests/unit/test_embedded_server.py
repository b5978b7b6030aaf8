"""What the embedded server's own log tells about a full disk."""

from pathlib import Path

from weft.supervision.embedded_server import EmbeddedServer

START = "[1] [INF] Starting nats-server\n"
FULL = "[1] [ERR] JetStream failed to store a msg: write 4.blk: no space left on device\n"


def test_a_full_disk_is_known_until_the_next_start(tmp_path: Path):
    server, log = EmbeddedServer(tmp_path), tmp_path / "nats-server.log"
    assert not server.ran_out_of_space()
    log.write_text(START + FULL)
    assert server.ran_out_of_space()
    log.write_text(START + FULL + START)
    assert not server.ran_out_of_space()
    log.write_text(START + "[1] [WRN] slow\n" * 10_000 + FULL)
    assert server.ran_out_of_space()
