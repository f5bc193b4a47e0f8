"""What a step of a traced program is: when, of which kind, and which calls and work it has."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

NO_KIND = -1
"""Kind of what is no step: something else was done between two."""


@dataclass(frozen=True)
class ProcessSteps:
    """The steps of one process.

    Attributes:
        process: its place in ``Trace.processes``.
        thread: the thread that drives them.
        begins_ns: k + 1 bounds, on the host's clock: a step ends where the next begins.
        kept: of each step, whether it is typical: neither warm-up nor outlier, and within a phase
            of the recording.
        phase: of each step, ``phases.FULL`` where its work is in the trace, ``phases.LIGHT`` where
            its calls alone are, which took as long as without a recorder; ``phases.BETWEEN`` where
            it is in no one phase, or in a light one after another that has enough.
        kind: of each step, 0 for the usual sequence of calls, 1 for the next most frequent one,
            ...; all that come seldom and are nearly the usual one are the last kind; -1 for what
            is no step: something else was done between two.
        how: in words, what a step is.
        range_name: the range they were found by, or None.
        call_step, work_step: of each row of calls and of work, the step; -1 for none.
        gpu_share: of the GPUs' time in the trace, what is in steps.
    """

    process: int
    thread: int
    begins_ns: Ints
    kept: NDArray[np.bool_]
    phase: NDArray[np.int8]
    kind: Ints
    how: str
    range_name: str | None
    call_step: Ints = field(repr=False)
    work_step: Ints = field(repr=False)
    gpu_share: float

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Of each step, s."""
        return np.diff(self.begins_ns) / 1e9

    @property
    def count(self) -> int:
        """How many steps there are, typical or not."""
        return self.kept.size

    @property
    def calls(self) -> Ints:
        """Calls of each step, all threads together."""
        return np.bincount(self.call_step[self.call_step >= 0], minlength=self.count)

    def longest_run(self, fits: NDArray[np.bool_], most: int) -> tuple[int, int]:
        """First step of the longest stretch of typical steps that fit, and the one behind it: its
        last ``most`` steps, of the first stretch that has as many; 0, 0 where none fits."""
        own = np.concatenate([[False], fits & self.kept, [False]])
        edges = np.flatnonzero(own[1:] != own[:-1])
        begins, ends = edges[::2], edges[1::2]
        if not begins.size:
            return 0, 0
        longest = int(np.argmax(np.minimum(ends - begins, most)))
        return max(int(begins[longest]), int(ends[longest]) - most), int(ends[longest])


@dataclass(frozen=True)
class Steps:
    """The steps of a trace: one entry for each process that has some."""

    processes: tuple[ProcessSteps, ...]

    @property
    def main(self) -> ProcessSteps:
        """Those of the first process that has some."""
        return self.processes[0]
