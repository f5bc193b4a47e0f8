"""Servers and what becomes of them when clients misbehave: over the fake driver."""

import contextlib
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import pytest

from remote_servers import (
    CHANNEL,
    FAILED,
    FAKE,
    HELLO,
    MONITOR,
    PATIENCE,
    PROBE,
    SECRET,
    SERVER,
    WELCOME,
    Hold,
    Raw,
    Server,
    answer,
    derived,
    memory_of,
    servers,
    start,
    wait_until,
)

pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"no {PROBE}")

MEBIBYTE = 1 << 20
UNHEARD = b"\0\0"
"""A sign of life of a server whose client has said none: no number, and nothing of connections."""

OPEN, MEM_ALLOC, COPY_TO_BULK, COPY_FROM = 3, 6, 11, 12


def run(gpus: str, program: str) -> list[str]:
    """What the client prints."""
    client = start(gpus, "ready()\n" + program)
    out, _ = client.communicate(timeout=PATIENCE)
    assert client.returncode == 0, out
    return out.split()


def tasks_of(process: int) -> list[Path]:
    """Its threads."""
    return list(Path(f"/proc/{process}/task").iterdir())


def threads_of(process: int) -> int:
    return len(tasks_of(process))


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
def test_nothing_is_left_of_a_client_that_is_killed_while_its_server_waits(
    waits: str, tmp_path: Path
) -> None:
    hold = Hold(tmp_path / "hold", "memset")
    with servers(1, **hold.environment) as (server,):
        program = f"d, p = memory(64 << 20), pinned(64 << 20)\n{waits}\nready(); sys.stdin.read()"
        client = start(server.address, program)
        hold.wait_until_reached()
        wait_until(lambda: server.in_flight() == 0)
        assert len(server.children()) == 1
        client.kill()
        client.wait()
        wait_until(lambda: not server.children())


def test_nothing_is_left_of_a_client_that_promised_data_and_went() -> None:
    with servers(1, "--plain") as (server,):
        lane = Raw(server)
        lane.ask(OPEN)
        (address,) = struct.unpack("<Q", lane.ask(MEM_ALLOC, struct.pack("<QQ", MEBIBYTE, 0)))
        lane.send(COPY_TO_BULK, struct.pack("<QQQQB", address, MEBIBYTE, 0, 99, 0))
        wait_until(lambda: server.unread() == 0)
        lane.socket.close()
        wait_until(lambda: not server.children())


OWN_NETWORK = ("unshare", "--map-root-user", "--net")
"""Begins a command with a network of its own, which it may cut."""

CUT = """
import os
from remote_servers import servers, start, wait_until
with servers() as (server,):
    client = start(server.address, "d, p = memory(1000), pinned(60000); told = False\\n"
        "while cuda.cudaMemcpyAsync(p, d, size(1000), 2, None) == 0:\\n"
        "  cuda.cudaDeviceSynchronize(); told = told or not ready()")
    os.system("ip link set lo down")
    wait_until(lambda: not server.children())
    client.kill()
"""


def test_nothing_is_left_of_a_client_whose_network_is_gone() -> None:
    try:
        if subprocess.run([*OWN_NETWORK, "ip", "link", "set", "lo", "up"], check=False).returncode:
            pytest.skip("no networks of their own here")
    except FileNotFoundError:
        pytest.skip("no unshare here")
    command = ["sh", "-c", 'ip link set lo up && exec "$0" -c "$1"', sys.executable, CUT]
    subprocess.run(
        [*OWN_NETWORK, *command],
        check=True,
        timeout=2 * PATIENCE,
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_a_client_without_a_monitor_is_cut_off() -> None:
    with servers(1, "--plain") as (server,):
        lane = Raw(server)
        lane.ask(OPEN)
        wait_until(lambda: not server.children())
        assert "it opened no monitor" in server.stop()[1]


def test_a_client_has_one_monitor() -> None:
    with servers(1, "--plain") as (server,):
        lane = Raw(server)
        first = Raw(server, MONITOR, lane.session)
        assert first.receive(2) == UNHEARD
        (child,) = server.children()
        before = threads_of(child)
        others = [Raw(server, MONITOR, lane.session) for _ in range(20)]
        for other in others:
            assert other.socket.recv(1) == b""
        assert threads_of(child) == before
        assert first.receive(2) == UNHEARD


def test_a_connection_that_a_process_cannot_take_does_not_keep_others_out() -> None:
    with servers(1, "--plain") as (server,):
        lane = Raw(server)
        monitor = Raw(server, MONITOR, lane.session)
        lane.ask(OPEN)
        assert monitor.receive(2) == UNHEARD
        (child,) = server.children()
        before = resource.prlimit(child, resource.RLIMIT_NOFILE, (3, most_descriptors(child)))
        assert Raw(server, CHANNEL, lane.session).socket.recv(1) == b""  # lost on its way
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


def test_what_a_large_copy_waits_for_keeps_nothing_else_waiting(tmp_path: Path) -> None:
    hold = Hold(tmp_path / "hold", "memset")
    with servers(1, **hold.environment) as (server,):
        client = start(
            server.address,
            """
ready()
n = 64 << 20
d, e, p, q = memory(n), memory(64), pinned(n), pinned(64)
s, t = stream(), stream()
cuda.cudaMemcpyAsync(d, p, size(n), 1, s); cuda.cudaStreamSynchronize(s)
cuda.cudaMemsetAsync(d, 7, size(n), s)
cuda.cudaMemcpyAsync(p, d, size(n), 2, s)
other = threading.Thread(target=cuda.cudaStreamSynchronize, args=(s,))
other.start()
free, all = size(), size()
answers = [cuda.cudaMemGetInfo(c.byref(free), c.byref(all)), cuda.cudaStreamQuery(s)]
answers += [cuda.cudaMemcpyAsync(e, q, size(64), 1, t), cuda.cudaMemcpy(q, e, size(64), 2)]
memory(64)
print(*answers, other.is_alive(), flush=True)
cuda.cudaDeviceSynchronize()
print(set(c.string_at(p.value, n)))
other.join()
""",
        )
        assert client.stdout.readline().split() == ["0", "600", "0", "0", "True"]
        hold.release()
        assert client.communicate(timeout=PATIENCE)[0] == "{7}\n"


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


@pytest.mark.parametrize("size", [65536, MEBIBYTE])
def test_answers_that_nobody_reads_do_not_pile_up(size: int) -> None:
    with servers(1, "--plain") as (server,):
        lane = Raw(server)
        monitor = Raw(server, MONITOR, lane.session)
        assert monitor.receive(2) == UNHEARD
        lane.ask(OPEN)
        (address,) = struct.unpack("<Q", lane.ask(MEM_ALLOC, struct.pack("<QQ", MEBIBYTE, 0)))
        (child,) = server.children()
        before = memory_of(child)
        os.kill(child, signal.SIGSTOP)  # so that all is there to be read at once
        wait_until(lambda: state_of(child) == "T")
        payload = struct.pack("<QQQQIH", address, size, 0, 77, 0, 0)
        message = struct.pack("<IHHI", len(payload), COPY_FROM, 0, 0) + payload
        copies = 1000
        lane.socket.sendall(message * copies)
        os.kill(child, signal.SIGCONT)
        sent = select.poll()
        sent.register(lane.socket, select.POLLIN)
        assert sent.poll(PATIENCE * 1000)
        heard = sum(len(lane.receive(MEBIBYTE)) for _ in range(copies * size // MEBIBYTE))
        assert heard == copies * size // MEBIBYTE * MEBIBYTE
        # Staging (64 MiB) and answers (8 MiB and one), whose memory doubles and moves as they grow.
        assert highest_memory_of(child) - before < 128 * MEBIBYTE  # copies * size if unbounded


def highest_memory_of(process: int) -> int:
    """Most resident bytes that it has had."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def is_constant(values: deque[int]) -> bool:
    return len(values) == values.maxlen and len(set(values)) == 1


def test_many_copies_behind_a_blocked_stream_take_bounded_memory_and_all_arrive(
    tmp_path: Path,
) -> None:
    copies = 200
    hold = Hold(tmp_path / "hold", "memset")
    with servers(1, **hold.environment) as (server,):
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
cuda.cudaMemsetAsync(d, 255, size(n), s)
for k in range(m):
    assert cuda.cudaMemcpyAsync(d, sent[k], size(n), 1, s) == 0
    assert cuda.cudaMemcpyAsync(back[k], d, size(n), 2, s) == 0
assert cuda.cudaMemcpyAsync(small, e, size(64), 2, t) == 0
assert cuda.cudaDeviceSynchronize() == 0
print([k for k in range(m) if c.string_at(back[k].value, n) != bytes([k]) * n])
sys.stdout.flush(); sys.stdin.readline()
""",
        )
        (child,) = server.children()
        before = memory_of(child)
        assert client.stdout is not None
        client.stdin.write("now\n")
        client.stdin.flush()
        hold.wait_until_reached()
        unread: deque[int] = deque(maxlen=20)
        # The client sends until the server takes no more.
        wait_until(
            lambda: unread.append(server.unread()) or (min(unread) > 0 and is_constant(unread))
        )
        hold.release()
        assert client.stdout.readline() == "[]\n"
        assert highest_memory_of(child) - before < 100 * MEBIBYTE  # 400 if there were no bound
        client.communicate("end\n", timeout=PATIENCE)
        assert client.returncode == 0


def asleep(process: int) -> bool:
    """Whether all of its threads wait for something."""
    return all(state_of(int(task.name)) == "S" for task in tasks_of(process))


def times_awake(process: int) -> int:
    """How often its threads have gone to sleep again."""
    states = [text.joinpath("status").read_text() for text in tasks_of(process)]
    return sum(
        int(re.findall(r"^voluntary_ctxt_switches:\s*(\d+)", text, re.M)[0]) for text in states
    )


def test_a_server_whose_client_is_idle_sleeps() -> None:
    with servers(1, "--plain") as (server,):
        client = start(
            server.address,
            """
d, h = memory(4 << 20), pinned(4 << 20)
for bytes in 64, 1 << 20, 4 << 20:  # over the control and the bulk connections
    for k in range(20):
        cuda.cudaMemcpyAsync(d, h, size(bytes), 1, None)
        cuda.cudaMemcpyAsync(h, d, size(bytes), 2, None)
        cuda.cudaDeviceSynchronize()
cuda.cudaMemcpyAsync(d, h, size(1 << 20), 1, None)  # nobody waits for it
ready(); sys.stdin.readline()
""",
            GPUCAST_REMOTE_PLAIN="1",
        )
        both = (*server.children(), client.pid)
        assert len(both) == 2
        wait_until(lambda: all(asleep(process) for process in both))
        other = Raw(server)
        clock = Raw(server, MONITOR, other.session)
        before = [times_awake(process) for process in both]
        assert clock.receive(3 * len(UNHEARD)) == 3 * UNHEARD
        # One that looked for work now and then would do so thousands of times.
        assert all(
            times_awake(process) - then < 200 for process, then in zip(both, before, strict=True)
        )
        wait_until(lambda: all(asleep(process) for process in both))
        client.communicate("end\n", timeout=PATIENCE)


# ---- the listener ----


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
        out, _ = client.communicate("now\n", timeout=PATIENCE)
        assert len(idle) == 80
        assert out.split() == ["0", "0"]


class SlowStart:
    """Keeps programs from beginning, where their loader is told to read a pipe first."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.environment = {"LD_PRELOAD": str(path)}
        self._path = path
        self._open = threading.Event()
        self._over = threading.Event()
        self._feeder = threading.Thread(target=self._feed)
        self._feeder.start()
        self._open.set()

    def _feed(self) -> None:
        while not self._over.is_set():
            # Where nobody reads, there is nobody to let go on.
            with contextlib.suppress(OSError):
                if self._open.wait(0.01):
                    os.close(os.open(self._path, os.O_WRONLY | os.O_NONBLOCK))

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def stop(self) -> None:
        self._over.set()
        self._feeder.join()


def test_strangers_do_not_push_out_a_client_whose_process_begins(tmp_path: Path) -> None:
    slow = SlowStart(tmp_path / "pipe")
    try:
        with servers(1, "--plain", **slow.environment) as (server,):
            # Handshakes may take a quarter of these files.
            resource.prlimit(
                server.process.pid,
                resource.RLIMIT_NOFILE,
                (256, most_descriptors(server.process.pid)),
            )
            slow.hold()
            client = server.connect()
            client.sendall(HELLO + bytes(16))
            client.sendall(answer(HELLO + bytes(16), client.recv(48, socket.MSG_WAITALL)))
            wait_until(server.children)
            strangers = [server.connect() for _ in range(80)]
            for stranger in strangers:
                stranger.sendall(HELLO + bytes(16))
            assert strangers[-1].recv(48)
            slow.release()
            welcome = client.recv(52, socket.MSG_WAITALL)
            assert int.from_bytes(welcome[:2], "little") == WELCOME
            assert len(welcome) == 52
    finally:
        slow.stop()


def test_every_listener_comes_back_when_there_were_no_descriptors() -> None:
    with servers(1, "--plain", "--listen", "127.0.0.1:0,127.0.0.1:0") as (server,):
        places = [server.address, server.process.stdout.readline().split()[-1]]
        used = max(server.descriptors())
        resource.prlimit(
            server.process.pid,
            resource.RLIMIT_NOFILE,
            (used + 2, most_descriptors(server.process.pid)),
        )
        connections = [server.connect(place) for place in places for _ in range(20)]
        wait_until(lambda: set(range(used + 2)) <= server.descriptors())
        for connection in connections:
            connection.close()
        for place in places:
            connection = server.connect(place)
            connection.sendall(HELLO + bytes(16))
            assert len(connection.recv(48)) == 48


def test_a_client_that_greets_while_the_server_ends_is_refused() -> None:
    with servers(1, "--plain", GPUCAST_FAKE_DELAY="cuDevicePrimaryCtxRetain:60") as (server,):
        first = Raw(server)
        late = server.connect()
        late.sendall(HELLO + bytes(16))
        challenge = late.recv(48)
        assert len(challenge) == 48
        (child,) = server.children()
        os.kill(child, signal.SIGSTOP)  # so that the server waits for it
        wait_until(lambda: state_of(child) == "T")
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not listens(server))
        late.sendall(answer(HELLO + bytes(16), challenge))
        assert int.from_bytes(late.recv(52)[:2], "little") == FAILED
        assert server.children() == [child]
        os.kill(child, signal.SIGCONT)
        first.socket.close()
        assert server.process.wait(timeout=PATIENCE) == 0


def test_a_client_whose_process_cannot_begin_its_program_is_refused(tmp_path: Path) -> None:
    """After the server has begun, a library that they share is broken."""
    linked = subprocess.run(["ldd", SERVER], capture_output=True, text=True, check=True).stdout
    match = re.search(r"(libstdc\+\+\S*) => (\S+)", linked)
    assert match is not None, linked
    library = tmp_path / match[1]
    shutil.copy(match[2], library)
    with servers(1, "--plain", LD_LIBRARY_PATH=str(tmp_path)) as (server,):
        Raw(server)
        library.unlink()
        library.write_bytes(b"no library")
        Raw(server, expected=FAILED)


def listens(server: Server) -> bool:
    with contextlib.suppress(ConnectionRefusedError):
        server.connect().close()
        return True
    return False


def held_by(process: int, contents: Iterable[bytes]) -> set[bytes]:
    """Which of these are anywhere in the memory of the process."""
    seen: set[bytes] = set()
    maps = Path(f"/proc/{process}/maps").read_text().splitlines()
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for line in maps:
            place, access = line.split()[:2]
            begin, end = (int(word, 16) for word in place.split("-"))
            if access.startswith("r") and not line.endswith("[vvar]"):
                with contextlib.suppress(OSError, OverflowError):
                    memory.seek(begin)
                    part = memory.read(end - begin) or b""
                    seen |= {content for content in contents if content in part}
    return seen


def test_a_clients_process_knows_neither_the_secret_nor_other_clients() -> None:
    """From before its client is welcomed on: each is looked at as soon as its client is."""
    with servers(1, "--plain") as (server,):
        welcomed: list[Raw] = []
        monitors: list[Raw] = []  # without which a client is cut off
        known = {SECRET, SECRET[:16], derived(b"plain"), derived(b"TLS 1.3")}
        for _ in range(5):
            welcomed.append(Raw(server))
            known.add(welcomed[-1].session)
            monitors.append(Raw(server, MONITOR, welcomed[-1].session))
            assert len(server.children()) == len(welcomed)
            for child in server.children():
                assert held_by(child, known) == set()
        welcomed[-1].ask(OPEN)
        of_clients = {client.session for client in welcomed}
        assert held_by(server.process.pid, known) >= {derived(b"plain"), *of_clients}
        for child in server.children():
            assert held_by(child, known) == set()


def test_a_clients_process_shakes_hands_without_knowing_the_secret() -> None:
    with servers() as (server,):
        keys = {derived(b"plain"), derived(b"TLS 1.3")}
        clients = []
        for _ in range(3):
            program = """
d, p = memory(4 << 20), pinned(4 << 20)
ready(); cuda.cudaMemcpy(d, p, size(4 << 20), 1); ready(); sys.stdin.readline()
"""
            clients.append(start(server.address, program))
            for child in server.children():
                assert held_by(child, {SECRET, SECRET[:16], *keys}) == set()
            assert clients[-1].stdout.readline() == "ready\n"  # its bulk connections are open
            for child in server.children():
                assert held_by(child, {SECRET, SECRET[:16], *keys}) == set()
        assert len(server.children()) == 3
        assert held_by(server.process.pid, keys) == keys
        for client in clients:
            client.communicate("end\n", timeout=PATIENCE)


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
    for _ in range(2):
        assert "listening on" in serving.stdout.readline()
    path = Path(f"/proc/{serving.pid}/task/{serving.pid}/children")
    begun = [int(word) for word in path.read_text().split()]
    assert len(begun) == 2
    serving.kill()
    serving.wait()
    wait_until(lambda: all(state_of(process) in "Z" for process in begun))


def test_a_server_whose_parent_is_gone_does_not_begin() -> None:
    command = [SERVER, "--listen", "127.0.0.1:0", "--with-parent", "1"]
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert finished.returncode == 1
    assert "--with-parent" in finished.stderr
