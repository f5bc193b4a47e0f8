"""All measurements of one path: its transfers, then its steps, round by round."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import numpy as np

from gpucast.data.records import Note, Record, Step
from gpucast.data.selection import StepSelection
from gpucast.data.thinning import coarsened
from gpucast.design.cells import Cell, series_of
from gpucast.errors import InputError
from gpucast.fitting.fit import fit_own
from gpucast.measure import programs
from gpucast.measure.others import sharing
from gpucast.measure.programs import ProgramError
from gpucast.measure.report import AnswerReport
from gpucast.measure.rounds import CheapestFirst, Costs, InTurn, Rounds
from gpucast.measure.store import Store
from gpucast.measure.suite import Suite
from gpucast.measure.until import answers_of, by_series, ended_by
from gpucast.measure.work import PathReport, Watcher, Work
from gpucast.model.fitted import Model
from gpucast.util.devices import device

VISITS = 6
"""Visits that a cell gets at most where a budget is shared out: their mean has 40 % of the noise of
one, and more of them would lower it slowly."""

MISSING_LIBRARY = "needs NCCL"


class PathRun:
    """Measures a path into a file; a path that ends early ends with a note."""

    def __init__(self, work: Work, store: Store, watcher: Watcher) -> None:
        self._work = work
        self._path = work.path.label
        self._machine = work.machine.id
        self._environment = work.path.environment(work.request.secret_file)
        self._store = store
        self._watcher = watcher
        self._costs = Costs(work.path.kind, work.timing)
        self._left: list[Cell] = []  # of this pass over the cells
        self._visits: Counter[Cell] = Counter()
        self._most = work.request.visits or (VISITS if work.chooses else 1)
        self._fits: dict[StepSelection, Model] = {}
        self._why_not: dict[StepSelection, str] = {}
        self._until = by_series(
            work.request.until, work.cells, self._costs, self._visits, self._most
        )
        self._fit_seconds = 0.0
        self._unfitted: set[StepSelection] = set()
        self._shared: str | None = None  # who else was at work, not said yet
        self._lost = False  # the last cell failed: perhaps its device is lost
        self._reasons: set[tuple[StepSelection, str]] = set()
        self.report = PathReport(self._path, self._machine, device=device(self._path))

    def fit_of(self, series: StepSelection) -> Model | str:
        """The last fit of a series, or why there is none."""
        return self._fits.get(series) or self._why_not.get(series, "nothing measured")

    def run(self) -> PathReport:
        """Everything that is not in the file yet."""
        try:
            self._skip_measured()
            if self._work.request.transfers:
                self._measure_transfers()
            self._measure_steps()
        except ProgramError as error:
            self.note(f"path {self._path} ended: {error}")
            self.report.status = "ended"
        self._fit_new()
        if self.report.status == "complete" and self.report.failed:
            self.report.status = "failed"
        return self.report

    def note(self, text: str, **about: object) -> None:
        """Into the file, and for people."""
        self._keep_note(text, **about)
        self._watcher.say(text)

    def _remark(self, text: str) -> None:
        """A note of what is nothing that went wrong."""
        self._keep_note(text)
        self._watcher.say(f"note: {text}")

    def _keep_note(self, text: str, **about: object) -> None:
        self._store.note(self._machine, self._path, text, **about)
        self.report.notes.append(text)

    def _skip_measured(self) -> None:
        found = {}
        for step in self._store.steps(self._machine, self._path):
            if not step.graph and step.boundary in (None, "open"):
                cell = Cell(series_of(step), int(step.n), step.gpus)
                found[cell] = step
                self._visits[cell] += 1
        for cell in self._work.cells:
            if cell in found:
                self._costs.learn(cell, float(np.median(found[cell].seconds)))
                self.report.skipped += self._visits[cell]
                self._unfitted.add(cell.series)

    def _measure_transfers(self) -> None:
        suite = Suite(self._work, self._store)
        if suite.is_measured:
            return
        self._watcher.under_way(self._path, "transfers and launches", *self._progress())
        status, said = suite.measure(self._environment)
        self.report.transfers = suite.written
        if status != 0:
            self.report.status = "failed"
            self.note(f"transfers of path {self._path}: {said}")

    # ---- steps ----

    def _measure_steps(self) -> None:
        work = self._work
        self._shared = sharing() if work.path.kind == "host" else None
        rounds = self._rounds()
        self._fit_new()
        with programs.Stepper(
            work.path, self._environment, self._machine, work.timing, work.launcher
        ) as stepper:
            # With a budget or questions, the rounds say which cells are visited again.
            for visit in [self._most - 1] if work.chooses else range(self._most):
                self._left = [cell for cell in work.cells if self._visits[cell] <= visit]
                self._pass(rounds, stepper)
        if self._to_do() and self.report.status == "complete":
            self.report.status = ended_by(self._until) or "budget"

    def _pass(self, rounds: Rounds, stepper: programs.Stepper) -> None:
        """Once over the cells that are left."""
        while self._left and self._work.seconds_left() > self._fit_seconds:
            if ended_by(self._until):
                break
            batch = rounds.next_round(self._left, self._work.seconds_left())
            if not batch:
                break
            for cell in batch:
                if cell in self._left and self._work.seconds_left() > 0:
                    self._measure_cell(stepper, cell)
            self._store.sync()
            self._fit_new()

    def _rounds(self) -> Rounds:
        if not self._work.chooses:
            return CheapestFirst(self._costs, lambda: self._fit_seconds)
        return InTurn(
            self._costs, lambda: self._fit_seconds, visits=self._visits, until=self._until
        )

    def _measure_cell(self, stepper: programs.Stepper, cell: Cell) -> None:
        self._watcher.under_way(self._path, str(cell), *self._progress())
        self._left.remove(cell)
        self._visits[cell] += 1
        try:
            for record in stepper.measure(cell):
                self._keep(record, cell)
        except ProgramError as error:
            if self._lost:  # with the cell before this one, which says it
                raise
            raise ProgramError(f"at {cell}: {error}") from error

    def _keep(self, record: Record, cell: Cell) -> None:
        self._lost = isinstance(record, Note)
        if isinstance(record, Note):
            self._failed(cell, record.text)
            return
        self._store.append(record)
        if isinstance(record, Step):
            step = float(np.median(record.seconds))
            self._costs.learn(cell, step)
            self._unfitted.add(cell.series)
            self.report.measured += 1
            if self._work.chooses and self._visits[cell] < self._most:
                self._left.append(cell)
            # With the first cell: a path of which nothing is measured now is disturbed by nobody.
            if self._shared is not None:
                self._remark(self._shared)
                self._shared = None
            self._watcher.finished(self._path, str(cell), *self._progress(), step)

    def _failed(self, cell: Cell, text: str) -> None:
        """A note for the cell. A series that fails twice for one reason is left out, and at once
        where it needs a library that is not there; if nobody asked for it, that is no failure."""
        series = cell.series
        missing = MISSING_LIBRARY in text
        asked = self._work.request.choice.schedules is not None
        self.report.failed += not missing or asked
        self.note(text, **series.chosen, n=cell.n, gpus=cell.gpus)
        reason = text.partition(": ")[2]
        if missing or (series, reason) in self._reasons:
            rest = [left for left in self._left if left.series == series]
            self._left = [left for left in self._left if left.series != series]
            for given_up in self._work.cells:
                if given_up.series == series:
                    self._visits[given_up] = self._most
            if rest:
                self._watcher.say(f"{self._path}: {len(rest)} more cells of {series} left out")
        self._reasons.add((series, reason))

    # ---- fits on the way ----

    def _fit_new(self) -> None:
        """Fit the series that have new cells; what cannot be fitted yet is none the worse."""
        if not self._unfitted:
            return
        begin = time.monotonic()
        data = coarsened(self._store.dataset().select(machine=self._machine))
        for series in sorted(self._unfitted):
            try:
                here = replace(series, path=self._path)
                model = fit_own(data, here, replicates=0)
            except InputError as error:
                self._why_not[series] = error.message
                self._ask(series, None)
                continue
            self._fits[series] = model
            self._costs.take([cell for cell in self._work.cells if cell.series == series], model)
            assert model.quality is not None  # it was fitted, not read
            self._watcher.fitted(self._path, series, model.quality.median_relative_error)
            self._ask(series, model)
        self._unfitted.clear()
        self._fit_seconds = time.monotonic() - begin

    def _ask(self, series: StepSelection, model: Model | None) -> None:
        """What is asked of a series whose fit is new."""
        until = self._until.get(series)
        if until is None:
            return
        left = [cell for cell in self._left if cell.series == series]
        until.update(model, left, self._why_not.get(series, ""))
        for text in until.in_words(self._costs):
            self._watcher.answered(self._path, series, text)

    def answers(self) -> list[AnswerReport]:
        """To the questions, in the end."""
        return answers_of(self._path, self._until, self._costs, lambda cell: cell.gpus / 3600)

    # ---- time ----

    def _progress(self) -> tuple[int, int, float]:
        """Cells done and in all, and about how many seconds are left."""
        total = self._most * len(self._work.cells)
        to_do = self._to_do()
        takes = [each.seconds_left(self._costs) for each in self._until.values()]
        if takes and None not in takes:
            left = sum(each or 0.0 for each in takes)
        elif self._work.has_budget:
            left = self._work.seconds_left()
        else:
            left = sum(map(self._costs, to_do))
        return total - len(to_do), total, max(0.0, left)

    def _to_do(self) -> list[Cell]:
        """A cell for each visit that is left."""
        return [cell for cell in self._work.cells for _ in range(self._most - self._visits[cell])]
