"""Which GPUs a run may see."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpucast.measure.nvidia_smi import asked

VISIBLE = "CUDA_VISIBLE_DEVICES"
_SLURM = "SLURM_JOB_ID"


def gpus_here(
    path: str, environment: Mapping[str, str], launcher: Sequence[str] = ()
) -> list[str] | None:
    """Numbers of the GPUs that runs may be given, free ones first; None: runs are given none.

    That is where no GPUs are meant, where the description gives them out, and where the driver
    cannot be asked. Within an allocation of Slurm's they are those of the allocation; srun gives
    them out itself (``step_of_allocation``).
    """
    if path == "host" or VISIBLE in environment:
        return None
    allowed = os.environ.get(VISIBLE)
    if _SLURM in os.environ:
        return allowed.split(",") if allowed and not _is_srun(launcher) else None
    listed = asked("--query-gpu=index,uuid")
    if not listed:
        return None
    busy = {row[0] for row in asked("--query-compute-apps=gpu_uuid")}
    names = None if allowed is None else {each.strip() for each in allowed.split(",")}
    there = [row for row in listed if names is None or names & {row[0], row[1]}]
    return [row[0] for row in sorted(there, key=lambda row: row[1] in busy)]


def lacks_driver(path: str, launcher: Sequence[str]) -> bool:
    """Whether GPUs are meant where there seem to be none of NVIDIA's: on this machine, for runs
    that nobody starts on others."""
    elsewhere = bool(launcher) or _SLURM in os.environ
    return path == "native" and not elsewhere and shutil.which("nvidia-smi") is None


def step_of_allocation(path: str, launcher: Sequence[str], gpus: int, nodes: int) -> dict[str, str]:
    """The variables by which srun, within an allocation, starts a step on so many GPUs of it;
    none where the launcher's own words say it."""
    if path == "host" or _SLURM not in os.environ or not _is_srun(launcher):
        return {}
    if any(word.startswith(("--gpus", "--gres", "-G")) for word in launcher):
        return {}
    return {"SLURM_GPUS": str(gpus), "SLURM_GPUS_PER_NODE": str(math.ceil(gpus / nodes))}


def _is_srun(launcher: Sequence[str]) -> bool:
    return bool(launcher) and Path(launcher[0]).name == "srun"


def bound(gpus: list[str] | None, count: int) -> dict[str, str]:
    """The variables by which a run sees so many of them alone."""
    if gpus is None:
        return {}
    # The driver's numbers are CUDA's in this order only.
    return {VISIBLE: ",".join(gpus[:count]), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def first_visible() -> str:
    """The first GPU that this process was given; the first of all where nobody gave it any."""
    return os.environ.get(VISIBLE, "").partition(",")[0].strip() or "0"
