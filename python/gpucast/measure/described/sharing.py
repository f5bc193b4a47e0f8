"""Runs several instances of a program at once on one GPU, or on the same processor cores.

All are started together, each in its own folder. An unmodified program has no barrier, and its log
does not say when its steps began; only start and end of each instance are known. The record states
how many ran at the same time, averaged over their runs, with a caveat if that is far fewer than
were started: the steps then had less competition than their number suggests.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from gpucast.measure import processes
from gpucast.measure.described.description import Program
from gpucast.measure.described.running import FailedRunError, started, succeeded
from gpucast.measure.described.runs import Run
from gpucast.measure.described.usage import OfCores, OfGpu, Usage

POOR = 0.9
"""The record has a caveat if less than this share of the instances ran at the same time."""

_PAUSE = 0.01


@dataclass(frozen=True)
class Together:
    """Instances that have ended.

    Attributes:
        outputs: what each printed.
        seconds: time of each from start to end.
        at_once: how many ran at the same time, averaged over their runs.
        busy: share of the time in which the GPU or the cores worked; None: not known.
    """

    outputs: list[str]
    seconds: list[float]
    at_once: float
    busy: float | None


def run_together(
    folders: Sequence[Path],
    logs: Sequence[Path],
    run: Run,
    program: Program,
    bound: Mapping[str, str],
    gpu: str | None,
    *,
    watch: bool,
) -> Together:
    """Run an instance in each folder, all at once, and wait until they end.

    Args:
        logs: one for each instance.
        bound: environment variables in addition to the description's.
        gpu: the GPU, as the driver calls it; None: processor cores are shared.
        watch: whether to observe how busy GPU or cores are.

    Raises:
        FailedRunError: one of them failed.
    """
    count = len(folders)
    cores = cores_of(run, program)
    group: list[subprocess.Popen[bytes]] = []
    begins: list[float] = []
    usage: Usage | None = None
    try:
        with confined(cores):
            for folder, log in zip(folders, logs, strict=True):
                begins.append(time.monotonic())
                group.append(started(folder, log, run, program, bound))
        if watch and gpu is not None:
            usage = OfGpu(gpu)
        elif watch and cores:
            usage = OfCores([process.pid for process in group], cores)
        # At worst, each of k instances gets the GPU for a k-th of the time.
        limit = None if program.time_limit is None else program.time_limit * count
        ends = _ends(group, begins[0], limit, usage)
    finally:
        for process in group:
            processes.end(process)
        busy = None if usage is None else usage.share()
    outputs = [
        succeeded(process.returncode, end is not None, log, program)
        for process, end, log in zip(group, ends, logs, strict=True)
    ]
    runs = [(begin, end) for begin, end in zip(begins, ends, strict=True) if end is not None]
    return Together(outputs, [end - begin for begin, end in runs], at_once(runs), busy)


def at_once(runs: Sequence[tuple[float, float]]) -> float:
    """Return how many ran at the same time, averaged over runs that are given by begin and end (s).

    It is 2 if two runs began and ended together, 1.5 if they overlapped for half of the time, and 1
    if the second began when the first ended.
    """
    return mean(
        sum(max(0.0, min(end, other) - max(begin, start)) for start, other in runs)
        / max(end - begin, 1e-9)
        for begin, end in runs
    )


def sharing_fields(groups: Sequence[Together], instances: int) -> dict[str, object]:
    """Return fields of a record: how busy the GPU was, and how many instances ran at the same
    time."""
    known = [group.busy for group in groups if group.busy is not None]
    fields: dict[str, object] = {"busy": median(known)} if known else {}
    if instances > 1:
        fields["at_once"] = at_same_time = mean(group.at_once for group in groups)
        if at_same_time < POOR * instances:
            fields["caveat"] = f"of {instances} instances {at_same_time:.3g} ran at the same time"
    return fields


def cores_of(run: Run, program: Program) -> int:
    """Return how many processor cores a run is confined to; 0: it may use any.

    Raises:
        FailedRunError: the machine has fewer.
    """
    cores = (program.cores_per_gpu or 0) * run.cell.gpus
    here = len(os.sched_getaffinity(0))
    if cores > here:
        raise FailedRunError(f"needs {cores} processor cores (cores_per_gpu), {here} are here", [])
    return cores


@contextmanager
def confined(cores: int) -> Iterator[None]:
    """Confine programs that start within this context to the first ``cores`` cores; 0: no limit."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _ends(
    group: Sequence[subprocess.Popen[bytes]],
    begin: float,
    limit: float | None,
    usage: Usage | None,
) -> list[float | None]:
    """Wait, and return when each ended; None: not within the limit (s after ``begin``)."""
    if len(group) == 1 and usage is None:  # without readings there is no need to poll
        in_time = processes.has_ended(group[0], limit)
        return [time.monotonic() if in_time else None]
    ends: list[float | None] = [None] * len(group)
    while None in ends:
        for i, process in enumerate(group):
            if ends[i] is None and processes.has_ended(process, 0.0):
                ends[i] = time.monotonic()
        if limit is not None and time.monotonic() - begin > limit:
            break
        # Once the first has ended, the others have a larger share of the GPU.
        if usage is not None and not any(ends):
            usage.look()
        if None in ends:
            time.sleep(_PAUSE)
    return ends
