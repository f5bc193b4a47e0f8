"""Unions of time intervals, and how much of each step they cover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Union:
    """Intervals that neither overlap nor touch, ascending."""

    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, starts: ArrayLike, ends: ArrayLike) -> Union:
        """The union of intervals [start, end)."""
        begins, stops = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
        order = np.argsort(begins, kind="stable")
        begins, stops = begins[order], stops[order]
        if begins.size == 0:
            return cls(begins, stops)
        reached = np.maximum.accumulate(stops)
        first = np.ones(begins.size, bool)
        first[1:] = begins[1:] > reached[:-1]
        at = np.flatnonzero(first)
        return cls(begins[at], reached[np.append(at[1:], begins.size) - 1])

    def __or__(self, other: Union) -> Union:
        return Union.of(
            np.concatenate([self.starts, other.starts]), np.concatenate([self.ends, other.ends])
        )

    def within(self, begins: Ints, ends: Ints) -> Ints:
        """How much of each [begin, end) is covered."""
        return self._before(ends) - self._before(begins)

    def _before(self, times: Ints) -> Ints:
        """How much is covered before each time."""
        lengths = self.ends - self.starts
        before = np.concatenate([[0], np.cumsum(lengths)])
        at = np.searchsorted(self.starts, times, side="right")
        beyond = np.zeros(np.shape(times), np.int64)
        there = at > 0
        beyond[there] = np.maximum(0, self.ends[at[there] - 1] - times[there])
        covered: Ints = before[at] - beyond
        return covered
