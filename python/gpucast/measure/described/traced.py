"""Traces one run of each cell, keeps the trace beside the data, and splits the cell's steps by
it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from gpucast.data import traces
from gpucast.data.traces.parts import StepParts
from gpucast.data.traces.records import LOST, observed
from gpucast.errors import GpucastError, InputError
from gpucast.measure.described.description import Program
from gpucast.measure.described.running import in_folder
from gpucast.measure.described.runs import Run
from gpucast.measure.described.sharing import run_together
from gpucast.measure.tracing import Limits, libraries
from gpucast.measure.tracing.recording import NothingRecordedError, has_steps, record_beside
from gpucast.util.units import number

STEPS = 200
"""Number of steps after which tracing stops."""

_LIMITS = Limits(calls=2_000_000)


class TracedRuns:
    """Traces a run of a cell before its first visit; the traced run's own time is not used. A trace
    is kept under the run's name: a second start of the campaign reads it.
    """

    def __init__(self, folder: Path, program: Program, say: Callable[[str], object]) -> None:
        """``folder`` is for the traces; ``say`` gets a line for each run that could not be traced.

        Raises:
            GpucastError: gpucast was built without the recorder.
            InputError: GPUCAST_CUPTI names no file.
        """
        libraries.recorder(), libraries.cupti()
        self._folder = folder
        self._program = program
        self._say = say
        self._goes_on = True
        self._parts: dict[str, StepParts | None] = {}

    def path(self, run: Run) -> Path:
        """Return the file of a run's trace."""
        return self._folder / f"{run.name}.trace"

    def record(self, run: Run, log: Path, workdir: Path, bound: Mapping[str, str]) -> None:
        """Trace a run of the cell, unless it has a trace or tracing does not work.

        Args:
            log: the file for what it prints.
            workdir: its folder, which is created and removed.
            bound: environment variables in addition to the description's.
        """
        if run.digest in self._parts or not self._goes_on:
            return
        where = f"n={number(run.cell.n)} gpus={run.cell.gpus}"
        try:
            if not self.path(run).exists():
                self._made(run, log, workdir, bound)
            self._parts[run.digest] = self._split(run)
        except NothingRecordedError as error:
            self._goes_on = False
            self._say(f"{where}: {error} (log: {log}); the campaign goes on without traces")
        except GpucastError as error:
            self._parts[run.digest] = None
            self._say(f"{where}: no split of the step: {error} (log: {log})")
        finally:
            shutil.rmtree(workdir, ignore_errors=True)

    def phases(self, run: Run, seconds: float) -> dict[str, object]:
        """Return a record's field with the parts of a step of ``seconds``; none if they are not
        known."""
        split = self._parts.get(run.digest)
        if split is None:
            return {}
        parts = split.lasting(seconds)
        return {"phases": {"kernel": [parts.gpu], "cpu": [parts.cpu], "calls": [parts.com]}}

    def _made(self, run: Run, log: Path, workdir: Path, bound: Mapping[str, str]) -> None:
        program = self._program
        in_folder(run, program, workdir)
        words = [run.placed(word, workdir, program.folder) for word in run.words]
        record_beside(
            lambda variables: run_together(
                [workdir], [log], run, program, {**bound, **variables}, None, watch=False
            ),
            words, self.path(run), _LIMITS,
            lambda folder: has_steps(folder, STEPS, None, light=True),
        )  # fmt: skip

    def _split(self, run: Run) -> StepParts:
        path = self.path(run)
        trace = observed(traces.read(path))
        if trace.lost:
            raise InputError(LOST, file=path)
        return trace.parts
