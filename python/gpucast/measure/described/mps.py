"""Runs a daemon of NVIDIA's Multi-Process Service for the instances on one GPU.

It listens in a folder of its own and is told to quit at the end. No setting of the device is
changed: in the default compute mode a GPU serves clients of the service as well as other programs.
(https://docs.nvidia.com/deploy/mps/)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpucast.errors import GpucastError, InputError
from gpucast.measure import processes
from gpucast.measure.described.here import VISIBLE

CONTROL = "nvidia-cuda-mps-control"
_PATIENCE = 20.0


def require() -> None:
    """Check that the service's daemon is installed.

    Raises:
        InputError: it is not installed.
    """
    if shutil.which(CONTROL) is None:
        raise InputError(
            f"no program {CONTROL} here, which NVIDIA's driver brings; leave it out to measure "
            "instances that take turns",
            field="--mps",
        )


@contextmanager
def service(gpu: str) -> Iterator[dict[str, str]]:
    """Start a daemon for one GPU (the driver's number), and yield the variables by which runs find
    it.

    Raises:
        GpucastError: it does not start.
    """
    # A socket's path may have about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="gpucast-mps-"))
    own = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
    for name in own.values():
        Path(name).mkdir()
    environment = {**os.environ, **own, VISIBLE: gpu, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    daemon = processes.start(
        [CONTROL, "-f"], env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(daemon, environment)
        # Clients count the GPUs that the daemon was given.
        yield {**own, VISIBLE: "0"}
    finally:
        _told("quit", environment)
        processes.has_ended(daemon, processes.END_SECONDS)
        processes.end(daemon)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(daemon: subprocess.Popen[bytes], environment: dict[str, str]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not _told("get_server_list", environment):
        if processes.has_ended(daemon, 0.1) or time.monotonic() > deadline:
            raise GpucastError(f"{CONTROL} does not start here; measure without --mps")


def _told(command: str, environment: dict[str, str]) -> bool:
    """Send the daemon a command; return whether it accepted it."""
    try:
        done = subprocess.run(
            [CONTROL], input=f"{command}\n".encode(), env=environment, capture_output=True,
            timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
