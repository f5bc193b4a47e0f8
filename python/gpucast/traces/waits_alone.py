"""Steps of light phases that hold no calls but those in which the host may wait.

What a step is, the full phases tell. Of its calls, light phases hold some, its word: their names in
their order; of queries, those that found the work done. Where that word is in a light phase, a step
is; it begins and ends where a call of the word returns. Several words in a row are told apart by
their order alone: where all their names are the same, a step may be taken to begin at any of its
waits, which makes it neither longer nor shorter in the mean.

Steps of several kinds may have words that hold one another. So the same cut is made in full phases,
and light ones count only where it gives steps there as long as they are known to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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


def full_part(process: Process) -> Process:
    """What was recorded in full phases, as if that were all."""
    calls = process.calls
    within = phases.of_spans(process, calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy())
    others = calls.loc[within != phases.FULL, "correlation"]
    work = process.work[~process.work["correlation"].isin(others)]
    return replace(
        process,
        calls=calls[within == phases.FULL].reset_index(drop=True),
        work=work.reset_index(drop=True),
        phases=process.phases.iloc[:0],
    )


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
    held = _held(process, thread)
    word = _word(names[held], stop[held], begins, ends)
    if word.size == 0:
        return None
    found = {
        kind: _joined(
            _cut(names[rows], stop[rows], word)
            for rows in _by_phase(process, held[kinds[held] == kind], start)
        )
        for kind in (phases.FULL, phases.LIGHT)
    }
    again = found[phases.FULL].steps_ns
    low, high = np.quantile(ends - begins, [0.25, 0.75])
    if not again.size or not (1 - SAME) * low <= np.median(again) <= (1 + SAME) * high:
        return None
    light = found[phases.LIGHT]
    return light if light.whole.any() else None


def words_of(process: Process, thread: int, bounds: Ints) -> Ints:
    """A number for the word of each step between these bounds: equal for equal words."""
    calls = process.calls
    names, stop = calls["name"].to_numpy(np.int64), calls["end_ns"].to_numpy()
    held = _held(process, thread)
    edges = np.searchsorted(stop[held], bounds, side="right")
    return repetition.classes(names[held], edges[:-1], edges[1:])


def _held(process: Process, thread: int) -> Ints:
    """Rows of a thread's calls, in any phase, of the names that phases of waits alone hold; that
    light phases hold, where there are none of waits alone."""
    calls = process.calls
    names = calls["name"].to_numpy(np.int64)
    queries = [number for number, text in process.names.items() if text.endswith("Query")]
    own = calls["thread"].to_numpy() == thread
    own &= ~(np.isin(names, queries) & (calls["result"].to_numpy() == NOT_READY))
    # Other light phases may hold all calls.
    kind = phases.WAITS if phases.has_some_calls(process) else phases.LIGHT
    alone = replace(process, phases=process.phases[process.phases["full"] == kind])
    spans = (calls[name].to_numpy() for name in ("start_ns", "end_ns"))
    within = phases.of_spans(alone, *spans) == phases.LIGHT
    return np.flatnonzero(own & np.isin(names, np.unique(names[own & within])))


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
