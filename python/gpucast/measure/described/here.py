"""What runs find on this machine: its GPUs, the allocation of Slurm's, and other users."""

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
from gpucast.measure.machine import asked, occupants, sharing

VISIBLE = "CUDA_VISIBLE_DEVICES"
_JOB = "SLURM_JOB_ID"


# ---- GPUs ----


def gpus_here(
    path: str, environment: Mapping[str, str], launcher: Sequence[str] = ()
) -> list[str] | None:
    """Numbers of the GPUs that runs may be given, free ones first; None: runs are given none.

    None where no GPUs are meant, where the description gives them out, and where the driver cannot
    be asked. Within an allocation of Slurm's they are those of the allocation; srun gives them out
    itself (``step_of_allocation``).
    """
    if path == "host" or VISIBLE in environment:
        return None
    allowed = os.environ.get(VISIBLE)
    if _JOB in os.environ:
        return allowed.split(",") if allowed and not _is_srun(launcher) else None
    listed = asked("--query-gpu=index,uuid")
    if not listed:
        return None
    busy = {row[0] for row in asked("--query-compute-apps=gpu_uuid")}
    names = None if allowed is None else {name.strip() for name in allowed.split(",")}
    there = [row for row in listed if names is None or names & {row[0], row[1]}]
    return [row[0] for row in sorted(there, key=lambda row: row[1] in busy)]


def possible(
    runs: Sequence[Run], gpus: Sequence[str] | None, say: Callable[[str], object]
) -> list[Run]:
    """The runs that there are enough GPUs for; ``say`` is told which GPU counts are left out.

    Args:
        gpus: as ``gpus_here``.

    Raises:
        InputError: there are enough for none.
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
    """The variables by which a run sees no more than ``count`` of these GPUs."""
    if gpus is None:
        return {}
    # The driver's numbers are CUDA's in this order only.
    return {VISIBLE: ",".join(gpus[:count]), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def first_visible() -> str:
    """The first GPU that this process was given; the first of all where nobody gave it any."""
    return os.environ.get(VISIBLE, "").partition(",")[0].strip() or "0"


def step_of_allocation(path: str, launcher: Sequence[str], gpus: int, nodes: int) -> dict[str, str]:
    """The variables by which srun, within an allocation, starts a step on ``gpus`` of its GPUs;
    empty where the launcher's own words say it."""
    if path == "host" or _JOB not in os.environ or not _is_srun(launcher):
        return {}
    if any(word.startswith(("--gpus", "--gres", "-G")) for word in launcher):
        return {}
    return {"SLURM_GPUS": str(gpus), "SLURM_GPUS_PER_NODE": str(math.ceil(gpus / nodes))}


def _is_srun(launcher: Sequence[str]) -> bool:
    return bool(launcher) and Path(launcher[0]).name == "srun"


# ---- the machine, and who else uses it ----


def facts_here(path: str) -> Machine:
    """Facts of the machine; in an allocation of Slurm's ``host`` is the cluster and its partition,
    whose nodes count as one machine."""
    where = paths.HOST if path == "host" else paths.NATIVE
    try:
        facts = programs.probe(where, None)
    except GpucastError:  # without our own programs, or where GPUs are on other nodes only
        name, cores = platform.node() or "host", os.cpu_count() or 1
        facts = jsonl.made(Machine, id="host", host=name, cpu_cores=cores)
    if _JOB not in os.environ:
        return facts
    names = [os.environ.get(f"SLURM_{name}") for name in ("CLUSTER_NAME", "JOB_PARTITION")]
    cluster = "-".join(name for name in names if name) or "slurm"
    return replace(facts, host=cluster)


def facts_of_allocation(path: str) -> dict[str, object]:
    """What a visit's record says of the allocation: job, node, and the GPUs that it has."""
    if _JOB not in os.environ:
        return {}
    facts = {
        "job": os.environ[_JOB],
        "node": os.environ.get("SLURMD_NODENAME"),
        "gpu_uuids": _gpu_uuids() if path != "host" else None,
    }
    return {name: value for name, value in facts.items() if value}


def lacks_driver(program: Program) -> bool:
    """Whether GPUs are meant where there seem to be none of NVIDIA's: on this machine, for runs
    that nobody starts on others."""
    elsewhere = bool(program.launcher) or _JOB in os.environ
    return program.path == "native" and not elsewhere and shutil.which("nvidia-smi") is None


def disturbances(path: str) -> Iterator[str]:
    """Who else computes on this machine; a line each."""
    for occupant in occupants() if path != "host" else ():
        yield f"a GPU is in use by another program: {occupant}"
    if shared := sharing():
        yield shared


def _gpu_uuids() -> list[str]:
    """UUIDs of the allocation's GPUs, as far as the driver can be asked."""
    visible = os.environ.get(VISIBLE)
    if visible is None:
        return []
    listed = asked("--query-gpu=index,uuid")
    names = {name.strip() for name in visible.split(",")}
    # Where a job sees its own devices alone, numbers begin at 0 for each job.
    mine = listed if len(listed) <= len(names) else [row for row in listed if names & {*row}]
    return [row[1] for row in mine]
