"""Do servers keep anything of clients that are gone? On NVIDIA GPUs or over the fake driver.

    python3 lab/benchmarks/remote_soak.py --build build/gpu -o FOLDER [--connects 1000]
        [--seconds 600] [--transport tls|plain|shared-memory]

Clients come and go, eight at a time; then clients make calls of all kinds, by several threads on
all GPUs, again and again until time is up. Before and after: descriptors and memory of every
server, its child processes, and (where nvidia-smi is) the memory in use on its GPU. Memory may grow
by what an allocator keeps (2 MiB). Needs Python's standard library only; exit status 1 if anything
is left behind or a client fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from remote import PROBE, Machine
from remote_kept import compare, options_of, servers

AT_ONCE = 8


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
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--connects", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    options, shared = options_of(parser)
    with servers(options, options.gpus) as machine:
        machine.run("connect and leave", PROBE, "touch", remote=options.gpus, shared=shared)
        compare(machine, "connects", lambda: connects(machine, options.connects, shared))
        compare(machine, "mixed calls", lambda: mixed(machine, options.seconds, shared))
    return 1 if machine.failed else 0


if __name__ == "__main__":
    sys.exit(main())
