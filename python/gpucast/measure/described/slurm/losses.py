"""Decides whether visits that a job left undone are tried again or given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gpucast.measure.described.slurm.options import Shape
from gpucast.measure.described.slurm.work import Key

TRIES = 3
"""How many jobs of one shape may end without a visit, or during the same visit."""

_BY_OTHERS = frozenset({"CANCELLED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "REVOKED", "GONE",
                        "DEADLINE"})  # fmt: skip
"""States in which jobs end for reasons other than their own work."""

_ENDS = {"timeout": "TIMEOUT", "error": "FAILED"}
"""Slurm's states by what ``run_cells`` returned; squeue may not know them yet."""


@dataclass(frozen=True)
class EndedJob:
    """A job that has ended.

    Attributes:
        lost: visits that it left undone; ``made``: number of visits in its records.
        answer: what ``run_cells`` returned; ``error`` if it raised one, None if the job died.
        state: Slurm's name of its state.
        under_way: the visit during which it ended.
        last_line: the last line of its log.
    """

    shape: Shape
    lost: Sequence[Key]
    made: int
    answer: str | None
    state: str
    under_way: Key | None = None
    last_line: str = ""


@dataclass(frozen=True)
class Verdict:
    """Attributes: ended: how the job ended, if the user should know. given_up: visits that are not
    tried again, and ``why``.
    """

    ended: str | None = None
    given_up: Sequence[Key] = ()
    why: str = ""


class Losses:
    """Counts failures of jobs, by visit and by shape."""

    def __init__(self) -> None:
        self._deaths: Counter[Key] = Counter()
        self._barren: Counter[Shape] = Counter()

    def after(self, job: EndedJob) -> Verdict:
        """Return the verdict on a job's end, given all earlier ones."""
        if job.made or not job.lost:
            del self._barren[job.shape]
        if not job.lost or job.answer in ("time", "allowance"):
            return Verdict()
        ended = _ENDS.get(job.answer or "", job.state)
        killer = job.under_way
        if killer is not None and job.answer == "timeout" and not job.made:
            return Verdict(ended, [killer], "takes longer than the time limit of a job")
        if ended in _BY_OTHERS:
            return Verdict(ended)
        if killer is not None:
            self._deaths[killer] += 1
            if self._deaths[killer] >= TRIES:
                why = f"{TRIES} jobs ended while it ran (the last: {ended})"
                return Verdict(ended, [killer], why)
        if not job.made:
            self._barren[job.shape] += 1
            if self._barren[job.shape] >= TRIES:
                why = f"{TRIES} jobs ended without a visit (the last: {ended}, {job.last_line})"
                return Verdict(ended, job.lost, why)
        return Verdict(ended)
