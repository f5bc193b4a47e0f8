"""Merges recordings of one job's ranks, each under its own ``gpucast trace``, into one.

``mpirun -n 4 gpucast trace -o T -- PROGRAM`` starts four recordings with one output. They share its
folder, in which each leaves a file; the last to end writes the output. Ranks thus need a common
file system, and if one is killed with its ``gpucast trace``, the folder stays.
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
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # srun; the second is not set in a job's script
)


@dataclass(frozen=True)
class Job:
    """This process is number ``rank`` of ``size``."""

    rank: int
    size: int


def job_of(environment: Mapping[str, str]) -> Job | None:
    """Return this process's rank from the launcher's variables; None if it is alone."""
    for rank, size in _KNOWN:
        values = environment.get(rank, ""), environment.get(size, "")
        if all(number.isdecimal() for number in values):
            job = Job(*map(int, values))
            if job.size > 1 and job.rank < job.size:
                return job
    return None


def enter(folder: Path, job: Job) -> None:
    """Announce that this rank records into the folder, which the first rank creates.

    Raises:
        InputError: it was announced before.
    """
    folder.mkdir(exist_ok=True)
    try:
        _announcement(folder, job).touch(exist_ok=False)
    except FileExistsError:
        raise InputError(
            "was left by an interrupted recording of ranks (gpucast trace show reads it): "
            "remove it",
            file=folder,
        ) from None


def withdraw(folder: Path, job: Job) -> None:
    """Take back the announcement of this rank, which records nothing."""
    _announcement(folder, job).unlink()
    if not [*folder.glob("rank-*"), *folder.glob("recorded-*")]:
        shutil.rmtree(folder)


def leave(folder: Path, job: Job) -> bool:
    """Note that this rank has ended; return whether it is the last, which writes the output."""
    _announcement(folder, job).rename(folder / f"recorded-{job.rank}")
    if len([*folder.glob("recorded-*")]) < job.size:
        return False
    try:
        (folder / "joining").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _announcement(folder: Path, job: Job) -> Path:
    return folder / f"rank-{job.rank}"
