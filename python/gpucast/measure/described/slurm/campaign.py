"""Measures a described program's cells through Slurm: a job for each GPU count and round.

Each job writes a file of its own, whose records are then copied into the campaign's file. The
client may be killed at any moment without loss: the next one finds the jobs in their folder beside
the file (``jobs``), copies what they wrote, and submits what is missing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from gpucast.data import jsonl
from gpucast.data.records import Machine, Note, Record, Step
from gpucast.errors import InputError
from gpucast.measure.described.campaign import DescribedRun
from gpucast.measure.described.request import Request, beside
from gpucast.measure.described.runs import Run
from gpucast.measure.described.slurm.batches import MOST_JOBS, SharedBudget, Wanted
from gpucast.measure.described.slurm.jobs import (
    TRIES,
    Jobs,
    LiveJob,
    Losses,
    NotSubmittedError,
    cluster_name,
)
from gpucast.measure.described.slurm.options import FIELD, Options, Shape
from gpucast.measure.described.slurm.work import Key, Work
from gpucast.measure.described.visit import failure
from gpucast.measure.design.cells import Cell
from gpucast.measure.pathrun import identified
from gpucast.measure.store import Store
from gpucast.measure.visits import VisitCosts
from gpucast.measure.work import Report, Watcher

POLL_SECONDS = 0.5
_AGAIN_SECONDS = 20.0  # after sbatch failed


class SlurmCampaign:
    """Measures a described program's cells by Slurm jobs."""

    def __init__(
        self,
        request: Request,
        store: Store,
        watcher: Watcher,
        options: Options | None,
        *,
        quiet: bool = False,
    ) -> None:
        """
        Args:
            options: None to submit nothing and cancel the existing jobs.
            quiet: do not report submitted jobs.
        """
        self._request = request
        self._program = request.program
        self._path = request.program.path
        self._store = store
        self._watcher = watcher
        self._options = options
        self._quiet = quiet
        self._logs = beside(store.name, "logs").absolute()
        self._jobs = Jobs(beside(store.name, "slurm"))
        self._losses = Losses()
        self._refusals = 0
        self._not_before = 0.0
        self._nodes: set[object] = set()  # about which something was noted
        self._waits: set[str] = set()  # about which something was said
        self._by_digest = {run.digest: run for run in request.runs}
        self._have: set[tuple[str | None, Key]] = {
            (entry.machine, (entry.visit.digest, entry.visit.number))
            for entry in store.entries
            if isinstance(entry, Step) and entry.visit is not None
        }
        self._cluster = self._machine()
        self._costs = VisitCosts(by_gpu=request.gpu_hours is not None)
        self._budget = SharedBudget(request, self._costs, self._queued_cells)
        self._budget.count_before(store.entries, self._by_digest)
        self._run = DescribedRun(
            request, request.runs, self._cluster.id, store, watcher, self._costs, self._budget
        )
        limit = math.inf if options is None else options.seconds
        self._wanted = Wanted(self._run, self._costs, limit)

    def _machine(self) -> Machine:
        """Return the machine record of the cluster's partition: all its nodes count as one
        machine."""
        partition = None if self._options is None else self._options.partition
        where = [cluster_name(), *([partition] if partition else [])]
        made = jsonl.made(Machine, id="slurm", host="-".join(where))
        for text in self._jobs.adopt():
            self._watcher.say(text)
        # Its record is written with the first step; until then only the jobs know its id.
        candidates = [live.work.machine for live in self._jobs.live]
        if self._options is None:  # whichever machine the jobs were for
            candidates += self._store.machines
        named = self._request.machine
        for known in candidates:
            name, _, label = known.id.rpartition("/")
            same = self._options is None or known.host == made.host
            if same and label == self._path and named in (None, name):
                return known
        return identified(self._store, made, self._path, named)

    def run(self) -> Report:
        """Measure what the file does not hold yet, as far as the budget allows. A campaign whose
        jobs are cancelled ends early."""
        if self._jobs.live:
            self._watcher.say(f"{_jobs(self._jobs.live)} of an earlier start found")
        elif self._options is None:
            self._watcher.say(f"no jobs measure for {self._store.name}: nothing to end")
        try:
            if self._options is None:
                self._jobs.cancel()
            while True:
                self._collect()
                self._submit()
                waits = self._options is not None and time.monotonic() < self._not_before
                if not self._jobs.live and not waits:
                    break
                time.sleep(POLL_SECONDS)
            self._jobs.close()
        except KeyboardInterrupt:
            if self._jobs.live:
                self._watcher.say(
                    f"{_jobs(self._jobs.live)} left in the queue; the same command takes over what "
                    "they measure, with --cancel it ends them"
                )
            raise
        report = self._run.result()
        if self._options is None and self._run.visits.to_do():
            self._run.report.status = "ended"
        return report

    def _collect(self) -> None:
        """Copy what jobs have written, and retire jobs that have ended."""
        for live in list(self._jobs.live):
            over = live.job.done()  # before its file is read the last time
            for record in live.part.new():
                self._take(live, record)
            if not over:
                self._report_wait(live)
            else:
                self._store.sync()
                self._account(live)
                self._jobs.retire(live)
                if live.made and self._request.chooses:
                    self._run.fit()

    def _report_wait(self, live: LiveJob) -> None:
        why = live.waits_for
        if why is not None and f"{live.id} {why}" not in self._waits:
            self._waits.add(f"{live.id} {why}")
            self._watcher.say(f"job {live.id} waits: {why}")

    def _take(self, live: LiveJob, record: Record) -> None:
        """Copy a record of a job, unless the file has it."""
        if isinstance(record, Machine):
            if all(known.id != record.id for known in self._store.machines):
                self._store.append(record)  # every job's file begins with it
        elif isinstance(record, Step) and record.visit is not None:
            self._take_step(live, record)
        elif isinstance(record, Note):
            self._take_note(live, record)

    def _take_step(self, live: LiveJob, step: Step) -> None:
        assert step.visit is not None
        live.made += 1
        key = (step.machine, (step.visit.digest, step.visit.number))
        if key in self._have:
            return
        self._have.add(key)
        run = self._by_digest.get(step.visit.digest)
        if run is None or step.machine != self._cluster.id:
            self._store.append(step)  # of an earlier start with other cells
            return
        self._budget.spend(step.visit.seconds, step.gpus)
        self._run.keep(run.cell, step)
        self._store.sync()

    def _take_note(self, live: LiveJob, note: Note) -> None:
        about = note.about or {}
        digest, number = about.get("digest"), about.get("visit")
        if not isinstance(digest, str) or not isinstance(number, int):
            node = about.get("node")
            if node in self._nodes:
                return  # report each node once: its other users differ from job to job
            self._nodes.add(node)
            if self._store.note(note.machine, self._path, note.text, **about):
                self._watcher.say(f"note: {note.text}")
            return
        live.failed.add((digest, number))
        told = any(isinstance(entry, Note) and entry == note for entry in self._store.entries)
        if told and live.adopted:
            return  # an earlier start reported it; this one tries the cell again
        run = self._by_digest.get(digest)
        if run is not None and note.machine == self._cluster.id:
            seconds = about.get("seconds")
            if isinstance(seconds, int | float):
                self._budget.spend(seconds, run.cell.gpus)
            if run.cell not in self._run.visits.left_out:
                self._run.fail(run.cell, note.text, **about)
                return
        self._store.note(note.machine, self._path, note.text, **about)
        self._run.report.notes.append(note.text)
        self._watcher.say(note.text)

    def _account(self, live: LiveJob) -> None:
        """Report why an ended job left visits undone, and try these again or give them up."""
        lost = self._undone(live)
        verdict = self._losses.after(live, lost)
        if verdict.ended is None:
            return
        tried = "; they are tried again" if self._options and not verdict.given_up else ""
        self._watcher.say(
            f"job {live.id} (gpus={live.work.shape.gpus}) ended as {verdict.ended}: {len(lost)} of "
            f"{_visits(len(live.work.visits))} undone{tried}"
        )
        for digest, number in verdict.given_up:
            run = self._by_digest.get(digest)
            if run is not None and run.cell not in self._run.visits.left_out:
                why = f"{verdict.why} (job {live.id})"
                note = failure(run, number, why, [live.last_line()])
                self._run.fail(run.cell, note.text, **(note.about or {}))
                self._store.sync()

    # ---- submission ----

    def _submit(self) -> None:
        if self._options is None or time.monotonic() < self._not_before:
            return
        if self._request.chooses:
            wanted = self._wanted.of_batch(len(self._jobs.live), self._queued_cells())
        else:
            wanted = self._wanted.of_grid(self._queued())
        for round_, runs in wanted:
            if len(self._jobs.live) >= MOST_JOBS:
                return
            work = self._work(runs, round_)
            try:
                live = self._jobs.submit(work, self._options.of_job(work.shape, self._path), round_)
            except NotSubmittedError as error:
                if error.is_for_now:
                    self._ask_later(error)
                    return
                self._leave_out(work, error)
                continue
            self._refusals = 0
            if not self._quiet:
                self._watcher.say(
                    f"job {live.id} (gpus={work.shape.gpus}): {_visits(len(work.visits))}"
                )

    def _ask_later(self, error: NotSubmittedError) -> None:
        """Wait before submitting again to a queue that takes no jobs at present."""
        self._refusals += 1
        if not self._jobs.live and self._refusals > TRIES:
            raise error
        self._watcher.say(f"{error}; tried again in {_AGAIN_SECONDS:.0f} s")
        self._not_before = time.monotonic() + _AGAIN_SECONDS

    def _leave_out(self, work: Work, error: NotSubmittedError) -> None:
        """Leave out cells whose jobs the cluster will never run.

        Raises:
            InputError: the cluster accepts no job of this campaign.
        """
        shape = work.shape
        cells = [run.cell for run in self._request.runs if Shape.of(run) == shape]
        left_out = self._run.visits.left_out
        left_out.update(cells)
        if left_out.issuperset(self._run.runs) and not self._store.entries:
            self._jobs.close()
            raise InputError(f"a job of gpus={shape.gpus}: {error}", field=FIELD)
        self._run.report.failed += len(cells)
        self._watcher.say(f"gpus={shape.gpus} left out, sbatch refuses its jobs: {error}")

    def _work(self, runs: list[Run], round_: int) -> Work:
        assert self._options is not None
        chooses, visited = self._request.chooses, self._run.visited
        numbered = tuple((run, visited.next(run.cell) if chooses else round_) for run in runs)
        allowance = None
        if self._request.has_budget:
            # Jobs of one batch share the budget; a job stops when its allowance is used up.
            allowance = max(self._budget.left(), 0.0) / max(1, self._wanted.batch_jobs)
            if self._costs.are_known:
                allowance = max(allowance, sum(self._costs(run.cell) for run in runs))
        return Work(
            self._program, numbered, self._cluster, self._jobs.folder,
            self._logs, self._options.seconds, allowance,
            self._request.gpu_hours is not None,
        )  # fmt: skip

    def _queued(self) -> set[Key]:
        """Return the visits of this campaign's cells that jobs still have to make."""
        return {
            key
            for live in self._jobs.live
            if live.work.machine.id == self._cluster.id
            for key in self._undone(live)
            if key[0] in self._by_digest
        }

    def _queued_cells(self) -> list[Cell]:
        return [self._by_digest[digest].cell for digest, _ in self._queued()]

    def _undone(self, live: LiveJob) -> list[Key]:
        machine = live.work.machine.id
        return [
            key
            for key in live.work.keys
            if (machine, key) not in self._have and key not in live.failed
        ]


def _jobs(live: Sequence[LiveJob]) -> str:
    """``3 jobs (12, 13, 14)``."""
    numbers = ", ".join(job.id for job in live)
    return f"{len(live)} job{'s' if len(live) > 1 else ''} ({numbers})"


def _visits(count: int) -> str:
    return "1 visit" if count == 1 else f"{count} visits"
