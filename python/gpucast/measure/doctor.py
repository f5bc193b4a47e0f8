"""Checks this machine: GPUs, driver, recorder, servers, rights, clocks, other users.

Nothing is run on a GPU and nothing is changed. A finding says what is there and, if something is
wrong, which command it affects and what to do.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpucast import installed
from gpucast.errors import GpucastError, InputError
from gpucast.measure.machine import nvidia_smi
from gpucast.measure.programs import MDAPP, MICROBENCH
from gpucast.measure.tracing import libraries
from gpucast.remote import CLIENT, client_folder, server_program
from gpucast.remote.addresses import addresses, named_twice
from gpucast.remote.status import statuses
from gpucast.util import version

State = Literal["good", "missing", "attention"]
"""``good``: as it should be. ``missing``: not here, and some commands need it. ``attention``: it
disturbs measurements, or the user named it and it cannot be used."""

_NOT_SUPPORTED = "[N/A]"
BUSY = 0.5
"""Load per CPU above which the machine counts as shared."""


@dataclass(frozen=True)
class Finding:
    """One line of the output of ``gpucast doctor``.

    Attributes:
        what: the thing that was checked.
        found: its state in a few words.
        advice: what to do; empty if all is well.
    """

    what: str
    state: State
    found: str
    advice: str = ""


def findings() -> Iterator[Finding]:
    """Run all checks, one after the other."""
    yield Finding("gpucast", "good", f"{version()}, Python {platform.python_version()}")
    yield _programs()
    yield from _gpus()
    yield _driver()
    yield _recorder()
    yield _remote()
    yield from _servers()
    yield processors()
    yield _starters()


def _programs() -> Finding:
    lacking = [name for name in (MDAPP, MICROBENCH) if installed.program(name) is None]
    if lacking:
        return Finding(
            "programs", "missing", f"{' and '.join(lacking)} not found",
            "gpucast measure needs them, all else does not: make build",
        )  # fmt: skip
    return Finding("programs", "good", f"{MDAPP}, {MICROBENCH}")


def _gpus() -> Iterator[Finding]:
    """Check the GPUs that nvidia-smi lists: names, other users, clocks."""
    listed = nvidia_smi("--query-gpu=name,memory.total,driver_version,uuid")
    if not listed:
        yield Finding(
            "GPUs", "missing", "nvidia-smi lists none",
            "none is needed to fit and forecast; gpucast measure takes CPU threads (--paths host)",
        )  # fmt: skip
        return
    names = [row[0] for row in listed]
    kinds = [f"{names.count(name)} x {name}" for name in dict.fromkeys(names)]
    yield Finding("GPUs", "good", f"{', '.join(kinds)}, {listed[0][1]}, driver {listed[0][2]}")
    yield _others()
    yield _clocks()


def _others() -> Finding:
    running = nvidia_smi("--query-compute-apps=pid,used_memory")
    mine = {str(os.getpid()), str(os.getppid())}
    others = [row for row in running if row[0] not in mine]
    if not others:
        return Finding("other users", "good", "no process on the GPUs")
    return Finding(
        "other users", "attention", f"{len(others)} process{'es' * (len(others) > 1)} on the GPUs",
        "steps measured now are those of shared GPUs: wait, or --visits 3",
    )  # fmt: skip


def _clocks() -> Finding:
    rows = nvidia_smi("--query-gpu=persistence_mode,clocks.max.sm,clocks_throttle_reasons.active")
    slowed = [row for row in rows if _is_slowed(row[-1])]
    fastest = {row[1] for row in rows if row[1] != _NOT_SUPPORTED}
    speed = f"up to {', '.join(sorted(fastest)) or 'unknown'}"
    if slowed:
        return Finding(
            "clocks", "attention", f"{speed}; {len(slowed)} GPUs held down by heat or power",
            "nvidia-smi -q -d PERFORMANCE says why; times will differ from those of a cool machine",
        )  # fmt: skip
    if any(row[0] == "Disabled" for row in rows):
        return Finding(
            "clocks", "attention", f"{speed}; persistence mode off",
            "first calls take seconds: nvidia-smi -pm 1 (root)",
        )  # fmt: skip
    return Finding("clocks", "good", speed)


def _is_slowed(reasons: str) -> bool:
    """Whether one of the driver's bits for power cap, heat or hardware slow-down is set."""
    try:
        return bool(int(reasons, 16) & (0x4 | 0x8 | 0x20 | 0x40 | 0x80))
    except ValueError:
        return False


def _driver() -> Finding:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Finding("CUDA driver", "missing", "no libcuda.so.1", "programs use CPU threads here")
    if hasattr(driver, "gpucast_remote_guard"):
        return Finding(
            "CUDA driver", "attention", "hidden by the client of remote GPUs",
            "programs use remote GPUs alone; unset LD_LIBRARY_PATH, LD_PRELOAD to see it",
        )  # fmt: skip
    number = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(number))
    made_for = f"CUDA {number.value // 1000}.{number.value % 1000 // 10}"
    status = driver.cuInit(0)
    if status:
        return Finding(
            "CUDA driver", "attention", f"{made_for}, but cuInit fails with {status}",
            "may this user read /dev/nvidia*? In a container: --gpus all, or --nv",
        )  # fmt: skip
    if number.value < 12040:
        return Finding("CUDA driver", "attention", made_for, "12.4 or newer is needed")
    return Finding("CUDA driver", "good", made_for)


def _recorder() -> Finding:
    try:
        library = libraries.recorder()
    except GpucastError as error:
        return Finding("gpucast trace", "missing", str(error), "traces can be read, not recorded")
    cupti = [str(path) for path in libraries.cupti()[:1]]
    if not cupti:
        return Finding(
            "gpucast trace", "missing", f"{library.name}, no CUPTI found",
            "recording needs it: a CUDA toolkit, or pip install nvidia-cuda-cupti",
        )  # fmt: skip
    return Finding("gpucast trace", "good", f"{library.name}, {cupti[0]}")


def _remote() -> Finding:
    try:
        client, server = client_folder() / CLIENT, server_program()
    except GpucastError as error:
        return Finding("remote GPUs", "missing", str(error), "lending and using them needs a build")
    return Finding("remote GPUs", "good", f"{client.name}, {server.name}")


def _servers() -> Iterator[Finding]:
    """Check the servers that GPUCAST_REMOTE names: programs will use them, so they have to
    answer."""
    variable = os.environ.get("GPUCAST_REMOTE")
    if variable is None:
        return
    try:
        named = addresses(variable, field="GPUCAST_REMOTE")
    except InputError as error:
        yield Finding(
            "servers", "attention", str(error), "or unset it: programs would end with status 2"
        )
        return
    twins = named_twice(named)
    if twins is not None:
        yield Finding("devices", "attention", twins, "name each server of GPUCAST_REMOTE once")
    secret = os.environ.get("GPUCAST_REMOTE_SECRET_FILE")
    plain = os.environ.get("GPUCAST_REMOTE_PLAIN") == "1"
    try:
        told = statuses(
            named, secret_file=None if secret is None else Path(secret), plain=plain,
            bandwidth=False,
        )  # fmt: skip
    except GpucastError as error:
        yield Finding(
            "servers", "attention", str(error), "unset GPUCAST_REMOTE, or build with them"
        )
        return
    for server in told:
        if server.problem is None:
            clients = f"{server.clients} other client{'' if server.clients == 1 else 's'}"
            yield Finding(f"server {server.address}", "good", f"{server.gpu}, {clients}")
        else:
            yield Finding(
                f"server {server.address}", "attention", server.problem,
                "GPUCAST_REMOTE names it: programs would end with status 2",
            )  # fmt: skip


def processors() -> Finding:
    """Check how many CPUs this process may use, and whether others use them."""
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    state = f"{cores} for this process, load {load:.1f}"
    if load > BUSY * cores:
        return Finding(
            "CPUs", "attention", state, "steps measured now are those of a shared machine"
        )
    return Finding("CPUs", "good", state)


def _starters() -> Finding:
    launchers = [name for name in ("mpirun", "srun", "sbatch") if shutil.which(name)]
    if not launchers:
        return Finding("MPI, Slurm", "missing", "neither", "schedule mpi and --slurm need them")
    return Finding("MPI, Slurm", "good", ", ".join(launchers))
