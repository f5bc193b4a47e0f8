"""Which GPUs a run may see, and who else is at work on this machine."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from statistics import median

VISIBLE = "CUDA_VISIBLE_DEVICES"
_SLURM = "SLURM_JOB_ID"


def gpus_here(path: str, environment: Mapping[str, str]) -> list[str] | None:
    """Numbers of the GPUs that runs may be given, free ones first; None: runs are given none.

    That is where no GPUs are meant, where the description or Slurm gives them out, and where the
    driver cannot be asked.
    """
    if path == "host" or VISIBLE in environment or _SLURM in os.environ:
        return None
    listed = _asked("--query-gpu=index,uuid")
    if not listed:
        return None
    busy = {row[0] for row in _asked("--query-compute-apps=gpu_uuid")}
    allowed = os.environ.get(VISIBLE)
    names = None if allowed is None else {each.strip() for each in allowed.split(",")}
    there = [row for row in listed if names is None or names & {row[0], row[1]}]
    return [row[0] for row in sorted(there, key=lambda row: row[1] in busy)]


def bound(gpus: list[str] | None, count: int) -> dict[str, str]:
    """The variables by which a run sees so many of them alone."""
    if gpus is None:
        return {}
    # The driver's numbers are CUDA's in this order only.
    return {VISIBLE: ",".join(gpus[:count]), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def first_visible() -> str:
    """The first GPU that this process was given; the first of all where nobody gave it any."""
    return os.environ.get(VISIBLE, "").partition(",")[0].strip() or "0"


def others_at_work() -> int:
    """How many tasks beside ours have a processor or wait for one; 0 where nobody can tell."""
    seen = []
    try:
        for _ in range(5):
            with open("/proc/loadavg", encoding="ascii") as stream:
                seen.append(int(stream.read().split()[3].partition("/")[0]) - 1)
            time.sleep(0.01)
    except (OSError, ValueError, IndexError):
        return 0
    return max(0, int(median(seen)))


def _asked(query: str) -> list[list[str]]:
    try:
        listing = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True,
            timeout=30, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return [[word.strip() for word in line.split(",")] for line in listing.splitlines() if line]
