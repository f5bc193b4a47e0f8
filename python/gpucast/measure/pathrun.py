"""Visits the cells of a path, one after the other, and identifies the machine in the file."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpucast.data.dataset import same_gpus
from gpucast.data.records import Machine, Note, Record, Step
from gpucast.errors import InputError
from gpucast.measure.design.cells import Cell
from gpucast.measure.machine import nvidia_smi
from gpucast.measure.store import Store
from gpucast.measure.until import ended_by
from gpucast.measure.visits import Visits
from gpucast.measure.work import HOUR, AnswerReport, FitReport, PathReport, Watcher
from gpucast.util.gpu_shares import Device

_LONG = 1.0
"""A visit that took longer (s) is synced to disk at once, which takes milliseconds."""


class PathRun:
    """Records what is measured on a path, and reports progress.

    Attributes:
        visits: the path's visits, including those that the file has.
        report: the outcome of the path so far.
    """

    def __init__(
        self,
        path: str,
        machine: str,
        visits: Visits,
        store: Store,
        watcher: Watcher,
        device: Device,
    ) -> None:
        """``device``: what GPU counts count."""
        self.visits = visits
        self.store = store
        self.watcher = watcher
        self.report = PathReport(path, machine, skipped=sum(visits.counts.values()), device=device)

    def measure(self, visit: Callable[[Cell], Iterable[Record]]) -> None:
        """Make all visits that are wanted and within the budget.

        Args:
            visit: makes one visit and returns its records; the last is its step, or a note why
                there is none.
        """
        visits = self.visits
        self.fit()
        while True:
            cells, unlimited = visits.next()
            if not cells:
                break
            for cell in cells:
                affordable = unlimited or visits.costs(cell) <= visits.budget.left()
                if affordable and cell not in visits.left_out:
                    self._make(cell, visit)
            self.store.sync()
            self.fit()

    def keep(self, cell: Cell, step: Step) -> None:
        """Record a visit that was made."""
        self.store.append(step)
        self.visits.add(cell, step)
        self.report.measured += 1
        what, budget = str(cell), self.visits.budget
        if budget.by_gpu:
            hours = self.report.device.hours
            what += f" ({budget.spent / HOUR:.3g} of {budget.whole / HOUR:g} {hours})"
        seconds = float(np.median(step.seconds))
        self.watcher.finished(self.report.path, what, *self.visits.progress(), seconds)

    def fail(self, cell: Cell, text: str, **about: Any) -> None:
        """Note why a visit failed, and leave its cell out until the next start."""
        self.visits.left_out.add(cell)
        self.report.failed += 1
        self.note(text, **about)

    def note(self, text: str, *, remark: bool = False, **about: Any) -> None:
        """Write a note into the file and tell the user; a remark is not about a failure."""
        self.store.note(self.report.machine, self.report.path, text, **about)
        self.report.notes.append(text)
        self.watcher.say(f"note: {text}" if remark else text)

    def fit(self) -> None:
        """Fit the series that have new visits, and report the fits."""
        if not self.visits.stale:
            return
        path = self.report.path
        data = self.store.dataset().select(machine=self.report.machine)
        for series, model in self.visits.fit(data):
            if model is not None and model.quality is not None:
                self.watcher.fitted(path, series, model.quality.median_relative_error)
            if series in self.visits.until:
                for text in self.visits.until[series].in_words(self.visits.costs.seconds):
                    self.watcher.answered(path, series, text)

    def finish(self) -> None:
        """Make the last fits, and set the path's status unless it ended early."""
        self.fit()
        if self.report.status != "complete":
            return
        if self.report.failed:
            self.report.status = "failed"
        elif ended := ended_by(self.visits.until):
            self.report.status = ended
        elif self.visits.to_do():
            self.report.status = "budget"

    def answers(self) -> list[AnswerReport]:
        """Return the answers to the questions so far."""
        seconds, report = self.visits.costs.seconds, self.report
        return [
            AnswerReport(
                report.path,
                str(series) if series.schedule else "",
                answered,
                asked.seconds_left(seconds),
                asked.seconds_left(lambda cell: seconds(cell) * cell.gpus / HOUR),
                report.device,
                outlook,
            )
            for series, asked in self.visits.until.items()
            for answered, outlook in zip(asked.answers, asked.outlooks(seconds), strict=True)
        ]

    def fits(self) -> list[FitReport]:
        """Return how good the last fit of each series is."""
        every = dict.fromkeys(cell.series for cell in self.visits.cells)
        return [self.visits.fit_report(self.report.path, series) for series in every]

    def _make(self, cell: Cell, visit: Callable[[Cell], Iterable[Record]]) -> None:
        self.watcher.under_way(self.report.path, str(cell), *self.visits.progress())
        begin = time.monotonic()
        records = list(visit(cell))
        seconds = time.monotonic() - begin
        self.visits.budget.spend(seconds, cell.gpus)
        for record in records:
            if isinstance(record, Note):
                self.fail(cell, record.text, **(record.about or {}))
            elif isinstance(record, Step):
                self.keep(cell, record)
            else:
                self.store.append(record)
        if seconds > _LONG:
            self.store.sync()


def identified(store: Store, facts: Machine, path: str, named: str | None) -> Machine:
    """Return ``facts`` with the id that the file has for this machine's path, or with a new one.

    An id is ``NAME/PATH``: records of one id have the same GPUs, and a machine's paths have
    different ones. NAME is ``named``, or this machine's name in the file, or derived from facts
    about the machine, so that the next file gets the same.

    Raises:
        InputError: ``named`` is another machine in the file.
    """
    for known in store.machines:
        name, _, label = known.id.rpartition("/")
        if label == path and named in (None, name) and _same_machine(known, facts, devices=True):
            return replace(facts, id=known.id)
    name = named or _name_of(store, facts) or _usual_name(facts)
    made = f"{name}/{path}"
    if any(known.id == made for known in store.machines):
        if named is not None:
            raise InputError(
                f"{made!r} is another machine there; give this one another name",
                file=store.name,
                field="machine",
            )
        made = f"{name}-{secrets.token_hex(3)}/{path}"
    return replace(facts, id=made)


def _usual_name(facts: Machine) -> str:
    """Return the host name and six digits that distinguish machines of the same name.

    The digits are a hash of the installation's id, host name, CPU and GPUs, which readers of
    published records cannot recover.
    """
    listed = nvidia_smi("--query-gpu=uuid") or []
    identity = [_installation(), facts.host or "", facts.cpu or "", *(row[0] for row in listed)]
    digest = hashlib.sha256("\n".join(["gpucast machine", *identity]).encode()).hexdigest()
    return f"{facts.host or 'machine'}-{digest[:6]}"


def _installation() -> str:
    """Return systemd's id of the machine; without systemd, random letters at each start."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return secrets.token_hex(8)


def _name_of(store: Store, facts: Machine) -> str | None:
    for known in store.machines:
        name, slash, _ = known.id.rpartition("/")
        if slash and _same_machine(known, facts, devices=False):
            return name
    return None


def _same_machine(known: Machine, facts: Machine, *, devices: bool) -> bool:
    here = (known.host, known.cpu) == (facts.host, facts.cpu)
    return here and (not devices or same_gpus(known.gpus, facts.gpus))
