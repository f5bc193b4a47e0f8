"""Recordings of one job's ranks, each under a ``gpucast trace`` of its own, as one.

``mpirun -n 4 gpucast trace -o T -- PROGRAM`` starts four recordings with one output. They share its
folder, in which each says that it is there; the last to end writes the output. So ranks need one
file system; where one is killed with its ``gpucast trace``, the folder stays.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpucast.errors import InputError

_KNOWN = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),  # Open MPI
    ("PMI_RANK", "PMI_SIZE"),  # MPICH, Intel MPI
    ("RANK", "WORLD_SIZE"),  # torchrun
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # srun; the script of a job has no step's tasks
)


@dataclass(frozen=True)
class Job:
    """This process is number ``rank`` of ``size``."""

    rank: int
    size: int


def job_of(environment: Mapping[str, str]) -> Job | None:
    """What a launcher told of this process; None where it is alone."""
    for rank, size in _KNOWN:
        told = environment.get(rank, ""), environment.get(size, "")
        if all(number.isdecimal() for number in told):
            job = Job(*map(int, told))
            if job.size > 1 and job.rank < job.size:
                return job
    return None


def enter(folder: Path, job: Job) -> None:
    """This rank records into the folder, which is made if it is the first.

    Raises:
        InputError: it did before.
    """
    folder.mkdir(exist_ok=True)
    try:
        _there(folder, job).touch(exist_ok=False)
    except FileExistsError:
        raise InputError(
            "is what a recording of ranks that was cut off has left (gpucast trace show reads it): "
            "remove it",
            file=folder,
        ) from None


def withdraw(folder: Path, job: Job) -> None:
    """This rank records nothing after all."""
    _there(folder, job).unlink()
    if not [*folder.glob("rank-*"), *folder.glob("recorded-*")]:
        shutil.rmtree(folder)


def leave(folder: Path, job: Job) -> bool:
    """This rank has recorded; whether it is the last, who writes the output."""
    _there(folder, job).rename(folder / f"recorded-{job.rank}")
    if len([*folder.glob("recorded-*")]) < job.size:
        return False
    try:
        (folder / "joining").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _there(folder: Path, job: Job) -> Path:
    return folder / f"rank-{job.rank}"
