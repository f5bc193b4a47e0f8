"""All visits of a described program's cells, one after the other, into the file of records."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpucast.data.records import Machine, Step
from gpucast.data.selection import StepSelection
from gpucast.design.cells import Cell
from gpucast.errors import GpucastError, InputError
from gpucast.measure import others
from gpucast.measure.described import allocation
from gpucast.measure.described.binding import (
    bound,
    gpus_here,
    lacks_driver,
    step_of_allocation,
)
from gpucast.measure.described.budget import Budget
from gpucast.measure.described.chosen import Chooser
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.described.fits import Fits
from gpucast.measure.described.machine import facts_here
from gpucast.measure.described.record import step_of
from gpucast.measure.described.request import HOUR, Request, beside
from gpucast.measure.described.results import Times
from gpucast.measure.described.runs import Run
from gpucast.measure.described.traced import TracedRuns
from gpucast.measure.described.visit import FOLDER, measured_alone, measured_together
from gpucast.measure.described.visited import Visited, in_random_order
from gpucast.measure.identity import identified
from gpucast.measure.report import Report
from gpucast.measure.store import Store
from gpucast.measure.until import answers_of, ended_by
from gpucast.measure.work import PathReport, Watcher
from gpucast.util import units


class DescribedCampaign:
    """Measures a described program's cells into a file."""

    def __init__(self, request: Request, store: Store, watcher: Watcher) -> None:
        self._request = request
        self._program = request.program
        self._store = store
        self._watcher = watcher
        self._path = request.program.path
        self._series = StepSelection(
            path=self._path, program=self._program.program, case=self._program.case
        )
        self._logs = beside(store.name, "logs")
        self._traces: TracedRuns | None = None
        if request.trace:
            self._traces = TracedRuns(beside(store.name, "traces"), self._program, watcher.say)
        self._costs = VisitCosts(by_gpu=request.gpu_hours is not None)
        self._said: set[str] = set()
        self._report = PathReport(self._path, device=self._program.device)
        self._allocation = allocation.facts(self._path)

    def run(self) -> Report:
        """All that is not in the file yet, or what the budget allows.

        Raises:
            InputError: none of the cells can run here.
        """
        self._gpus = self._gpus_here()
        runs = self._possible()
        self._shares = any(run.cell.instances > 1 for run in runs)
        machine = self._machine()
        self._report.machine = machine.id
        steps = self._store.steps(machine.id, self._path)
        self._visited = Visited(runs, steps)
        self._say_what_differs(steps, runs)
        for cell, step in self._visited.known:
            assert step.visit is not None  # of those that are known
            self._costs.learn(cell, step.visit.seconds, float(np.median(step.seconds)))
        most = self._request.most
        self._report.skipped = sum(self._visited.counts[run.cell] for run in runs)
        complete = sum(self._visited.counts[run.cell] >= most for run in runs)
        if self._traces is not None and complete:
            self._watcher.say(
                f"{complete} cells have all their visits, and no more is recorded of "
                f"them: --visits {most + 1} makes another, which is split"
            )
        self._say_who_else()
        self._prepare_logs()
        self._runs = {run.cell: run for run in runs}
        cells = list(self._runs)
        self._budget = self._budget_of(cells)
        self._fits = Fits(self._request, cells, self._costs, self._visited.counts)
        self._make_visits()
        if not self._fits.is_current:
            self._fit()
        if self._report.failed:
            self._report.status = "failed"
        elif ended := ended_by(self._fits.until):
            self._report.status = ended
        elif self._request.has_budget and self._budget.to_do():
            self._report.status = "budget"
        self._report.gpu_hours = self._budget.spent / HOUR
        answers = answers_of(
            self._path, self._fits.until, self._costs.seconds, lambda cell: cell.gpus / HOUR,
            self._program.device,
        )  # fmt: skip
        return Report(self._store.name, [self._report], [self._fits.report()], answers)

    # ---- before the first visit ----

    def _gpus_here(self) -> list[str] | None:
        """As ``binding.gpus_here``."""
        return gpus_here(self._path, self._program.environment, self._program.launcher)

    def _budget_of(self, cells: Sequence[Cell]) -> Budget:
        """What may be spent on these."""
        return Budget(self._request, cells, self._costs, self._visited)

    def _possible(self) -> list[Run]:
        """The runs that this machine has enough GPUs for."""
        runs = list(self._request.runs)
        if self._gpus is None:
            return runs
        here = [run for run in runs if run.nodes > 1 or run.cell.gpus <= len(self._gpus)]
        absent = sorted({run.cell.gpus for run in runs} - {run.cell.gpus for run in here})
        if absent:
            listed = ", ".join(map(str, absent))
            self._watcher.say(f"{len(self._gpus)} GPUs here; GPU counts left out: {listed}")
        if not here:
            raise InputError(f"no cell runs on {len(self._gpus)} GPUs", field="gpus")
        return here

    def _machine(self) -> Machine:
        facts = facts_here(self._path)
        machine = identified(self._store, facts, self._path, self._request.machine)
        if all(known.id != machine.id for known in self._store.machines):
            self._store.append(machine)
        return machine

    def _say_what_differs(self, steps: Sequence[Step], runs: Sequence[Run]) -> None:
        """Steps of the same cells that were run otherwise would be fitted together with these."""
        digests = {(run.cell, run.mps): run.digest for run in self._request.runs}
        other = sum(
            step.visit is not None
            and (step.program, step.case) == (self._program.program, self._program.case)
            and digests.get((self._cell_of(step), bool(step.mps))) not in (None, step.visit.digest)
            for step in steps
        )
        if other:
            self._watcher.say(
                f"{self._store.name} has {other} visits of these cells by another command or "
                "program, with other files or another environment; a fit takes all: give this one "
                "another case"
            )

    def _cell_of(self, step: Step) -> Cell:
        return Cell(self._series, step.n, step.gpus, step.instances or 1)

    def _say_who_else(self) -> None:
        if lacks_driver(self._path, self._program.launcher):
            self._watcher.say(
                f"note: path {self._path}, but no nvidia-smi here; where gpus counts processor "
                "cores, the description needs path: host"
            )
        for occupant in others.occupants() if self._path != "host" else ():
            self._note(f"a GPU is in use by another program: {occupant}", remark=True)
        if shared := others.sharing():
            self._note(shared, remark=True)

    def _prepare_logs(self) -> None:
        self._logs.mkdir(parents=True, exist_ok=True)
        for left in self._logs.glob(f"*{FOLDER}"):  # by a start that was killed
            shutil.rmtree(left, ignore_errors=True)

    # ---- visits ----

    def _make_visits(self) -> None:
        """All that are wanted and not there, one after the other on this machine."""
        if self._request.chooses:
            self._chosen()
            return
        for visit in range(1, self._request.most + 1):
            for run in in_random_order(list(self._runs.values()), visit):
                if self._visited.counts[run.cell] < visit and run.cell not in self._budget.failed:
                    self._visit(run, self._visited.next(run.cell))

    def _chosen(self) -> None:
        """Visits in rounds, with a fit behind each, while the budget lasts."""
        chooser = Chooser(self._runs, self._costs, self._fits, self._budget, self._visited.counts)
        if self._costs.are_known:
            self._fit()
        while True:
            runs, whatever_they_cost = chooser.next_runs()
            if not runs:
                break
            for run in runs:
                if whatever_they_cost or self._budget.affordable([run.cell]):
                    self._visit(run, self._visited.next(run.cell))
            self._fit()

    def _visit(self, run: Run, number: int) -> None:
        what = f"n={units.number(run.cell.n)} gpus={run.cell.share}"
        self._watcher.under_way(self._path, what, *self._progress())
        self._trace(run)
        begin = time.monotonic()
        try:
            times = self._measured(run, number)
        except GpucastError as error:
            seconds = time.monotonic() - begin
            self._fail(run, number, str(error), getattr(error, "lines", []), seconds)
            return
        finally:
            seconds = time.monotonic() - begin
            self._budget.spent += seconds * run.cell.gpus
        made = {"number": number, "seconds": seconds, **self._allocation}
        split = None
        if self._traces is not None:
            split = self._traces.phases(run, float(np.median(times.seconds)))
        machine = self._report.machine
        self._keep(run, step_of(run, self._program, machine, times, made, split))
        for text in times.warnings:
            if text not in self._said:
                self._said.add(text)
                self._watcher.say(text)

    def _trace(self, run: Run) -> None:
        """A run of the cell is recorded before its first visit, where that is wanted."""
        if self._traces is not None:
            log = self._logs / f"{run.name}-trace.log"
            workdir = self._workdir(log).absolute()
            seconds = self._traces.record(run, log, workdir, self._bound(run))
            self._budget.spent += seconds * run.cell.gpus

    def _keep(self, run: Run, record: Step) -> None:
        """A visit that was made: into the file, and into what is known of costs and cells."""
        assert record.visit is not None  # of all steps of described programs
        self._store.append(record)
        self._store.sync()
        what = f"n={units.number(run.cell.n)} gpus={run.cell.share}"
        step = float(np.median(record.seconds))
        self._visited.add(run.cell, record.visit.number)
        self._fits.is_current = False
        self._costs.learn(run.cell, record.visit.seconds, step)
        self._report.measured += 1
        if self._request.gpu_hours is not None:
            spent, hours = self._budget.spent / HOUR, self._program.device.hours
            what += f" ({spent:.3g} of {self._request.gpu_hours:g} {hours})"
        self._watcher.finished(self._path, what, *self._progress(), step)

    def _measured(self, run: Run, number: int) -> Times:
        """Warm-up and repeats of one visit."""
        program = self._program
        logs = [self._log(run, number, i) for i in range(program.warmup + program.repeats)]
        # What one leaves idle is asked of one alone as well.
        shared = self._shares and run.cell.gpus == 1
        measured = measured_together if shared else measured_alone
        return measured(run, program, logs, self._workdir, self._bound(run))

    def _log(self, run: Run, number: int, i: int) -> Path:
        """Of several runs of a visit each has its own."""
        program = self._program
        which = f"-{i + 1}" if program.warmup + program.repeats > 1 else ""
        return self._logs / f"{run.name}-{number}{which}.log"

    def _bound(self, run: Run) -> dict[str, str]:
        """Variables that say which GPUs a run has."""
        step = step_of_allocation(self._path, self._program.launcher, run.cell.gpus, run.nodes)
        return {**bound(self._gpus if run.nodes == 1 else None, run.cell.gpus), **step}

    def _workdir(self, log: Path) -> Path:
        """The folder of a run, which is removed after it; a later start of a campaign that was
        killed removes it, too."""
        return log.with_suffix(FOLDER)

    def _fail(
        self, run: Run, number: int, why: str, lines: list[str], seconds: float | None = None
    ) -> None:
        """A note for the cell, which is left out until the next start.

        ``seconds``: that the visit took until then; None: nobody knows.
        """
        self._budget.failed.add(run.cell)
        self._report.failed += 1
        cell = run.cell
        took: dict[str, Any] = {} if seconds is None else {"seconds": seconds}
        self._note(
            f"n={units.number(cell.n)} gpus={cell.share}: {why}",
            n=cell.n, gpus=cell.gpus, digest=run.digest, visit=number, output=lines,
            **took, **_instances(cell),
        )  # fmt: skip
        self._store.sync()

    def _note(self, text: str, *, remark: bool = False, **about: object) -> None:
        """Into the file, and for people; a remark is nothing that went wrong."""
        self._store.note(self._report.machine, self._path, text, **about)
        self._report.notes.append(text)
        self._watcher.say(f"note: {text}" if remark else text)

    # ---- fits and time ----

    def _fit(self) -> None:
        data = self._store.dataset().select(machine=self._report.machine)
        model = self._fits.update(data, self._budget.open())
        if model is None:
            return
        if model.quality is not None:
            error = model.quality.median_relative_error
            self._watcher.fitted(self._path, self._series, error)
        for until in self._fits.until.values():
            for text in until.in_words(self._costs.seconds):
                self._watcher.answered(self._path, self._series, text)

    def _progress(self) -> tuple[int, int, float]:
        """Visits made and in all, and about how many seconds are left."""
        (until,) = self._fits.until.values() or (None,)
        return self._budget.progress(until)


def _instances(cell: Cell) -> dict[str, Any]:
    """What a note says of a shared GPU; nothing of one that is not."""
    return {"instances": cell.instances} if cell.instances > 1 else {}
