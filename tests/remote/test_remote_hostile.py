"""Networks and strangers that mean no good: nobody hangs for good, nothing is filled."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from remote_servers import (
    CHANNEL,
    LANE,
    MONITOR,
    PATIENCE,
    PROBE,
    Hold,
    run_remote,
    servers,
    start,
    wait_until,
)

pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"no {PROBE}")


class Tunnel:
    """Passes bytes on, until it is told to swallow those of some connections and directions.

    Attributes:
        swallows: what connections are for, and "up" or "down".
        passed: bytes so far, likewise.
        moments: how often some came.
    """

    def __init__(self, to: str) -> None:
        self._to = to
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.swallows: set[tuple[int, str]] = set()
        self.passed: Counter[tuple[int, str]] = Counter()
        self.moments: Counter[tuple[int, str]] = Counter()
        self._start(self._accept)

    def close(self) -> None:
        self._listening.close()

    def _start(self, work: object, *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _accept(self) -> None:
        host, _, port = self._to.rpartition(":")
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection((host, int(port)))
                for connection in near, far:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                hello = near.recv(32, socket.MSG_WAITALL)
                far.sendall(hello)
                purpose = hello[12]
                self._start(self._pass_on, near, far, (purpose, "up"))
                self._start(self._pass_on, far, near, (purpose, "down"))

    def _pass_on(self, source: socket.socket, to: socket.socket, way: tuple[int, str]) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                if way not in self.swallows:
                    to.sendall(content)
                    self.passed[way] += len(content)
                    self.moments[way] += 1
        with suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)


@contextmanager
def tunnel(to: str) -> Iterator[Tunnel]:
    made = Tunnel(to)
    try:
        yield made
    finally:
        made.close()


def copying(address: str, **environment: str) -> subprocess.Popen[str]:
    """A program that copies to and fro, within messages and over channels, until that fails."""
    return start(
        address,
        """
n = 4 << 20
d, p = memory(n), pinned(n)
ready()
while not (cuda.cudaMemcpy(d, p, size(n), 1) or cuda.cudaMemcpy(p, d, size(n), 2)
           or cuda.cudaMemcpy(d, p, size(64), 1) or cuda.cudaMemcpy(p, d, size(64), 2)): pass
print(cuda.cudaDeviceSynchronize())
""",
        **environment,
    )


LOST = "46"
"""cudaErrorDevicesUnavailable"""

ALL = {LANE, MONITOR, CHANNEL}


@pytest.mark.slow  # signs of life are a second apart
@pytest.mark.parametrize("plain", [False, True], ids=["TLS", "plain"])
@pytest.mark.parametrize(
    ("stuck", "said"),
    [
        ({(connection, "up") for connection in ALL}, "no answer in time"),
        ({(connection, "down") for connection in ALL}, "no answer in time"),
        ({(connection, way) for connection in ALL for way in ("up", "down")}, "no answer in time"),
        ({(MONITOR, "up")}, "no answer in time"),
        ({(LANE, "up")}, "nothing passes through its control connection any more"),
        ({(LANE, "down")}, "nothing passes through its control connection any more"),
        ({(CHANNEL, "up")}, "nothing passes through a connection for large copies any more"),
        ({(CHANNEL, "down")}, "nothing passes through a connection for large copies any more"),
    ],
)
def test_connections_that_no_longer_carry_what_is_sent_are_noticed(
    stuck: set[tuple[int, str]], said: str, plain: bool
) -> None:
    """Though the tunnel takes all, and closes none."""
    with (
        servers(1, *(["--plain"] if plain else [])) as (server,),
        tunnel(server.address) as between,
    ):
        program = copying(between.address, GPUCAST_REMOTE_PLAIN=str(int(plain)))
        wait_until(lambda: between.passed[CHANNEL, "down"] > 20_000_000)
        between.swallows = stuck
        out, _ = program.communicate(timeout=PATIENCE)
        assert out == f"gpucast remote: lost the GPU server {between.address}: {said}\n{LOST}\n"


@pytest.mark.slow  # signs of life are a second apart
@pytest.mark.parametrize("size", [64 << 10, 4 << 20], ids=["messages", "channels"])
def test_a_server_that_waits_for_its_gpu_is_not_given_up(size: int, tmp_path: Path) -> None:
    """Though it takes nothing of what is sent to it for much longer than a stuck network may."""
    hold = Hold(tmp_path / "hold", "memset")
    with servers(1, **hold.environment) as (server,), tunnel(server.address) as between:
        program = start(
            between.address,
            f"""
n = {size}
d, p = memory(n), pinned(n)
cuda.cudaMemcpy(d, p, size(n), 1)
ready(); sys.stdin.readline()
cuda.cudaMemsetAsync(d, 1, size(n), None)
for k in range({(256 << 20) // size}): assert cuda.cudaMemcpyAsync(d, p, size(n), 1, None) == 0
print(cuda.cudaMemcpy(p, d, size(n), 2), cuda.cudaDeviceSynchronize())
""",
        )
        program.stdin.write("now\n")
        program.stdin.flush()
        hold.wait_until_reached()
        beats = 15
        then = between.moments[MONITOR, "down"]
        wait_until(lambda: between.moments[MONITOR, "down"] > then + beats)
        hold.release()
        out, _ = program.communicate(timeout=PATIENCE)
        assert out == "0 0\n"


@contextmanager
def tunnel_of_its_own(to: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process, which can be stopped, and its address."""
    program = f"""
import sys, test_remote_hostile
between = test_remote_hostile.Tunnel({to!r})
print(between.address, flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow  # signs of life are a second apart
@pytest.mark.parametrize("plain", [False, True], ids=["TLS", "plain"])
def test_a_stopped_tunnel_leaves_nothing_at_the_server(plain: bool) -> None:
    """It closes nothing when the client ends, and its system takes what the server says."""
    options = ["--max-silence", "3", *["--plain"][: int(plain)]]
    with (
        servers(1, *options) as (server,),
        tunnel_of_its_own(server.address) as (process, address),
    ):
        program = copying(address, GPUCAST_REMOTE_PLAIN=str(int(plain)))
        process.send_signal(signal.SIGSTOP)
        out, _ = program.communicate(timeout=PATIENCE)
        assert out == f"gpucast remote: lost the GPU server {address}: no answer in time\n{LOST}\n"
        wait_until(lambda: not server.children())
        assert "it has said nothing for 3 s (--max-silence)" in server.stop()[1]


@pytest.mark.slow  # signs of life are a second apart
@pytest.mark.parametrize("transport", ["TCP", "shared memory"])
def test_a_program_that_is_stopped_goes_on_within_the_silence_that_is_granted(
    transport: str, tmp_path: Path
) -> None:
    def options(name: str, silence: int) -> list[str]:
        listen = "127.0.0.1:0" if transport == "TCP" else f"unix:{tmp_path / name}"
        return ["--listen", listen, "--max-silence", str(silence)]

    program = """
d, p = memory(64), pinned(64)
ready(); sys.stdin.readline()
print(cuda.cudaMemcpy(p, d, size(64), 2))
"""
    with (
        servers(1, *options("patient", 0)) as (patient,),
        servers(1, *options("strict", 8)) as (strict,),
    ):
        waiting, given_up = start(patient.address, program), start(strict.address, program)
        for process in waiting, given_up:
            process.send_signal(signal.SIGSTOP)
        wait_until(lambda: not strict.children())
        assert len(patient.children()) == 1
        for process in waiting, given_up:
            process.send_signal(signal.SIGCONT)
        out, _ = waiting.communicate("now\n", timeout=PATIENCE)
        assert out == "0\n"
        out, _ = given_up.communicate("now\n", timeout=PATIENCE)
        assert out.startswith(f"gpucast remote: lost the GPU server {strict.address}: ")
        assert out.endswith(f"\n{LOST}\n")


def test_a_log_that_nobody_reads_stops_no_server() -> None:
    with servers() as (server,):  # whose stderr is a pipe
        for _ in range(3000):
            server.connect().close()
        assert run_remote(server.address, PROBE, "touch").returncode == 0
        status, log = server.stop()
    assert status == 0
    # At most a line a second, however many came.
    assert 1 <= len(log.splitlines()) < 3000
    first = r"gpucast-gpu-server: a connection ended before it had greeted \(127\.0\.0\.1:\d+\)\n"
    assert re.match(first, log)
