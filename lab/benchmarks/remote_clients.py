"""Test servers with very many clients, on NVIDIA GPUs or over the fake driver.

    python3 lab/benchmarks/remote_clients.py crowd --build build/gpu -o FOLDER [--clients 1000]
        [--max-clients 64] [--transport tls|plain|shared-memory]
    python3 lab/benchmarks/remote_clients.py soak --build build/gpu -o FOLDER [--clients 1000]
        [--seconds 600] [--gpus 1] [--transport tls|plain|shared-memory]

crowd: all clients connect to one server at once; each allocates memory, copies to it and reports
the result. Clients that are served stay until the last one has reported, compare what they copied,
and leave. The others must give the reason in one line, and none may hang. An equal crowd comes
first, so that the server's allocator already keeps what that many clients need.

soak: clients connect and leave, eight at a time; then clients with several threads make calls of
all kinds on all GPUs until time is up.

Before and after, the descriptors, memory and child processes of every server are compared and, if
nvidia-smi is installed, the memory in use on its GPU; after a crowd also the files in /dev/shm and
in the folder of the server's socket. Memory may grow by what an allocator keeps. Needs Python's
standard library only; exits with status 1 if anything is left behind or a client fails.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from remote import PROBE, Machine

REASONS = ("the server has too many clients", "no answer in time")
"""Why clients are not served; the second if the host is too busy to greet all within 5 s."""

AT_ONCE = 8
"""Clients that connect and leave at the same time."""

COPIED = 100_000
"""Bytes that each client copies: they fit into one message."""

KEPT_BY_ALLOCATOR, MOST_OF_A_CLIENT, MOST_OF_THE_LISTENER = 2 << 20, 32 << 20, 64 << 20
"""Bytes that a server may keep, that a client's process may use on the host, and by which the
listening process may grow, however many clients connect."""

HANG = 120.0
"""Seconds after which a client that has not reported is taken to hang."""


class Held(NamedTuple):
    """Resources that one server uses."""

    descriptors: int
    resident: int
    children: list[int]
    gpu_megabytes: int


def held(pid: int, gpu: int) -> Held:
    status = Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    used = 0
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", f"--id={gpu}", "--query-gpu=memory.used",
                 "--format=csv,noheader,nounits"]  # fmt: skip
        used = int(subprocess.run(query, capture_output=True, check=True).stdout)
    descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return Held(descriptors, int(status.split()[0]) << 10, [*map(int, children)], used)


def every_server(machine: Machine) -> list[Held]:
    """The resources of all servers, once the last client's process has ended."""
    deadline = time.monotonic() + 20
    while True:
        now = [held(server.pid, gpu) for gpu, server in enumerate(machine.servers)]
        if not any(server.children for server in now) or time.monotonic() > deadline:
            return now
        time.sleep(0.1)


def left_behind(machine: Machine) -> set[str]:
    """Files that outlive processes: shared memory, and those in the folder of the sockets."""
    folders = (Path("/dev/shm"), Path(machine.folder.name))
    return {str(file) for folder in folders for file in folder.iterdir()}


def compare(machine: Machine, what: str, work: Callable[[], str]) -> None:
    """Compare the servers' resources before and after `work`, which runs clients and describes what
    they did."""
    before = every_server(machine)
    begin = time.monotonic()
    done = work()
    print(f"{what}: {done} in {time.monotonic() - begin:.0f} s")
    for gpu, (first, last) in enumerate(zip(before, every_server(machine), strict=True)):
        right = (
            not first.children
            and not last.children
            and last.descriptors == first.descriptors
            and last.resident - first.resident <= KEPT_BY_ALLOCATOR
            and last.gpu_megabytes <= first.gpu_megabytes
        )
        machine.check(f"{what}: server {gpu} keeps nothing", right, f"{first}, then {last}")
        resident = f"{first.resident >> 10} {last.resident >> 10} KiB"
        memory = f"{first.gpu_megabytes} {last.gpu_megabytes} MiB"
        descriptors = f"{first.descriptors} {last.descriptors}"
        print(f"  descriptors {descriptors}, resident {resident}, GPU memory {memory}")


# --- clients that connect at once ---


def client(library: Path, report: int, go: int) -> int:
    """Run one client in a process of its own; exit status 0: served, 1: refused, 2: wrong
    result."""
    cuda, size = ctypes.CDLL(str(library)), ctypes.c_size_t(COPIED)
    memory = ctypes.c_void_p()
    sent = ctypes.create_string_buffer(os.urandom(COPIED), COPIED)
    back = ctypes.create_string_buffer(COPIED)
    refused = cuda.cudaMalloc(ctypes.byref(memory), size) != 0
    wrong = not refused and cuda.cudaMemcpy(memory, sent, size, 1) != 0
    os.write(report, b"R" if refused else b"W" if wrong else b"S")
    if refused or wrong:
        return 1 if refused else 2
    os.read(go, 1)  # returns when the pipe is closed
    wrong = cuda.cudaMemcpy(back, memory, size, 2) != 0 or back.raw != sent.raw
    return 2 if wrong or cuda.cudaFree(memory) != 0 else 0


def begin_client(library: Path, errors: Path, report: int, go: int, hold: int) -> int:
    """Start a client; its process id."""
    process = os.fork()
    if process == 0:
        status = 2
        try:
            os.close(hold)  # the pipe ends when the last process has closed it
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
            status = client(library, report, go)
        finally:
            os._exit(status)
    return process


def count_reports(reports: int, count: int) -> Counter[str]:
    """Count the reports of ``count`` clients; those that hang send none."""
    counts: Counter[str] = Counter()
    while counts.total() < count and select.select([reports], [], [], HANG)[0]:
        counts.update(os.read(reports, 4096).decode())
    return counts


def ended(processes: list[int]) -> Counter[int]:
    """Count the exit statuses of processes; those that hang are killed."""
    statuses: Counter[int] = Counter()
    end = time.monotonic() + HANG
    for process in processes:
        while not (waited := os.waitpid(process, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.kill(process, signal.SIGKILL)
            time.sleep(0.01)
        statuses[os.waitstatus_to_exitcode(waited[1])] += 1
    return statuses


def proportional(process: int) -> int:
    """Proportional set size of a process, bytes; 0 if it has ended."""
    try:
        content = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(content.split("\nPss:")[1].split()[0]) << 10


def crowd(machine: Machine, count: int, most: int, library: Path) -> str:
    server = machine.servers[0].pid
    before = held(server, 0).resident
    (reports, report), (go, hold) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        errors = [Path(folder) / str(k) for k in range(count)]
        processes = [begin_client(library, file, report, go, hold) for file in errors]
        counts = count_reports(reports, count)
        now = held(server, 0)
        grown = now.resident - before
        largest = max(map(proportional, now.children), default=0)
        os.close(hold)
        statuses = ended(processes)
        texts = (file.read_text(errors="replace") for file in errors)
        lines = Counter(line for text in texts for line in text.splitlines())
    for end in reports, report, go:
        os.close(end)
    served = counts["S"]
    full, late = (sum(lines[line] for line in lines if why in line) for why in REASONS)
    memory = (
        f"listener {grown >> 10} KiB more, {len(now.children)} clients' processes of up to "
        f"{largest >> 10} KiB"
    )
    for what, right, otherwise in (
        ("none hangs", counts.total() == count == statuses.total(), f"{counts}, {statuses}"),
        ("as many clients as allowed are served, unless they connected too late",
         served == min(count, most) or (served < most and full == 0 and late > 0), f"{counts}"),
        ("clients read back what they copied", statuses[0] == served, f"{statuses}"),
        ("every refused client gives the reason in one line",
         full + late == lines.total() == count - served, f"{lines.most_common(5)}"),
        ("memory is within its limits",
         grown <= MOST_OF_THE_LISTENER and largest <= MOST_OF_A_CLIENT, memory),
    ):  # fmt: skip
        machine.check(what, right, otherwise)
    return f"{served} served, {full} too many, {late} too late; {memory}"


# --- clients that connect and leave ---


def connects(machine: Machine, count: int, shared: bool) -> str:
    gpus = len(machine.servers)
    before = machine.failed

    def touch(_: int) -> bool:
        if machine.failed > before:
            return False
        machine.run("connect and leave", PROBE, "touch", remote=gpus, shared=shared, quiet=True)
        return machine.failed == before

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return f"{sum(pool.map(touch, range(count)))} of {count} clients"


def mixed(machine: Machine, seconds: float, shared: bool) -> str:
    gpus = len(machine.servers)
    clients = rounds = 0
    end = time.monotonic() + seconds
    before = machine.failed
    while (remaining := end - time.monotonic()) > 0 and machine.failed == before:
        whole = max(1, round(min(remaining, 60)))
        output = machine.run(
            "mixed calls", PROBE, "soak", whole, remote=gpus, shared=shared, quiet=True
        )
        clients += 1
        rounds += int(output.split()[0]) if output else 0
    return f"{rounds} rounds by {clients} clients"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("crowd", "soak"))
    parser.add_argument("--build", type=Path, default=Path("build/gpu"))
    parser.add_argument("--transport", choices=("tls", "plain", "shared-memory"), default="tls")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--max-clients", type=int, default=64, help="limit of a crowd's server")
    parser.add_argument(
        "--gpus", type=int, default=1, help="servers of clients that connect and leave"
    )
    parser.add_argument("--seconds", type=float, default=600, help="duration of mixed calls")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    plain, shared = (options.transport == name for name in ("plain", "shared-memory"))
    at_once = options.what == "crowd"
    words = ["--max-clients", str(options.max_clients)] if at_once else []
    gpus = 1 if at_once else options.gpus
    machine = Machine(options.build, options.output, gpus, plain=plain, options=words)
    try:
        if at_once:
            library = options.build.resolve() / "remote/client/libcudart.so.13"
            os.environ.update(machine.variables(1, shared=shared))

            def work() -> str:
                return crowd(machine, options.clients, options.max_clients, library)

            work()
            every_server(machine)
            files = left_behind(machine)
            compare(machine, f"{options.clients} clients at once, {options.transport}", work)
            now = left_behind(machine)
            machine.check("no file is left behind", now == files, f"{now - files}")
        else:
            machine.run("connect and leave", PROBE, "touch", remote=gpus, shared=shared)
            compare(machine, "connects", lambda: connects(machine, options.clients, shared))
            compare(machine, "mixed calls", lambda: mixed(machine, options.seconds, shared))
    finally:
        machine.stop()
    print(f"{machine.failed} failed")
    return 1 if machine.failed else 0


if __name__ == "__main__":
    sys.exit(main())
