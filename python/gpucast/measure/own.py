"""Measures one path by our own programs: first its transfers, then its steps."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpucast.data import dataset
from gpucast.data.dataset import Dataset
from gpucast.data.records import Machine, Note, Record, Step
from gpucast.data.selection import StepSelection
from gpucast.data.workload import ALL_PAIRS
from gpucast.fitting.fit import fit_own
from gpucast.measure import energy, programs
from gpucast.measure.design.cells import Cell, Timing, series_of
from gpucast.measure.machine import sharing
from gpucast.measure.pathrun import PathRun
from gpucast.measure.paths import Path
from gpucast.measure.programs import ProgramError, Stepper
from gpucast.measure.store import Store
from gpucast.measure.visits import Budget, OwnCosts, Visits, cheapest_round
from gpucast.measure.work import Request, Watcher
from gpucast.model.fitted import Model
from gpucast.util.gpu_shares import device

MISSING_LIBRARY = "needs NCCL"

_SHARE = 0.15
"""The share of a path's budget that its transfers may take."""

_LEAST_LARGEST = 1 << 20
"""Least size of the largest transfer of a short suite (bytes)."""

_MEASURED = {True: "a short suite of transfers and launches is measured",
             False: "transfers and launches are measured"}  # fmt: skip


@dataclass(frozen=True)
class Work:
    """What is to be measured on a path.

    Attributes:
        cells: all cells, also those that the file has.
        launcher: as in ``Request``; empty if no MPI processes are started.
        seconds: the path's share of the budget (s); None: no limit.
    """

    request: Request
    path: Path
    machine: Machine
    cells: Sequence[Cell]
    timing: Timing
    launcher: str
    seconds: float | None


class OwnRun(PathRun):
    """Measures a path; if it ends early, a note says why."""

    def __init__(self, work: Work, store: Store, watcher: Watcher) -> None:
        path = work.path.label
        costs = OwnCosts(work.path.kind, work.timing)

        def fit(data: Dataset, series: StepSelection) -> Model:
            return fit_own(data, replace(series, path=path), replicates=0)

        def order(cells: Sequence[Cell], number: int, fit_seconds: float) -> list[Cell]:
            return cheapest_round(cells, costs, fit_seconds)

        cells = set(work.cells)
        known = [
            (cell, step)
            for step in store.steps(work.machine.id, path)
            if not step.graph
            and step.boundary in (None, "open")
            and (cell := Cell(series_of(step), int(step.n), step.gpus)) in cells
        ]
        budget = Budget(work.seconds)
        visits = Visits(work.cells, costs, budget, work.request, device(path), fit, order, known)
        super().__init__(path, work.machine.id, visits, store, watcher, device(path))
        self._work = work
        self._environment = work.path.environment(work.request.secret_file)
        self._others = sharing() if work.path.kind == "host" else None
        self._device_lost = False
        self._without_counter = False
        self._reasons: set[tuple[StepSelection, str]] = set()

    def run(self) -> None:
        """Measure everything that is not in the file yet."""
        work = self._work
        try:
            if work.request.transfers:
                self._measure_transfers()
            with Stepper(
                work.path, self._environment, work.machine.id, work.timing, work.launcher
            ) as stepper:
                self.measure(lambda cell: self._visit(stepper, cell))
        except ProgramError as error:
            self.note(f"path {self.report.path} ended: {error}")
            self.report.status = "ended"
        self.finish()

    def _visit(self, stepper: Stepper, cell: Cell) -> Iterator[Record]:
        record: Record | None = None
        try:
            with energy.metered(self._gpus(cell), self._tell) as meter:
                for record in stepper.measure(cell):
                    yield _with_joules(record, meter)
        except ProgramError as error:
            if self._device_lost:  # lost at the cell before, whose note says so
                raise
            raise ProgramError(f"at {cell}: {error}") from error
        self._device_lost = isinstance(record, Note)  # perhaps

    def _gpus(self, cell: Cell) -> list[str] | None:
        """Return the GPUs whose energy is counted; None on other paths, whose GPUs may be
        elsewhere."""
        if self._work.path.kind != "native" or self._without_counter:
            return None
        allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
        named = allowed.split(",") if allowed else [str(gpu) for gpu in range(cell.gpus)]
        return [name.strip() for name in named[: cell.gpus]]

    def _tell(self, text: str) -> None:
        self._without_counter = True
        self.watcher.say(text)

    def keep(self, cell: Cell, step: Step) -> None:
        super().keep(cell, step)
        # Other users are noted with the first cell: if nothing is measured, they disturb nothing.
        if self._others is not None:
            self.note(self._others, remark=True)
            self._others = None

    def fail(self, cell: Cell, text: str, **about: object) -> None:
        """Note a failed visit. A series is left out when it fails twice for the same reason, and at
        once when it lacks a library, which is no failure unless the user named its schedule."""
        super().fail(cell, text, **about)
        series, missing = cell.series, MISSING_LIBRARY in text
        if missing and self._work.request.choice.schedules is None:
            self.report.failed -= 1
        reason = text.partition(": ")[2]
        if missing or (series, reason) in self._reasons:
            rest = [open_ for open_ in self.visits.open() if open_.series == series]
            self.visits.left_out.update(rest)
            if rest:
                text = f"{self.report.path}: {len(rest)} more cells of {series} left out"
                self.watcher.say(text)
        self._reasons.add((series, reason))

    # ---- transfers and launches ----

    def _measure_transfers(self) -> None:
        """Measure transfers once; the whole suite also if the file only has a short one."""
        path, machine = self.report.path, self._work.machine.id
        is_short = self._work.seconds is not None
        enough = {_MEASURED[False], _MEASURED[is_short]}
        notes = (entry for entry in self.store.entries if isinstance(entry, Note))
        if any((n.machine, n.path) == (machine, path) and n.text in enough for n in notes):
            return
        self.watcher.under_way(path, "transfers and launches", *self.visits.progress())
        suite = self._short_suite() if is_short else None
        with programs.transfers(self._work.path, self._environment, machine, suite) as program:
            self._keep_new(program)
            status, message = program.finish()
        if status == 0:
            self.store.note(machine, path, _MEASURED[is_short])
        self.store.sync()
        if status != 0:
            self.report.status = "failed"
            self.note(f"transfers of path {path}: {message}")

    def _short_suite(self) -> tuple[float, int]:
        """Return seconds and largest transfer (bytes) of a short suite."""
        # Beyond the sizes that steps transfer, transfer times are linear in size.
        moved = int(max(ALL_PAIRS.to_gpu(cell.n, cell.gpus) for cell in self._work.cells))
        largest = max(_LEAST_LARGEST, 1 << (4 * moved).bit_length())
        return max(1.0, _SHARE * self.visits.budget.left()), largest

    def _keep_new(self, program: programs.Program) -> None:
        """Keep the records that the file does not have from an interrupted or a short suite."""
        known = self.store.measured(self._work.machine.id, self.report.path)
        while (record := program.next_record()) is not None:
            if isinstance(record, Note):
                about: Mapping[str, object] = record.about or {}
                self.store.note(record.machine, self.report.path, record.text, **about)
            elif isinstance(record, Machine):
                self.store.append(record)
            elif known[cell := dataset.cell(record)] > 0:
                known[cell] -= 1
            else:
                self.store.append(record)
                self.report.transfers += 1


def _with_joules(record: Record, meter: energy.Meter | None) -> Record:
    """Add the energy per step to a step record that was just measured, if its steps took long
    enough."""
    if meter is None or not isinstance(record, Step):
        return record
    end = time.monotonic()
    known = meter.between(end - sum(record.seconds), end)
    if known is None:
        return record
    joules, uncertainty = known
    return replace(record, joules=joules / len(record.seconds), joules_uncertainty=uncertainty)
