"""Do servers keep anything of clients that are gone? On NVIDIA GPUs or over the fake driver.

    python3 benchmarks/remote_soak.py --build build/gpu -o FOLDER [--connects 1000] [--seconds 600]
        [--transport tls|plain|shared-memory]

Clients come and go, eight at a time; then clients make calls of all kinds, by several threads on
all GPUs, again and again until time is up. Before and after: descriptors and memory of every
server, its child processes, and (where nvidia-smi is) the memory in use on its GPU. Memory may grow
by what an allocator keeps (2 MiB). Needs Python's standard library only; exit status 1 if anything
is left behind or a client fails.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from remote import PROBE, Machine

TRANSPORTS = ("tls", "plain", "shared-memory")
AT_ONCE = 8
KEPT_BY_ALLOCATOR = 2 << 20


class Held(NamedTuple):
    """What one server has."""

    descriptors: int
    resident: int
    children: int
    gpu_megabytes: int | None


def held(pid: int, gpu: int) -> Held:
    status = Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    used = None
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", f"--id={gpu}", "--query-gpu=memory.used",
                 "--format=csv,noheader,nounits"]  # fmt: skip
        used = int(subprocess.run(query, capture_output=True, check=True).stdout)
    descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return Held(descriptors, int(status.split()[0]) << 10, len(children), used)


def every_server(machine: Machine) -> list[Held]:
    """Once the last client's process is gone."""
    deadline = time.monotonic() + 20
    while True:
        now = [held(server.pid, gpu) for gpu, server in enumerate(machine.servers)]
        if not any(each.children for each in now) or time.monotonic() > deadline:
            return now
        time.sleep(0.1)


def compare(machine: Machine, what: str, work: Callable[[], str]) -> None:
    """`work` makes clients and says what they did."""
    before = every_server(machine)
    begin = time.monotonic()
    done = work()
    print(f"{what}: {done} in {time.monotonic() - begin:.0f} s")
    for gpu, (first, last) in enumerate(zip(before, every_server(machine), strict=True)):
        right = (
            first.children == last.children == 0
            and last.descriptors == first.descriptors
            and last.resident - first.resident <= KEPT_BY_ALLOCATOR
            and (last.gpu_megabytes or 0) <= (first.gpu_megabytes or 0)
        )
        machine.check(f"{what}: server {gpu} keeps nothing", right, f"{first}, then {last}")
        resident = f"{first.resident >> 10} {last.resident >> 10} KiB"
        memory = f"{first.gpu_megabytes} {last.gpu_megabytes} MiB"
        descriptors = f"{first.descriptors} {last.descriptors}"
        print(f"  descriptors {descriptors}, resident {resident}, GPU memory {memory}")


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
    while (left := end - time.monotonic()) > 0 and machine.failed == before:
        whole = max(1, round(min(left, 60)))
        told = machine.run(
            "mixed calls", PROBE, "soak", whole, remote=gpus, shared=shared, quiet=True
        )
        clients += 1
        rounds += int(told.split()[0]) if told else 0
    return f"{rounds} rounds by {clients} clients"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/gpu"))
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--connects", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--transport", choices=TRANSPORTS, default="tls")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    plain, shared = options.transport == "plain", options.transport == "shared-memory"
    machine = Machine(options.build, options.output, options.gpus, plain=plain)
    try:
        machine.run("connect and leave", PROBE, "touch", remote=options.gpus, shared=shared)
        compare(machine, "connects", lambda: connects(machine, options.connects, shared))
        compare(machine, "mixed calls", lambda: mixed(machine, options.seconds, shared))
    finally:
        machine.stop()
    print(f"{machine.failed} failed")
    return 1 if machine.failed else 0


if __name__ == "__main__":
    sys.exit(main())
