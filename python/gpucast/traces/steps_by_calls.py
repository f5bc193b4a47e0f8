"""Steps of light phases by the calls that steps of full phases make.

Which kernel a launch starts, light phases do not hold, so where a kernel begins the steps, they are
known in full phases alone. What a step calls is its word: the names of its calls in their order; of
queries, those that found the work done. Where that word is in a light phase, a step is; it begins
and ends where a call of the word returns. Several words in a row are told apart by their order
alone: where all their names are the same, a step may be taken to begin at any of its calls, which
makes it neither longer nor shorter in the mean.

Steps of several kinds may have words that hold one another. So the same cut is made in full phases,
and light ones count only where it gives steps there as long as they are known to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpucast.traces import phases, repetition
from gpucast.traces.trace import Process

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOT_READY: Final = 600
"""CUDA's answer to a query of what is not done."""
SAME: Final = 0.05
"""Share by which the median of steps of full phases, cut again, may lie beside their quartiles."""


@dataclass(frozen=True)
class Cut:
    """Steps, in time: ``bounds``: k + 1 times, ns; ``whole``: of each stretch, if it is a step."""

    bounds: Ints
    whole: Bools

    @property
    def steps_ns(self) -> Ints:
        """Of each step, in no order, ns."""
        return np.diff(self.bounds)[self.whole]


def light_steps(process: Process, thread: int, begins: Ints, ends: Ints) -> Cut | None:
    """The steps of light phases; None where these do not tell.

    Args:
        thread: that drives the steps.
        begins, ends: of usual steps in full phases, ns.
    """
    calls = process.calls
    names = calls["name"].to_numpy(np.int64)
    start, stop = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    kinds = phases.of_spans(process, start, stop)
    own = _calls_of(process, thread)
    word = _word(names[own], stop[own], begins, ends)
    if word.size == 0:
        return None
    found = {
        kind: _joined(
            _cut(names[rows], stop[rows], word)
            for rows in _by_phase(process, own[kinds[own] == kind], start)
        )
        for kind in (phases.FULL, phases.LIGHT)
    }
    again = found[phases.FULL].steps_ns
    low, high = np.quantile(ends - begins, [0.25, 0.75])
    if not again.size or not (1 - SAME) * low <= np.median(again) <= (1 + SAME) * high:
        return None
    light = found[phases.LIGHT]
    return light if light.whole.any() else None


def _calls_of(process: Process, thread: int) -> Ints:
    """Rows of a thread's calls, in any phase, without queries of what is not done."""
    calls = process.calls
    queries = [number for number, text in process.names.items() if text.endswith("Query")]
    asks_again = np.isin(calls["name"].to_numpy(), queries)
    asks_again &= calls["result"].to_numpy() == NOT_READY
    return np.flatnonzero((calls["thread"].to_numpy() == thread) & ~asks_again)


def _word(names: Ints, stop: Ints, begins: Ints, ends: Ints) -> Ints:
    """The word that most of the steps have."""
    if begins.size == 0:
        return names[:0]
    first, last = (np.searchsorted(stop, each, side="right") for each in (begins, ends))
    words = repetition.classes(names, first, last)
    usual = int(np.argmax(words == np.bincount(words).argmax()))
    return names[first[usual] : last[usual]]


def _by_phase(process: Process, rows: Ints, start: Ints) -> list[Ints]:
    """Rows of calls by their phase; each call lies in one."""
    begins = process.phases["start_ns"].to_numpy()
    edges = np.searchsorted(start[rows], begins)
    return [each for each in np.split(rows, edges) if each.size]


def _cut(names: Ints, stop: Ints, word: Ints) -> Cut:
    """Wherever the word is, from the return of the call before it to that of its last."""
    size = word.size
    places = np.arange(1, names.size - size + 1)
    if places.size == 0:
        return _joined(())
    classes = repetition.classes(
        np.concatenate([names, word]),
        np.append(places, names.size),
        np.append(places + size, names.size + size),
    )
    is_word = classes[:-1] == classes[-1]
    bounds, whole = list[int](), list[bool]()
    reached = 0  # behind the last call that is in a step
    for at in places[is_word].tolist():
        if at < reached:
            continue
        if not bounds or at > reached:
            if bounds:
                whole.append(False)
            bounds.append(int(stop[at - 1]))
        bounds.append(int(stop[at + size - 1]))
        whole.append(True)
        reached = at + size
    return Cut(np.array(bounds, np.int64), np.array(whole, bool))


def _joined(cuts: Iterator[Cut] | tuple[()]) -> Cut:
    """In time, with what lies between them as no step."""
    there = [each for each in cuts if each.bounds.size]
    if not there:
        return Cut(np.empty(0, np.int64), np.empty(0, bool))
    whole = [each for cut in there for each in (*cut.whole.tolist(), False)][:-1]
    return Cut(np.concatenate([each.bounds for each in there]), np.array(whole, bool))
