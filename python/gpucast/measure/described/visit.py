"""Makes one visit of a cell: warm-up and repeats of a run, by one instance or several at once."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from gpucast.data import jsonl
from gpucast.data.records import Note, Step
from gpucast.errors import GpucastError
from gpucast.measure.described.description import Program
from gpucast.measure.described.here import (
    VISIBLE,
    bound,
    facts_of_allocation,
    first_visible,
    step_of_allocation,
)
from gpucast.measure.described.results import Times, times_in, together
from gpucast.measure.described.running import FailedRunError, in_folder, last_lines
from gpucast.measure.described.runs import Run
from gpucast.measure.described.sharing import run_together, service, sharing_fields
from gpucast.measure.described.traced import TracedRuns
from gpucast.measure.energy import metered
from gpucast.util import units

FOLDER = ".run"
"""How the names of runs' folders end."""


class Visitor:
    """Makes visits of a program's runs on this machine."""

    def __init__(
        self,
        program: Program,
        runs: Sequence[Run],
        gpus: list[str] | None,
        machine: str,
        logs: Path,
        say: Callable[[str], object],
        *,
        traces: TracedRuns | None = None,
        folder: str = FOLDER,
    ) -> None:
        """
        Args:
            runs: all that the campaign makes.
            gpus: numbers of the GPUs that runs may use (``here.gpus_here``).
            machine: id of this machine, for the records.
            logs: the folder for what runs print.
            say: gets each doubt about a result, once.
            traces: traces a run of each cell before its first visit, if given.
            folder: how the names of runs' folders end.
        """
        self._program = program
        self._gpus = gpus
        self._machine = machine
        self._logs = logs
        self._say = say
        self._traces = traces
        self._folder = folder
        self._shares = any(run.cell.instances > 1 for run in runs)
        self._allocation = facts_of_allocation(program.path)
        self._doubts: set[str] = set()

    def visit(self, run: Run, number: int) -> Step | Note:
        """Make a visit; return its step, or a note why there is none."""
        program = self._program
        if self._traces is not None:
            log = self._logs / f"{run.name}-trace.log"
            self._traces.record(run, log, self._workdir(log), self._bound(run))
        several = program.warmup + program.repeats > 1
        logs = [
            self._logs / f"{run.name}-{number}{f'-{i + 1}' if several else ''}.log"
            for i in range(program.warmup + program.repeats)
        ]
        begin = time.monotonic()
        try:
            times = self._times(run, logs)
        except GpucastError as error:
            lines = getattr(error, "lines", [])
            return failure(run, number, str(error), lines, time.monotonic() - begin)
        seconds = time.monotonic() - begin
        for text in times.warnings:
            self._doubt(text)
        traces, median = self._traces, float(np.median(times.seconds))
        split = {} if traces is None else traces.phases(run, median)
        cell = run.cell
        stated = {
            "machine": self._machine, "path": program.path, "program": program.program,
            "case": program.case, "n": cell.n, "unit": program.unit, "gpus": cell.gpus,
            "instances": cell.instances if cell.instances > 1 else None, "mps": run.mps or None,
            "nodes": run.nodes if program.gpus_per_node else None, "ranks": run.ranks,
            "seconds": times.seconds, **times.more, **split,
            "visit": {
                "digest": run.digest, "number": number, "seconds": seconds, **self._allocation
            },
        }  # fmt: skip
        return jsonl.made(Step, **stated)

    def _times(self, run: Run, logs: Sequence[Path]) -> Times:
        """Run all instances and return their step times. ``logs`` has one file for each of warm-up
        and repeats, from which each instance's file is derived.

        If the campaign shares GPUs, the result also states how busy one instance alone keeps a GPU.

        Raises:
            FailedRunError: a run failed, or has no step times; the message names the log.
        """
        program, instances = self._program, run.cell.instances
        shared = self._shares and run.cell.gpus == 1
        times, groups, powers = [], [], list[tuple[float, float]]()
        visible = self._bound(run)
        gpu = visible.get(VISIBLE)
        with _served(run, gpu) as served:
            for i, log in enumerate(logs):
                own = [log.with_suffix(f".{j + 1}.log") for j in range(instances)]
                own = own if instances > 1 else [log]
                folders = [self._workdir(one) for one in own]
                try:
                    for folder in folders:
                        in_folder(run, program, folder)
                    variables = {**visible, **served}
                    with metered(self._counted(run), self._doubt) as meter:
                        group = run_together(
                            folders, own, run, program, variables, gpu, watch=shared
                        )
                    if i >= program.warmup:
                        ended = zip(group.outputs, group.seconds, folders, strict=True)
                        times.append([_times_in(*end, program, run) for end in ended])
                        power = None if meter is None else meter.at_work()
                        if power is not None:
                            powers.append(power)
                        groups.append(group)
                except FailedRunError as error:
                    listed = own[0] if instances == 1 else log.with_suffix(".*.log")
                    raise FailedRunError(f"{error} (log: {listed})", error.lines) from error
                finally:
                    for folder in folders:
                        shutil.rmtree(folder, ignore_errors=True)
        all_times = together(times, alike=shared)
        more = sharing_fields(groups, instances) if shared else {}
        if powers:
            watts, uncertainty = np.mean(powers, axis=0)
            joules = float(watts * np.mean(all_times.seconds))
            more |= {"joules": joules, "joules_uncertainty": float(uncertainty)}
        return replace(all_times, more={**all_times.more, **more})

    def _doubt(self, text: str) -> None:
        if text not in self._doubts:
            self._doubts.add(text)
            self._say(text)

    def _counted(self, run: Run) -> list[str] | None:
        """Return the GPUs whose energy is this run's alone; None if they are shared or may be
        elsewhere."""
        visible = self._bound(run).get(VISIBLE)
        if visible is None or run.cell.instances > 1 or self._program.path != "native":
            return None
        return visible.split(",")

    def _bound(self, run: Run) -> dict[str, str]:
        program, gpus = self._program, run.cell.gpus
        step = step_of_allocation(program.path, program.launcher, gpus, run.nodes)
        return {**bound(self._gpus if run.nodes == 1 else None, gpus), **step}

    def _workdir(self, log: Path) -> Path:
        """Return a run's folder, which is removed after the run, or by the next start after a
        kill."""
        return log.with_suffix(self._folder).absolute()


def failure(
    run: Run, number: int, why: str, lines: Sequence[str], seconds: float | None = None
) -> Note:
    """Return the note of a failed visit.

    Args:
        number: the visit's number.
        lines: the last lines that it printed.
        seconds: time that the visit took until it failed; None: not known.
    """
    cell = run.cell
    about = {
        "n": cell.n, "gpus": cell.gpus, "digest": run.digest, "visit": number, "output": lines,
        "seconds": seconds, "instances": cell.instances if cell.instances > 1 else None,
    }  # fmt: skip
    known = {name: value for name, value in about.items() if value is not None}
    text = f"n={units.number(cell.n)} gpus={cell.share}: {why}"
    return jsonl.made(Note, text=text, about=known)


@contextmanager
def _served(run: Run, gpu: str | None) -> Iterator[dict[str, str]]:
    """Yield the variables by which instances find their MPS daemon, if they use one."""
    if not run.mps:
        yield {}
        return
    with service(gpu or first_visible()) as variables:
        yield variables


def _times_in(output: str, seconds: float, folder: Path, program: Program, run: Run) -> Times:
    """Return the step times of a run that took ``seconds``. Warn if a step seems to take longer
    than the whole run: usually the description has the wrong unit."""
    try:
        times = times_in(output, folder, program, run)
    except GpucastError as error:
        raise FailedRunError(str(error), last_lines(output)) from error
    if max(times.seconds) <= seconds:
        return times
    text = "steps are said to take longer than the whole run: is the unit of result right?"
    return replace(times, warnings=[*times.warnings, text])
