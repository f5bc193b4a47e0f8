"""Servers and what becomes of them when clients misbehave: over the fake driver."""

from __future__ import annotations

import contextlib
import hmac
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from remote_servers import CLIENT, FAKE, PROBE, SERVER, Server, remote_environment, servers

pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"no {PROBE}")

MEBIBYTE = 1 << 20
PROTOCOL = 3
LANE, MONITOR, CHANNEL = 1, 2, 3
HELLO = struct.pack("<QIHH", 0x5453414355504721, PROTOCOL, LANE, 0)
FAILED = 4
OPEN, MEM_ALLOC, COPY_TO_BULK, COPY_FROM = 3, 6, 11, 12

BINDINGS = f"""
import ctypes as c, os, sys, threading, time
cuda = c.CDLL("{CLIENT / "libcudart.so.13"}")
size, pointer = c.c_size_t, c.c_void_p
def memory(bytes):
    p = pointer(); assert cuda.cudaMalloc(c.byref(p), size(bytes)) == 0; return p
def pinned(bytes):
    p = pointer(); assert cuda.cudaMallocHost(c.byref(p), size(bytes)) == 0; return p
def stream(flags=1):
    s = pointer(); assert cuda.cudaStreamCreateWithFlags(c.byref(s), flags) == 0; return s
def ready():
    print("ready", flush=True)
"""
"""The runtime for a program in Python; streams wait for no others unless asked to."""


def start(gpus: str, program: str) -> subprocess.Popen[str]:
    """A client; returns once it says that it is ready."""
    client = subprocess.Popen(
        [sys.executable, "-c", BINDINGS + program],
        env=remote_environment(gpus),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert client.stdout is not None
    line = client.stdout.readline()
    assert line == "ready\n", line + client.communicate(timeout=10)[0]
    return client


def run(gpus: str, program: str) -> list[str]:
    """What the client prints."""
    client = start(gpus, "ready()\n" + program)
    out, _ = client.communicate(timeout=60)
    assert client.returncode == 0, out
    return out.split()


class Raw:
    """A connection by the protocol alone."""

    def __init__(
        self, server: Server, purpose: int = LANE, session: bytes = bytes(16), secret: bytes = b""
    ) -> None:
        self.socket = server.connect()
        hello = HELLO[:12] + struct.pack("<HH", purpose, 0) + session
        self.socket.sendall(hello)
        challenge = self.receive(48)
        assert len(challenge) == 48
        nonce = bytes(32)
        said = b"\1" + hello + challenge[16:] + nonce
        proof = hmac.digest(secret, said, "sha256") if secret else bytes(32)
        self.socket.sendall(nonce + proof)
        entry, self.session, _ = struct.unpack("<I16s32s", self.receive(52))
        assert entry == 0

    def receive(self, size: int) -> bytes:
        result = b""
        while len(result) < size and (part := self.socket.recv(size - len(result))):
            result += part
        return result

    def send(self, call: int, payload: bytes = b"", request: int = 0) -> None:
        self.socket.sendall(struct.pack("<IHHI", len(payload), call, 0, request) + payload)

    def ask(self, call: int, payload: bytes = b"") -> bytes:
        """The answer's fields."""
        self.send(call, payload, 1)
        size = struct.unpack("<IHHI", self.receive(12))[0]
        return self.receive(size)[8:]


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def threads_of(process: int) -> int:
    return len(list(Path(f"/proc/{process}/task").iterdir()))


def state_of(process: int) -> str:
    """Its letter; empty where there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


# ---- clients that are gone ----


@pytest.mark.parametrize(
    "waits",
    [
        "a = memory(64); cuda.cudaMemsetAsync(d, 1, size(64), None); cuda.cudaFree(a)",
        """
cuda.cudaMemsetAsync(d, 1, size(64), None)
for k in range(600): cuda.cudaMemcpyAsync(d, p, size(64), 1, None)
""",
        """
cuda.cudaMemsetAsync(d, 1, size(64), None)
cuda.cudaMemcpyAsync(p, d, size(64 << 20), 2, None)
""",
    ],
    ids=["in the driver", "for staging", "for rings"],
)
def test_nothing_is_left_of_a_client_that_is_killed_while_its_server_waits(waits: str) -> None:
    with servers(1, GPUCAST_FAKE_DELAY="memset:60") as (server,):
        program = f"d, p = memory(64 << 20), pinned(64 << 20)\n{waits}\nready(); time.sleep(99)"
        client = start(server.address, program)
        time.sleep(0.3)
        assert len(server.children()) == 1
        client.kill()
        client.wait()
        wait_until(lambda: not server.children())


def test_nothing_is_left_of_a_client_that_promised_data_and_went() -> None:
    with servers() as (server,):
        lane = Raw(server)
        lane.ask(OPEN)
        (address,) = struct.unpack("<Q", lane.ask(MEM_ALLOC, struct.pack("<QQ", MEBIBYTE, 0)))
        lane.send(COPY_TO_BULK, struct.pack("<QQQQB", address, MEBIBYTE, 0, 99, 0))
        time.sleep(0.2)
        lane.socket.close()
        wait_until(lambda: not server.children())


OWN_NETWORK = ("unshare", "--map-root-user", "--net")
"""Begins a command with a network of its own, which it may cut."""

CUT = """
import os, time
from remote_servers import servers
from test_remote_server import start, wait_until
with servers() as (server,):
    client = start(server.address, "d, p = memory(1000), pinned(60000); ready()\\n"
        "while cuda.cudaMemcpyAsync(p, d, size(1000), 2, None) == 0: cuda.cudaDeviceSynchronize()")
    time.sleep(0.5)
    os.system("ip link set lo down")
    wait_until(lambda: not server.children(), 11)
    client.kill()
"""


def test_nothing_is_left_of_a_client_whose_network_is_gone() -> None:
    try:
        if subprocess.run([*OWN_NETWORK, "ip", "link", "set", "lo", "up"], check=False).returncode:
            pytest.skip("no networks of their own here")
    except FileNotFoundError:
        pytest.skip("no unshare here")
    command = ["sh", "-c", 'ip link set lo up && exec "$0" -c "$1"', sys.executable, CUT]
    subprocess.run([*OWN_NETWORK, *command], check=True, timeout=60, cwd=Path(__file__).parent,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip


def test_a_client_without_a_monitor_is_cut_off() -> None:
    with servers() as (server,):
        lane = Raw(server)
        lane.ask(OPEN)
        wait_until(lambda: not server.children())
        assert "it opened no monitor" in server.stop()[1]


def test_a_client_has_one_monitor() -> None:
    with servers() as (server,):
        lane = Raw(server)
        first = Raw(server, MONITOR, lane.session)
        assert first.receive(1) == b"\1"
        (child,) = server.children()
        before = threads_of(child)
        others = [Raw(server, MONITOR, lane.session) for _ in range(20)]
        for other in others:
            assert other.socket.recv(1) == b""
        assert threads_of(child) == before
        assert first.receive(1) == b"\1"


def test_a_connection_that_a_process_cannot_take_does_not_keep_others_out() -> None:
    with servers() as (server,):
        lane = Raw(server)
        monitor = Raw(server, MONITOR, lane.session)
        lane.ask(OPEN)
        assert monitor.receive(1) == b"\1"
        (child,) = server.children()
        before = resource.prlimit(child, resource.RLIMIT_NOFILE, (3, most_descriptors(child)))
        Raw(server, CHANNEL, lane.session)
        time.sleep(0.1)
        resource.prlimit(child, resource.RLIMIT_NOFILE, before)
        threads = threads_of(child)
        channel = Raw(server, CHANNEL, lane.session)
        wait_until(lambda: threads_of(child) == threads + 2)
        channel.socket.close()


def most_descriptors(process: int) -> int:
    return resource.prlimit(process, resource.RLIMIT_NOFILE)[1]


# ---- order, and what is told ----


def test_a_device_is_done_once_its_destroyed_streams_are() -> None:
    with servers(1, GPUCAST_FAKE_DELAY="memset:0.5") as (server,):
        program = """
d, h = memory(4096), c.create_string_buffer(4096)
for k in range(3):
    s = stream()
    cuda.cudaMemsetAsync(d, 40 + k, size(4096), s)
    if k < 2: cuda.cudaDeviceSynchronize()
cuda.cudaStreamDestroy(s)
print(cuda.cudaDeviceSynchronize(), cuda.cudaMemcpy(h, d, size(4096), 2), h.raw[0])
"""
        assert run(server.address, program) == ["0", "0", "42"]


@pytest.mark.parametrize("piece", [1, 3])
def test_a_copy_that_failed_says_so_once(piece: int) -> None:
    with servers(1, GPUCAST_FAKE_FAIL=f"cuMemcpyDtoHAsync:{piece}:1") as (server,):
        program = """
d, h = memory(4 << 20), c.create_string_buffer(4 << 20)
print(cuda.cudaMemcpy(h, d, size(4 << 20), 2))
print(cuda.cudaDeviceSynchronize(), cuda.cudaDeviceSynchronize())
print(cuda.cudaMemcpy(h, d, size(4 << 20), 2), cuda.cudaDeviceSynchronize())
"""
        assert run(server.address, program) == ["1", "0", "0", "0", "0"]


def test_what_a_large_copy_waits_for_keeps_nothing_else_waiting() -> None:
    with servers(1, GPUCAST_FAKE_DELAY="memset:2") as (server,):
        program = """
n = 64 << 20
d, e, p, q = memory(n), memory(64), pinned(n), pinned(64)
s, t = stream(), stream()
cuda.cudaMemcpyAsync(d, p, size(n), 1, s); cuda.cudaStreamSynchronize(s)
begin = time.time()
cuda.cudaMemsetAsync(d, 7, size(n), s)
cuda.cudaMemcpyAsync(p, d, size(n), 2, s)
other = threading.Thread(target=cuda.cudaStreamSynchronize, args=(s,))
other.start()
free, all = size(), size()
answers = [cuda.cudaMemGetInfo(c.byref(free), c.byref(all)), cuda.cudaStreamQuery(s)]
answers += [cuda.cudaMemcpyAsync(e, q, size(64), 1, t), cuda.cudaMemcpy(q, e, size(64), 2)]
memory(64)
early = time.time() - begin < 1
cuda.cudaDeviceSynchronize()
late = time.time() - begin > 1.9
other.join()
print(*answers, early, late, set(c.string_at(p.value, n)))
"""
        assert run(server.address, program) == ["0", "600", "0", "0", "True", "True", "{7}"]


def test_what_follows_a_large_copy_on_its_stream_does_not_overtake_it() -> None:
    with servers(1, GPUCAST_FAKE_DELAY="memset:0.2") as (server,):
        program = """
n = 40 << 20
d, p, q = memory(n), pinned(n), pinned(n)
s, t, e = stream(0), stream(), pointer()
cuda.cudaEventCreate(c.byref(e))
for on in s, None:  # the legacy stream waits for s
    cuda.cudaMemsetAsync(d, 1, size(n), s)
    cuda.cudaMemcpyAsync(p, d, size(n), 2, s)
    cuda.cudaMemsetAsync(d, 2, size(n), on)
    cuda.cudaEventRecord(e, on)
    cuda.cudaStreamWaitEvent(t, e, 0)
    cuda.cudaMemcpyAsync(q, d, size(n), 2, t)
    cuda.cudaStreamSynchronize(t); cuda.cudaDeviceSynchronize()
    print(set(c.string_at(p.value, n)), set(c.string_at(q.value, n)))
"""
        assert run(server.address, program) == ["{1}", "{2}"] * 2


# ---- limits ----


def memory_of(process: int) -> int:
    """Resident bytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("size", [65536, MEBIBYTE])
def test_answers_that_nobody_reads_do_not_pile_up(size: int) -> None:
    with servers() as (server,):
        lane = Raw(server)
        monitor = Raw(server, MONITOR, lane.session)
        assert monitor.receive(1) == b"\1"
        lane.ask(OPEN)
        (address,) = struct.unpack("<Q", lane.ask(MEM_ALLOC, struct.pack("<QQ", MEBIBYTE, 0)))
        (child,) = server.children()
        before = memory_of(child)
        os.kill(child, signal.SIGSTOP)  # so that all is there to be read at once
        wait_until(lambda: state_of(child) == "T")
        payload = struct.pack("<QQQQ", address, size, 0, 77)
        message = struct.pack("<IHHI", len(payload), COPY_FROM, 0, 0) + payload
        lane.socket.settimeout(1)
        with contextlib.suppress(TimeoutError):
            lane.socket.sendall(message * 20000)
        os.kill(child, signal.SIGCONT)
        time.sleep(1)
        assert memory_of(child) - before < 100 * MEBIBYTE


def highest_memory_of(process: int) -> int:
    """Most resident bytes that it has had."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def test_many_copies_behind_a_blocked_stream_take_bounded_memory_and_all_arrive() -> None:
    copies = 200
    with servers(1, GPUCAST_FAKE_DELAY="memset:1") as (server,):
        client = start(
            server.address,
            f"""
n, m = {MEBIBYTE}, {copies}
d, e, h, small = memory(n), memory(64), pinned(n), pinned(64)
sent, back = [pinned(n) for k in range(m)], [pinned(n) for k in range(m)]
for k, p in enumerate(sent): c.memset(p, k, n)
s, t = stream(), stream()
cuda.cudaMemcpy(d, h, size(n), 1); cuda.cudaDeviceSynchronize()
ready(); sys.stdin.readline()
begin = time.time()
cuda.cudaMemsetAsync(d, 255, size(n), s)
for k in range(m):
    assert cuda.cudaMemcpyAsync(d, sent[k], size(n), 1, s) == 0
    assert cuda.cudaMemcpyAsync(back[k], d, size(n), 2, s) == 0
assert cuda.cudaMemcpyAsync(small, e, size(64), 2, t) == 0
assert cuda.cudaDeviceSynchronize() == 0
print(time.time() - begin > 0.9)
print([k for k in range(m) if c.string_at(back[k].value, n) != bytes([k]) * n])
sys.stdout.flush(); sys.stdin.readline()
""",
        )
        (child,) = server.children()
        before = memory_of(child)
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write("now\n")
        client.stdin.flush()
        assert [client.stdout.readline() for _ in range(2)] == ["True\n", "[]\n"]
        assert highest_memory_of(child) - before < 100 * MEBIBYTE  # 400 if there were no bound
        client.communicate("end\n", timeout=10)
        assert client.returncode == 0


def processor_time_of(process: int) -> float:
    """Seconds that it has computed."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(int(word) for word in words[11:13]) / os.sysconf("SC_CLK_TCK")


def test_a_server_whose_client_is_idle_sleeps() -> None:
    with servers() as (server,):
        client = start(
            server.address,
            """
d, h = memory(4 << 20), pinned(4 << 20)
for bytes in 64, 1 << 20, 4 << 20:  # over the lane and over the channels
    for k in range(20):
        cuda.cudaMemcpyAsync(d, h, size(bytes), 1, None)
        cuda.cudaMemcpyAsync(h, d, size(bytes), 2, None)
        cuda.cudaDeviceSynchronize()
cuda.cudaMemcpyAsync(d, h, size(1 << 20), 1, None)  # nobody waits for it
ready(); sys.stdin.readline()
""",
        )
        (child,) = server.children()
        time.sleep(0.2)
        before = [processor_time_of(each) for each in (child, client.pid)]
        time.sleep(1)
        after = [processor_time_of(each) for each in (child, client.pid)]
        assert max(b - a for a, b in zip(before, after, strict=True)) < 0.05
        client.communicate("end\n", timeout=10)


# ---- the door ----


def test_idle_connections_keep_no_client_from_its_large_copies() -> None:
    with servers() as (server,):
        client = start(
            server.address,
            """
d, h = memory(8 << 20), pinned(8 << 20)
ready(); sys.stdin.readline()
print(cuda.cudaMemcpy(d, h, size(8 << 20), 1), cuda.cudaDeviceSynchronize())
""",
        )
        idle = [server.connect() for _ in range(80)]
        out, _ = client.communicate("now\n", timeout=30)
        assert len(idle) == 80
        assert out.split() == ["0", "0"]


def test_every_listener_comes_back_when_there_were_no_descriptors() -> None:
    with servers(1, "--listen", "127.0.0.1:0,127.0.0.1:0") as (server,):
        assert server.process.stdout is not None
        places = [server.address, server.process.stdout.readline().split()[-1]]
        used = server.descriptors()
        resource.prlimit(
            server.process.pid,
            resource.RLIMIT_NOFILE,
            (used + 8, most_descriptors(server.process.pid)),
        )
        connections = [connect(place) for place in places for _ in range(20)]
        time.sleep(0.5)
        for connection in connections:
            connection.close()
        time.sleep(0.5)
        for place in places:
            connection = connect(place)
            connection.sendall(HELLO + bytes(16))
            assert len(connection.recv(48)) == 48


def test_a_client_that_greets_while_the_server_ends_is_refused() -> None:
    with servers(1, GPUCAST_FAKE_DELAY="cuInit:60") as (server,):
        first = Raw(server)
        late = server.connect()
        late.sendall(HELLO + bytes(16))
        assert len(late.recv(48)) == 48
        (child,) = server.children()
        os.kill(child, signal.SIGSTOP)  # so that the server waits for it
        wait_until(lambda: state_of(child) == "T")
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        late.sendall(bytes(64))
        assert int.from_bytes(late.recv(52)[:4], "little") == FAILED
        assert server.children() == [child]
        os.kill(child, signal.SIGCONT)
        first.socket.close()
        assert server.process.wait(timeout=10) == 0


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def holds(process: int, content: bytes) -> bool:
    """Whether it is anywhere in the memory of the process."""
    maps = Path(f"/proc/{process}/maps").read_text().splitlines()
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for line in maps:
            place, access = line.split()[:2]
            begin, end = (int(word, 16) for word in place.split("-"))
            if access.startswith("r") and not line.endswith("[vvar]"):
                with contextlib.suppress(OSError, OverflowError):
                    memory.seek(begin)
                    if content in (memory.read(end - begin) or b""):
                        return True
    return False


def test_a_clients_process_knows_neither_the_secret_nor_other_clients(tmp_path: Path) -> None:
    secret = b"this is the secret of 2 machines"
    file = tmp_path / "secret"
    file.write_bytes(secret)
    file.chmod(0o600)
    with servers(1, "--secret-file", str(file)) as (server,):
        first = Raw(server, secret=secret)
        second = Raw(server, secret=secret)
        second.ask(OPEN)
        assert holds(server.process.pid, secret)
        assert holds(server.process.pid, first.session)
        for child in server.children():
            assert not holds(child, secret)
            assert not holds(child, secret[:16])
            assert not holds(child, first.session)
            assert not holds(child, second.session)


# ---- the command ----


def serve(tmp_path: Path, program: str) -> subprocess.Popen[str]:
    """A program over gpucast.remote that finds the server of the build."""
    (tmp_path / SERVER.name).symlink_to(SERVER)
    return subprocess.Popen(
        [sys.executable, "-c", f"from gpucast.remote import serve\n{program}"],
        env={
            **os.environ,
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "GPUCAST_LIBCUDA": str(FAKE),
        },
        stdout=subprocess.PIPE,
        text=True,
    )


def test_servers_end_with_the_command_that_began_them(tmp_path: Path) -> None:
    serving = serve(tmp_path, 'serve([0, 0], "127.0.0.1", 0, [])')
    assert serving.stdout is not None
    for _ in range(2):
        assert "listening on" in serving.stdout.readline()
    path = Path(f"/proc/{serving.pid}/task/{serving.pid}/children")
    begun = [int(word) for word in path.read_text().split()]
    assert len(begun) == 2
    serving.kill()
    serving.wait()
    wait_until(lambda: all(state_of(each) in "Z" for each in begun))


def test_a_server_whose_parent_is_gone_does_not_begin() -> None:
    command = [SERVER, "--listen", "127.0.0.1:0", "--with-parent", "1"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert finished.returncode == 1
    assert "--with-parent" in finished.stderr
