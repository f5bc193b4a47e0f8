"""The allocation of Slurm's that this process is in, as its environment says."""

from __future__ import annotations

import os

from gpucast.measure.described.binding import VISIBLE
from gpucast.measure.nvidia_smi import asked


def here() -> bool:
    """Whether it is in one."""
    return "SLURM_JOB_ID" in os.environ


def cluster() -> str | None:
    """Cluster and partition, whose nodes count as one machine; None: not in an allocation."""
    if not here():
        return None
    names = [os.environ.get(f"SLURM_{name}") for name in ("CLUSTER_NAME", "JOB_PARTITION")]
    return "-".join(name for name in names if name) or "slurm"


def facts(path: str) -> dict[str, object]:
    """What a visit says of it: job, node, and the GPUs that it has."""
    if not here():
        return {}
    found = {
        "job": os.environ["SLURM_JOB_ID"],
        "node": os.environ.get("SLURMD_NODENAME"),
        "gpu_uuids": _gpu_uuids() if path != "host" else None,
    }
    return {name: value for name, value in found.items() if value}


def _gpu_uuids() -> list[str]:
    """As far as the driver can be asked."""
    visible = os.environ.get(VISIBLE)
    if visible is None:
        return []
    listed = asked("--query-gpu=index,uuid")
    names = {each.strip() for each in visible.split(",")}
    # Where a job sees its own devices alone, numbers begin at 0 for each.
    mine = listed if len(listed) <= len(names) else [row for row in listed if names & {*row}]
    return [row[1] for row in mine]
