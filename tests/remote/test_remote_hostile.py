"""Networks and strangers that mean no good: nobody hangs for good, nothing is filled."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from remote_servers import (
    PATIENCE,
    PROBE,
    remote_environment,
    run_remote,
    servers,
    wait_until,
)

pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"no {PROBE}")


class Tunnel:
    """Passes bytes on in both directions, until it is told to swallow those of one."""

    def __init__(self, to: str) -> None:
        self._to = to
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.swallows: set[str] = set()
        self.passed = 0
        self._start(self._accept)

    def close(self) -> None:
        self._listening.close()

    def _start(self, work: object, *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()  # type: ignore[arg-type]

    def _accept(self) -> None:
        host, _, port = self._to.rpartition(":")
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection((host, int(port)))
                self._start(self._pass_on, near, far, "up")
                self._start(self._pass_on, far, near, "down")

    def _pass_on(self, source: socket.socket, to: socket.socket, direction: str) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                if direction not in self.swallows:
                    to.sendall(content)
                    self.passed += len(content)
        with suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)


@contextmanager
def tunnel(to: str) -> Iterator[Tunnel]:
    made = Tunnel(to)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.slow  # signs of life are a second apart
@pytest.mark.parametrize("swallowed", [{"up"}, {"down"}, {"up", "down"}])
def test_a_tunnel_that_swallows_a_direction_is_noticed(swallowed: set[str]) -> None:
    with servers() as (server,), tunnel(server.address) as between:
        program = subprocess.Popen(
            [PROBE, "copy", "1000000", "1000000"],
            env=remote_environment(between.address),
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: between.passed > 20_000_000)
        between.swallows = swallowed
        _, errors = program.communicate(timeout=PATIENCE)
        assert program.returncode == 1
        assert f"lost the GPU server {between.address}: no answer in time" in errors


def test_a_log_that_nobody_reads_stops_no_server() -> None:
    with servers() as (server,):  # whose stderr is a pipe
        for _ in range(3000):
            server.connect().close()
        assert run_remote(server.address, PROBE, "touch").returncode == 0
        status, said = server.stop()
    assert status == 0
    # At most a line a second, however many came.
    assert 1 <= len(said.splitlines()) < 3000
    assert said.startswith("gpucast-gpu-server: a connection ended before it had greeted\n")
