"""What servers keep of clients that are gone: looked at before and after, for remote_soak.py and
remote_clients.py, with what these two have in common of their command lines."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from remote import Machine

KEPT_BY_ALLOCATOR = 2 << 20
"""Bytes."""


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


def options_of(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, bool]:
    """The command line with what both take, and whether clients share memory with servers."""
    parser.add_argument("--build", type=Path, default=Path("build/gpu"))
    parser.add_argument("--transport", choices=("tls", "plain", "shared-memory"), default="tls")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    return options, options.transport == "shared-memory"


@contextmanager
def servers(options: argparse.Namespace, gpus: int, words: Sequence[str] = ()) -> Iterator[Machine]:
    """Servers for as many GPUs, which end with the block; then it is said how much failed."""
    plain = options.transport == "plain"
    machine = Machine(options.build, options.output, gpus, plain=plain, options=words)
    try:
        yield machine
    finally:
        machine.stop()
    print(f"{machine.failed} failed")
