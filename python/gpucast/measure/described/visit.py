"""One visit of a cell: warm-up and repeats of a run, of one instance or of several at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from gpucast.errors import GpucastError
from gpucast.measure.described.binding import VISIBLE, first_visible
from gpucast.measure.described.description import Program
from gpucast.measure.described.mps import service
from gpucast.measure.described.results import Times, joined, times_in
from gpucast.measure.described.running import FailedRunError, in_folder, last_lines, run_in
from gpucast.measure.described.runs import Run
from gpucast.measure.described.sharing import (
    confined,
    cores_of,
    of_repeats,
    run_together,
    said_of,
    side_by_side,
)

FOLDER = ".run"
"""How the folders of runs end."""


def measured_alone(
    run: Run,
    program: Program,
    logs: Sequence[Path],
    workdir: Callable[[Path], Path],
    visible: Mapping[str, str],
) -> Times:
    """Step times of a run that has its GPUs to itself.

    Args:
        logs: one for each of warm-up and repeats.
        workdir: the folder of the run that a log is of, which is removed after it.
        visible: the variables that say which GPUs the run has; none where it is given none.

    Raises:
        FailedRunError: a run failed, or left no times; its message names the log.
    """
    found = []
    for i, log in enumerate(logs):
        folder = workdir(log).absolute()
        try:
            in_folder(run, program, folder)
            with confined(cores_of(run, program)):
                ended = run_in(folder, log, run, program, visible)
            if i >= program.warmup:
                read = _read(ended.output, folder, program, run)
                found.append(_doubted(read, ended.seconds))
        except FailedRunError as error:
            raise FailedRunError(f"{error} (log: {log})", error.lines) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return joined(found)


def measured_together(
    run: Run,
    program: Program,
    logs: Sequence[Path],
    workdir: Callable[[Path], Path],
    visible: Mapping[str, str],
) -> Times:
    """Step times of all instances of a run, of which there may be one, and what they used.

    Arguments and errors as of ``measured_alone``; each instance has a log of its own.
    """
    instances = run.cell.instances
    found, groups = [], []
    gpu = visible.get(VISIBLE)
    with _served(run, gpu) as served:
        for i, log in enumerate(logs):
            own = [log.with_suffix(f".{j + 1}.log") for j in range(instances)]
            own = own if instances > 1 else [log]
            folders = [workdir(each).absolute() for each in own]
            try:
                for folder in folders:
                    in_folder(run, program, folder)
                variables = {**visible, **served}
                group = run_together(folders, own, run, program, variables, gpu)
                if i >= program.warmup:
                    ended = zip(group.outputs, group.seconds, folders, strict=True)
                    found.append(
                        side_by_side(
                            [
                                _doubted(_read(output, folder, program, run), seconds)
                                for output, seconds, folder in ended
                            ]
                        )
                    )
                    groups.append(group)
            except FailedRunError as error:
                listed = own[0] if instances == 1 else log.with_suffix(".*.log")
                raise FailedRunError(f"{error} (log: {listed})", error.lines) from error
            finally:
                for folder in folders:
                    shutil.rmtree(folder, ignore_errors=True)
    times = of_repeats(found, instances)
    return replace(times, more={**times.more, **said_of(groups, instances)})


@contextmanager
def _served(run: Run, gpu: str | None) -> Iterator[dict[str, str]]:
    """The variables by which instances find their service, where they have one."""
    if not run.mps:
        yield {}
        return
    with service(gpu or first_visible()) as variables:
        yield variables


def _doubted(times: Times, seconds: float) -> Times:
    """With a warning where a step is said to take longer than the whole run (s): mostly its log
    has another unit than the description."""
    if max(times.seconds) <= seconds:
        return times
    text = "steps are said to take longer than the whole run: is the unit of result right?"
    return replace(times, warnings=[*times.warnings, text])


def _read(output: str, folder: Path, program: Program, run: Run) -> Times:
    try:
        return times_in(output, folder, program, run)
    except GpucastError as error:
        raise FailedRunError(str(error), last_lines(output)) from error
