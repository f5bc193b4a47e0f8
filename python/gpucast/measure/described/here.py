"""What is available on this machine: its GPUs, the Slurm allocation, and other users."""

from __future__ import annotations

import math
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpucast.data import jsonl
from gpucast.data.records import Machine
from gpucast.errors import GpucastError, InputError
from gpucast.measure import paths, programs
from gpucast.measure.described.description import Program
from gpucast.measure.described.runs import Run
from gpucast.measure.machine import nvidia_smi, occupants, sharing

VISIBLE = "CUDA_VISIBLE_DEVICES"
_JOB = "SLURM_JOB_ID"


# ---- GPUs ----


def gpus_here(
    path: str, environment: Mapping[str, str], launcher: Sequence[str] = ()
) -> list[str] | None:
    """Return the numbers of the GPUs that runs may use, idle ones first; None: do not assign any.

    None is returned if the path has no GPUs, the description assigns them itself, or the driver
    does not answer. Within a Slurm allocation, they are the allocation's GPUs; srun assigns them
    itself (``step_of_allocation``).
    """
    if path == "host" or VISIBLE in environment:
        return None
    allowed = os.environ.get(VISIBLE)
    if _JOB in os.environ:
        return allowed.split(",") if allowed and not _is_srun(launcher) else None
    listed = nvidia_smi("--query-gpu=index,uuid")
    if not listed:
        return None
    busy = {row[0] for row in nvidia_smi("--query-compute-apps=gpu_uuid")}
    names = None if allowed is None else {name.strip() for name in allowed.split(",")}
    visible = [row for row in listed if names is None or names & {row[0], row[1]}]
    return [row[0] for row in sorted(visible, key=lambda row: row[1] in busy)]


def possible(
    runs: Sequence[Run], gpus: Sequence[str] | None, say: Callable[[str], object]
) -> list[Run]:
    """Return the runs for which there are enough GPUs; tell ``say`` which GPU counts are left out.

    Args:
        gpus: as from ``gpus_here``.

    Raises:
        InputError: there are not enough GPUs for any run.
    """
    if gpus is None:
        return list(runs)
    here = [run for run in runs if run.nodes > 1 or run.cell.gpus <= len(gpus)]
    absent = sorted({run.cell.gpus for run in runs} - {run.cell.gpus for run in here})
    if absent:
        listed = ", ".join(map(str, absent))
        say(f"{len(gpus)} GPUs here; GPU counts left out: {listed}")
    if not here:
        raise InputError(f"no cell runs on {len(gpus)} GPUs", field="gpus")
    return here


def bound(gpus: list[str] | None, count: int) -> dict[str, str]:
    """Return environment variables that restrict a run to ``count`` of these GPUs."""
    if gpus is None:
        return {}
    # Only in this order does CUDA number the GPUs as the driver does.
    return {VISIBLE: ",".join(gpus[:count]), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def first_visible() -> str:
    """Return the first GPU that this process may use."""
    return os.environ.get(VISIBLE, "").partition(",")[0].strip() or "0"


def step_of_allocation(path: str, launcher: Sequence[str], gpus: int, nodes: int) -> dict[str, str]:
    """Return the environment variables by which srun, within an allocation, starts a job step on
    ``gpus`` of its GPUs; none if the launcher's own options state it."""
    if path == "host" or _JOB not in os.environ or not _is_srun(launcher):
        return {}
    if any(word.startswith(("--gpus", "--gres", "-G")) for word in launcher):
        return {}
    return {"SLURM_GPUS": str(gpus), "SLURM_GPUS_PER_NODE": str(math.ceil(gpus / nodes))}


def _is_srun(launcher: Sequence[str]) -> bool:
    return bool(launcher) and Path(launcher[0]).name == "srun"


# ---- the machine, and who else uses it ----


def facts_here(path: str) -> Machine:
    """Return the machine's facts. In a Slurm allocation, ``host`` is the cluster and its partition,
    whose nodes count as one machine."""
    where = paths.HOST if path == "host" else paths.NATIVE
    try:
        facts = programs.probe(where, None)
    except GpucastError:  # our own programs are not installed, or only other nodes have GPUs
        name, cores = platform.node() or "host", os.cpu_count() or 1
        facts = jsonl.made(Machine, id="host", host=name, cpu_cores=cores)
    if _JOB not in os.environ:
        return facts
    names = [os.environ.get(f"SLURM_{name}") for name in ("CLUSTER_NAME", "JOB_PARTITION")]
    cluster = "-".join(name for name in names if name) or "slurm"
    return replace(facts, host=cluster)


def facts_of_allocation(path: str) -> dict[str, object]:
    """Return what a visit's record states about the allocation: job, node, and its GPUs."""
    if _JOB not in os.environ:
        return {}
    facts = {
        "job": os.environ[_JOB],
        "node": os.environ.get("SLURMD_NODENAME"),
        "gpu_uuids": _gpu_uuids() if path != "host" else None,
    }
    return {name: value for name, value in facts.items() if value}


def lacks_driver(program: Program) -> bool:
    """Whether runs need NVIDIA GPUs on this machine, but it seems to have no driver. Runs that a
    launcher or a job may start on other nodes are not judged."""
    elsewhere = bool(program.launcher) or _JOB in os.environ
    return program.path == "native" and not elsewhere and shutil.which("nvidia-smi") is None


def disturbances(path: str) -> Iterator[str]:
    """Yield a line for each other user of this machine."""
    for occupant in occupants() if path != "host" else ():
        yield f"a GPU is in use by another program: {occupant}"
    if shared := sharing():
        yield shared


def _gpu_uuids() -> list[str]:
    """Return the UUIDs of the allocation's GPUs, if the driver answers."""
    visible = os.environ.get(VISIBLE)
    if visible is None:
        return []
    listed = nvidia_smi("--query-gpu=index,uuid")
    names = {name.strip() for name in visible.split(",")}
    # If a job sees only its own devices, their numbers begin at 0 in every job.
    mine = listed if len(listed) <= len(names) else [row for row in listed if names & {*row}]
    return [row[1] for row in mine]
