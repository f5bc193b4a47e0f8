"""The suite of transfers and launches of a path."""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data import dataset
from gpucast.data.records import Machine, Note
from gpucast.data.workload import ALL_PAIRS
from gpucast.measure import programs
from gpucast.measure.programs import ShortSuite
from gpucast.measure.store import Store
from gpucast.measure.work import Work

_SHARE = 0.15
"""The share of a path's budget that its transfers may take."""

_LEAST_LARGEST = 1 << 20
"""Bytes: of the largest transfer of a short suite, at least."""

_MEASURED = {True: "a short suite of transfers and launches is measured",
             False: "transfers and launches are measured"}  # fmt: skip


class Suite:
    """Measured once; a whole one also where the file has a short one."""

    def __init__(self, work: Work, store: Store) -> None:
        self._work = work
        self._store = store
        self._here = (work.machine.id, work.path.label)
        self.written = 0
        """Records that were measured now."""

    @property
    def is_measured(self) -> bool:
        """Whether the file says so."""
        enough = {_MEASURED[False], _MEASURED[self._work.has_budget]}
        return any(
            isinstance(entry, Note)
            and (entry.machine, entry.path) == self._here
            and entry.text in enough
            for entry in self._store.entries
        )

    def measure(self, environment: Mapping[str, str] | None) -> tuple[int, str]:
        """Write what the program measures: its exit status, and what it said."""
        machine, path = self._here
        with programs.transfers(self._work.path, environment, machine, self._short()) as program:
            self._keep_new(program)
            status, said = program.finish()
        if status == 0:
            self._store.note(machine, path, _MEASURED[self._work.has_budget])
        self._store.sync()
        return status, said

    def _short(self) -> ShortSuite | None:
        if not self._work.has_budget:
            return None
        # Beyond what steps move, curves are straight.
        of_steps = int(max(ALL_PAIRS.to_gpu(cell.n, cell.gpus) for cell in self._work.cells))
        return ShortSuite(
            seconds=max(1.0, _SHARE * self._work.seconds_left()),
            largest=max(_LEAST_LARGEST, 1 << (4 * of_steps).bit_length()),
        )

    def _keep_new(self, program: programs.Program) -> None:
        """All but what a suite that was broken off, or a short one, has written already."""
        machine, path = self._here
        known = self._store.measured(machine, path)
        while (record := program.next_record()) is not None:
            if isinstance(record, Note):
                self._store.note(record.machine, path, record.text, **(record.about or {}))
            elif isinstance(record, Machine):
                self._store.append(record)
            elif known[cell := dataset.cell(record)] > 0:
                known[cell] -= 1
            else:
                self._store.append(record)
                self.written += 1
