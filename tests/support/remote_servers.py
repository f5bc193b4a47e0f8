"""GPU servers over the fake driver, and programs that run over the client."""

import atexit
import hmac
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from command_line import executable
from waiting import next_line

ROOT = Path(__file__).parents[2]
BUILD = os.environ.get("GPUCAST_REMOTE_BUILD")
"""The folder `remote` of a build, with all that the step for remote GPUs of `make test` makes."""


def built(*names: str) -> Path:
    """A file of that build: of the installed package's, unless another is named."""
    root = Path(BUILD) if BUILD else ROOT / "build" / "wheel" / "remote"
    return root.joinpath(*names)


SERVER = built("gpucast-gpu-server")
CLIENT = built("client")
FAKE = built("fake", "libcuda.so.1")
KERNELS = built("probe", "libprobe_kernels.so")
PROBE = built("probe", "gpucast-remote-probe")


def fake_kernels(*programs: str) -> list[Path]:
    """Libraries in which servers over the fake driver find what kernels of our programs do."""
    return [
        built("..", "tests", "remote_kernels", f"lib{program}_kernels.so") for program in programs
    ]


PATIENCE = 60
"""Seconds after which a wait for what has to happen is a hang, on however slow a machine."""


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)


class Hold:
    """Keeps the fake driver's operations of a kind from beginning until it is released."""

    def __init__(self, path: Path, kind: str) -> None:
        self._path = path
        path.touch()
        self.environment = {"GPUCAST_FAKE_HOLD": f"{kind}:{path}"}

    def wait_until_reached(self) -> None:
        wait_until(lambda: self._path.stat().st_size > 0)

    def release(self) -> None:
        self._path.unlink()


SECRET = b"what all servers and clients of the tests know"


@cache
def secret_file() -> Path:
    """That secret's, which goes with the tests."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "secret"
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return path


def derived(purpose: bytes, secret: bytes = SECRET) -> bytes:
    """A key that both sides make of the secret (HKDF, RFC 5869)."""
    extracted = hmac.digest(b"gpucast remote", secret, "sha256")
    return hmac.digest(extracted, purpose + b"\1", "sha256")


class Server:
    """One that runs; `address` is what clients are told."""

    def __init__(self, *options: str, gpu: int = 0, **environment: str) -> None:
        self.process = subprocess.Popen(
            [SERVER, "--gpu", str(gpu), *options],
            env={
                **os.environ,
                "GPUCAST_LIBCUDA": str(FAKE),
                "GPUCAST_FAKE_KERNELS": str(KERNELS),
                "GPUCAST_REMOTE_SECRET_FILE": str(secret_file()),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = next_line(self.process)
        listening = re.search(r"listening on (\S+)", line)
        if listening is None:
            self.process.kill()
            _, errors = self.process.communicate()
            raise RuntimeError(f"{line}{errors}")
        self.address = listening[1]

    def children(self) -> list[int]:
        """The processes of its clients."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in path.read_text().split()]

    def descriptors(self) -> set[int]:
        return {int(path.name) for path in Path(f"/proc/{self.process.pid}/fd").iterdir()}

    def connect(self, address: str | None = None) -> socket.socket:
        host, _, port = (address or self.address).rpartition(":")
        return socket.create_connection((host, int(port)), timeout=PATIENCE)

    def in_flight(self) -> int:
        """Bytes that clients have sent over TCP and that are not here yet."""
        return self._queued()[0]

    def unread(self) -> int:
        """Bytes that clients have sent over TCP and that no process of the server has read."""
        return sum(self._queued())

    def _queued(self) -> tuple[int, int]:
        """On the clients' side, and on the server's."""
        ours = f":{int(self.address.rpartition(':')[2]):04X}"
        there = here = 0
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, remote, state, queues = line.split()[:5]
            sent, received = (int(length, 16) for length in queues.split(":"))
            if state == "01":  # established
                there += sent * remote.endswith(ours)
                here += received * local.endswith(ours)
        return there, here

    def stop(self) -> tuple[int, str]:
        """Exit status, and what it said on stderr."""
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


LANE, MONITOR, CHANNEL = 1, 2, 3
"""What connections are for."""
PROTOCOL = int(
    re.findall(
        r"protocol_version = (\d+);",
        (ROOT / "remote" / "src" / "protocol" / "limits.h").read_text(),
    )[0]
)
"""The version that client and server speak."""
HELLO = struct.pack("<QIHH", 0x5453414355504721, PROTOCOL, LANE, 0)
WELCOME, FAILED = 0, 4


def answer(hello: bytes, challenge: bytes, secret: bytes = SECRET) -> bytes:
    """What shows, without TLS, that a client knows the secret."""
    nonce = bytes(32)
    message = b"\1" + hello + challenge[16:] + nonce
    return nonce + hmac.digest(derived(b"plain", secret), message, "sha256")


class Raw:
    """A connection by the protocol alone, to a server without TLS."""

    def __init__(
        self,
        server: Server,
        purpose: int = LANE,
        session: bytes = bytes(16),
        secret: bytes = SECRET,
        expected: int = WELCOME,
    ) -> None:
        self.socket = server.connect()
        hello = HELLO[:12] + struct.pack("<HH", purpose, 0) + session
        self.socket.sendall(hello)
        challenge = self.receive(48)
        assert len(challenge) == 48
        self.socket.sendall(answer(hello, challenge, secret))
        entry, _, self.session, _ = struct.unpack("<HH16s32s", self.receive(52))
        assert entry == expected

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


def sockets_of(process: int) -> list[str]:
    """The sockets that it has open."""
    links = []
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            links.append(os.readlink(descriptor))
    return [name for name in links if name.startswith("socket:")]


def memory_of(process: int) -> int:
    """Resident bytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()


@contextmanager
def servers(count: int = 1, *options: str, **environment: str) -> Iterator[list[Server]]:
    """Servers of so many GPUs; ``{gpu}`` in an option stands for the number of each."""
    # For commands that tests begin, too, which take no environment of theirs.
    os.environ.setdefault("GPUCAST_REMOTE_SECRET_FILE", str(secret_file()))
    listen = () if "--listen" in options else ("--listen", "127.0.0.1:0")
    running: list[Server] = []
    try:
        for gpu in range(count):
            own = [option.replace("{gpu}", str(gpu)) for option in options]
            environment = {"GPUCAST_FAKE_DEVICES": str(count), **environment}
            running.append(Server(*own, *listen, gpu=gpu, **environment))
        yield running
    finally:
        for server in running:
            if server.process.poll() is None:
                server.stop()


def addresses(running: list[Server]) -> str:
    return ",".join(server.address for server in running)


def script_environment(
    folder: Path, running: list[Server], kernels: list[Path], **settings: str
) -> dict[str, str]:
    """What ``lab/gpu.sh`` reads; its native GPUs are the servers', as its remote ones are."""
    count = len(running)
    executable(folder / "nvidia-smi", f'#!/bin/sh\n[ "$1" != --list-gpus ] || seq {count}\n')
    return {
        **remote_environment(addresses(running)),
        "GPUCAST_FAKE_KERNELS": ":".join(map(str, kernels)),
        "PATH": f"{folder}:{os.environ['PATH']}",
        # The servers that the script starts compute on this machine's driver, a fake one.
        "GPUCAST_REMOTE_MIXED": "allow",
        "GPUCAST_BUILD": str(built("..")),
        "GPUCAST_FAKE_DEVICES": str(count),
        "GPUCAST_KERNELS": "claret",
        "GPUCAST_LARGEST": "4096",
        "GPUCAST_LIBCUDA": str(FAKE),
        "GPUCAST_MACHINE": f"x{count}",
        "GPUCAST_NCCL": "/nonexistent",
        "GPUCAST_REMOTE_SPIN_US": "0",
        "GPUCAST_ROUNDS": "2",
        "GPUCAST_SIZES": "64",
        **settings,
    }


def remote_environment(gpus: str, **environment: str) -> dict[str, str]:
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(CLIENT),
        "GPUCAST_REMOTE": gpus,
        "GPUCAST_REMOTE_SECRET_FILE": str(secret_file()),
        **environment,
    }


def run_remote(
    gpus: str, *command: object, timeout: float = 2 * PATIENCE, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        env=remote_environment(gpus, **environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


BINDINGS = f"""
import ctypes as c, sys, threading
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


def start(gpus: str, program: str, **environment: str) -> subprocess.Popen[str]:
    """A client; returns once it says that it is ready."""
    client = subprocess.Popen(
        [sys.executable, "-c", BINDINGS + program],
        env=remote_environment(gpus, **environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    line = next_line(client)
    assert line == "ready\n", line + client.communicate(timeout=PATIENCE)[0]
    return client
