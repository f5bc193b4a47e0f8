"""A crowd: very many clients of one server at once. On NVIDIA GPUs or over the fake driver.

    python3 lab/benchmarks/remote_clients.py --build build/gpu -o FOLDER [--clients 1000]
        [--max-clients 64] [--transport tls|plain|shared-memory]

All connect at once, and each allocates memory, copies to it and says what became of that. Those
that are served stay until the last has said so, compare what they copied, and leave. The others are
to say why in one line, and none is to hang. Before, meanwhile and after: what the server has, its
children, and what they leave in /dev/shm and beside the server's socket. Another such crowd comes
first, so that the server has what its allocator keeps for so many. Needs Python's standard library
only; exit status 1 where any of that does not hold.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from remote import Machine
from remote_kept import compare, every_server, options_of, servers

REASONS = ("the server has too many clients", "no answer in time")
"""Why clients are not served: the second where the host is too busy to greet all within 5 s."""

COPIED = 100_000
"""Bytes that each copies: within a message."""

MOST_OF_A_CLIENT = 32 << 20
"""Bytes of the server's host that one such client may take."""

MOST_OF_THE_LISTENER = 64 << 20
"""Bytes that the listening process may grow by, whoever comes."""

HANG = 120.0
"""Seconds after which a client that has said nothing is one that hangs."""


class Client(NamedTuple):
    """A process that was begun."""

    process: int
    errors: Path


def be_client(library: Path, told: int, go: int) -> int:
    """One client's life, in a process of its own; its exit status: 0 served, 1 refused, 2 wrong."""
    cuda, size = ctypes.CDLL(str(library)), ctypes.c_size_t(COPIED)
    memory = ctypes.c_void_p()
    here = ctypes.create_string_buffer(os.urandom(COPIED), COPIED)
    back = ctypes.create_string_buffer(COPIED)
    refused = cuda.cudaMalloc(ctypes.byref(memory), size) != 0
    wrong = not refused and cuda.cudaMemcpy(memory, here, size, 1) != 0
    os.write(told, b"R" if refused else b"W" if wrong else b"S")
    if refused or wrong:
        return 1 if refused else 2
    os.read(go, 1)  # its end
    wrong = cuda.cudaMemcpy(back, memory, size, 2) != 0 or back.raw != here.raw
    return 2 if wrong or cuda.cudaFree(memory) != 0 else 0


def begin(library: Path, errors: Path, told: int, go: int, hold: int) -> Client:
    process = os.fork()
    if process == 0:
        status = 2
        try:
            os.close(hold)  # which ends once nobody else has it
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
            status = be_client(library, told, go)
        finally:
            os._exit(status)
    return Client(process, errors)


def hear(told: int, count: int) -> Counter[str]:
    """What so many clients have said, or those of them that do not hang."""
    said: Counter[str] = Counter()
    while said.total() < count and select.select([told], [], [], HANG)[0]:
        said.update(os.read(told, 4096).decode())
    return said


def ended(clients: list[Client]) -> Counter[int]:
    """How often each exit status; those that hang are killed."""
    statuses: Counter[int] = Counter()
    end = time.monotonic() + HANG
    for each in clients:
        while not (found := os.waitpid(each.process, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.kill(each.process, signal.SIGKILL)
            time.sleep(0.01)
        statuses[os.waitstatus_to_exitcode(found[1])] += 1
    return statuses


def proportional(process: int) -> int:
    """Bytes that the process has, and its part of what it shares; 0 where it has ended."""
    try:
        content = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(content.split("\nPss:")[1].split()[0]) << 10


def resident(process: int) -> int:
    return int(Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()[0]) << 10


def children(process: int) -> list[int]:
    words = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(each) for each in words]


def crowd(machine: Machine, count: int, most: int, library: Path) -> str:
    server = machine.servers[0].pid
    before = resident(server)
    (told, say), (go, hold) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        clients = []
        for k in range(count):
            clients.append(begin(library, Path(folder) / str(k), say, go, hold))
        said = hear(told, count)
        grown = resident(server) - before
        serving = children(server)
        largest = max(map(proportional, serving), default=0)
        os.close(hold)
        statuses = ended(clients)
        lines = Counter(
            line
            for each in clients
            for line in each.errors.read_text(errors="replace").splitlines()
        )
    for each in told, say, go:
        os.close(each)
    served = said["S"]
    full, late = (sum(lines[line] for line in lines if why in line) for why in REASONS)
    machine.check("none hangs", said.total() == count == statuses.total(), f"{said}, {statuses}")
    machine.check(
        "as many as may be are served, unless they came to it too late",
        served == min(count, most) or (served < most and full == 0 and late > 0),
        f"{said}",
    )
    machine.check("what they copied is theirs", statuses[0] == served, f"{statuses}")
    machine.check(
        "every other has one line that says why",
        full + late == lines.total() == count - served,
        f"{lines.most_common(5)}",
    )
    machine.check(
        "memory is within its limits",
        grown <= MOST_OF_THE_LISTENER and largest <= MOST_OF_A_CLIENT,
        f"listener {grown >> 10} KiB more, a client's process up to {largest >> 10} KiB",
    )
    return (
        f"{served} served, {full} too many, {late} too late; listener {grown >> 10} KiB more, "
        f"{len(serving)} clients' processes of up to {largest >> 10} KiB"
    )


def left_behind(machine: Machine) -> set[str]:
    """Files that outlive processes: shared memory, and what lies beside the sockets."""
    return {
        str(each) for folder in ("/dev/shm", machine.folder.name) for each in Path(folder).iterdir()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--max-clients", type=int, default=64)
    options, shared = options_of(parser)
    library = options.build.resolve() / "remote/client/libcudart.so.13"
    with servers(options, 1, ["--max-clients", str(options.max_clients)]) as machine:
        os.environ.update(machine.variables(1, shared=shared))

        def work() -> str:
            return crowd(machine, options.clients, options.max_clients, library)

        work()
        every_server(machine)
        files = left_behind(machine)
        compare(machine, f"{options.clients} clients at once, {options.transport}", work)
        now = left_behind(machine)
        machine.check("no file is left behind", now == files, f"{now - files}")
    return 1 if machine.failed else 0


if __name__ == "__main__":
    sys.exit(main())
