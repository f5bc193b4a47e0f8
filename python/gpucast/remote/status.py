"""Facts and latency of GPU servers, queried through the client as programs use it.

The client connects once per process, to servers from the environment. Each server is therefore
queried by a process of its own, which runs ``ask`` of this file and prints the answer.
"""

from __future__ import annotations

import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from gpucast.remote import CLIENT, client_folder, client_message, environment
from gpucast.remote.addresses import absolute

TRIALS = 200
SMALL, LARGE = 64, 32 << 20
"""Sizes (bytes) of the blocking copies for round trip and bandwidth."""

PATIENCE = 60.0
"""Longest time (s) for an answer; copies wait while the GPU computes."""


@dataclass(frozen=True)
class Status:
    """One server as a client sees it.

    Attributes:
        address: the given address.
        problem: why it cannot be used, in a line; if None, all other fields are known.
        version: version of gpucast at the server.
        gpu: name of the GPU.
        memory_bytes, free_bytes: memory of the GPU that this client may use.
        clients: current number of other clients.
        transport: transport of the calls: tls, plain or shm (shared memory).
        round_trip_seconds: median time of a blocking copy of 64 bytes from the GPU.
        up_bytes_per_second, down_bytes_per_second: bandwidth of a copy of 32 MiB with pinned
            memory; None if not measured.
    """

    address: str
    problem: str | None = None
    version: str | None = None
    gpu: str | None = None
    memory_bytes: int | None = None
    free_bytes: int | None = None
    clients: int | None = None
    transport: str | None = None
    round_trip_seconds: float | None = None
    up_bytes_per_second: float | None = None
    down_bytes_per_second: float | None = None


def statuses(
    addresses: Sequence[str],
    *,
    secret_file: Path | None = None,
    plain: bool = False,
    bandwidth: bool = True,
) -> list[Status]:
    """Query several servers, at the same time unless bandwidth is measured.

    Raises:
        GpucastError: gpucast was built without remote GPUs.
    """
    library = client_folder() / CLIENT

    def one(address: str) -> Status:
        # Do not write counters.
        variables = environment(address, secret_file=secret_file, plain=plain)
        return _ask(address, library, variables | {"GPUCAST_REMOTE_COUNTERS": ""}, bandwidth)

    # Concurrent copies would share the network.
    with ThreadPoolExecutor(1 if bandwidth else 16) as threads:
        return list(threads.map(one, addresses))


def _ask(address: str, library: Path, variables: dict[str, str], bandwidth: bool) -> Status:
    words = [sys.executable, "-m", "gpucast.remote.status", os.fspath(library)]
    try:
        answered = subprocess.run(
            [*words, *(["bandwidth"] if bandwidth else [])],
            env=variables,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Status(address, f"it has not answered within {PATIENCE:.0f} s")
    if answered.returncode == 0 and answered.stdout:
        return Status(address, **json.loads(answered.stdout))
    lines = answered.stderr.strip().splitlines() or ["it gave no answer"]
    # Remove the variable and the address from the client's message.
    problem = (client_message(lines) or lines[-1]).removeprefix("GPUCAST_REMOTE: ")
    return Status(address, problem.removeprefix(f"{absolute(address)}: "))


class _Runtime:
    """Calls of the CUDA runtime."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function; raise RuntimeError with the runtime's message."""
        status = self._library[name](*arguments)
        if status != 0:
            text = self._library.cudaGetErrorString
            text.restype = ctypes.c_char_p
            raise RuntimeError(f"{name}: {text(status).decode()}")

    def text(self, name: str, *arguments: object) -> str | None:
        """Return the text that a call of the client returns, or None."""
        function = self._library[name]
        function.restype = ctypes.c_char_p
        text: bytes | None = function(*arguments)
        return None if text is None else text.decode()

    def address(self, name: str, *arguments: object) -> ctypes.c_void_p:
        place = ctypes.c_void_p()
        self.call(name, ctypes.byref(place), *arguments)
        return place


def ask(library: str, *, bandwidth: bool) -> dict[str, object]:
    """Return the facts about device 0. Raises RuntimeError."""
    runtime = _Runtime(library)
    version, clients = ctypes.create_string_buffer(64), ctypes.c_uint()
    runtime.call("gpucast_remote_server", 0, version, ctypes.c_size_t(64), ctypes.byref(clients))
    properties = ctypes.create_string_buffer(
        8192
    )  # larger than cudaDeviceProp, which begins with the name
    runtime.call("cudaGetDeviceProperties", properties, 0)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    runtime.call("cudaMemGetInfo", ctypes.byref(free), ctypes.byref(total))
    device = runtime.address("cudaMalloc", ctypes.c_size_t(LARGE if bandwidth else SMALL))
    here = ctypes.create_string_buffer(SMALL)

    def copy(to: object, source: object, size: int, kind: int) -> None:
        runtime.call("cudaMemcpy", to, source, ctypes.c_size_t(size), kind)

    trips = [_seconds(lambda: copy(here, device, SMALL, 2)) for _ in range(TRIALS)]
    facts: dict[str, object] = {
        "version": version.value.decode("utf-8", "replace"),
        "gpu": properties.value.decode("utf-8", "replace"),
        "memory_bytes": total.value,
        "free_bytes": free.value,
        "clients": clients.value - 1,
        "transport": runtime.text("gpucast_remote_transport", 0),
        "round_trip_seconds": statistics.median(trips),
    }
    if bandwidth:
        pinned = runtime.address("cudaMallocHost", ctypes.c_size_t(LARGE))

        def up() -> None:
            copy(device, pinned, LARGE, 1)
            runtime.call("cudaDeviceSynchronize")  # a blocking copy may return before its end

        fastest = min(_seconds(up) for _ in range(4))
        facts["up_bytes_per_second"] = LARGE / fastest
        fastest = min(_seconds(lambda: copy(pinned, device, LARGE, 2)) for _ in range(4))
        facts["down_bytes_per_second"] = LARGE / fastest
    return facts


def _seconds(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def as_object(status: Status) -> dict[str, object]:
    """Return a status as JSON values."""
    return {"reachable": status.problem is None, **asdict(status)}


def main() -> None:
    """Print the answer of ``GPUCAST_REMOTE``'s server, or the client's error on stderr."""
    try:
        print(json.dumps(ask(sys.argv[1], bandwidth="bandwidth" in sys.argv[2:])))
    except RuntimeError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
