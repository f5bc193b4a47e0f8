"""Steps by what a program asks again and again.

In the thread that asks for most of the GPUs' time, the call in which the host waits longest in all
ends a step. What lies between two of these waits is a part; parts that are equal, or nearly so (one
has something more), are of one kind. Where one kind makes up most of the parts and of the time,
each part is a step, and those with something more (every tenth step writes) are steps of another
kind; else the smallest number of parts after which the sequence repeats is a step, cut where the
host waits longest. A program that never waits is cut in the sequence of its calls, where the thread
pauses longest.

Found steps count only where there are at least five of a kind, with most of the GPUs' time.
Casas, Badia, Labarta (Euro-Par 2007) find periods by the autocorrelation of a signal in time; here
it is that of the calls, which neither noise in times nor waiting blurs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpucast.traces import repetition, waiting
from gpucast.traces.repetition import FEWEST_REPEATS, Rhythm
from gpucast.traces.sequence import Sequence, of_threads
from gpucast.traces.step_making import KINDS_COMPARED, kinds_of, steps_between
from gpucast.traces.steps import NO_KIND, Ints, ProcessSteps
from gpucast.traces.trace import Process

LEAST_SHARE = 0.8
"""Of the GPUs' time between the first and the last step, that is in steps."""
LEAST_OF_REST = 0.5
"""Of the GPUs' time from the first step to the trace's end. What comes before is warm-up."""
USUAL = 0.7
"""Share of the parts that are of one kind where each part is a step."""
_WAITS_TRIED = 6
_THREADS_TRIED = 4
_KINDS_COMPARED_WITH = 16
_AS_OFTEN = 0.25
"""A part that comes less often than this times the most frequent one comes now and then."""


def by_repetition(process: Process, at: int) -> ProcessSteps | None:
    """What repeats, or None; ``at``: the process's place in the trace."""
    waits = waiting.of_calls(process)
    for sizes in (True, False):  # bytes of copies may follow the data
        for sequence in of_threads(process, waits, sizes=sizes)[:_THREADS_TRIED]:
            if sequence.gpu_ns.sum() == 0:
                break
            for token in [*_longest_waits(sequence), None]:
                found = _cut(process, at, sequence, token)
                if found is not None:
                    return found
    return None


def _longest_waits(sequence: Sequence) -> list[int]:
    """Tokens in which the host waits, those that take longest in all first."""
    waits = sequence.waits != waiting.NOTHING
    taken = np.bincount(
        sequence.tokens[waits], (sequence.end_ns - sequence.start_ns)[waits].astype(float)
    )
    often = np.bincount(sequence.tokens[waits], minlength=taken.size) >= FEWEST_REPEATS
    order = np.argsort(-taken, kind="stable")
    return [int(token) for token in order if often[token]][:_WAITS_TRIED]


def _cut(process: Process, at: int, sequence: Sequence, token: int | None) -> ProcessSteps | None:
    """Steps that end at some of the calls of a token; at any call where it is None."""
    size = sequence.tokens.size
    lasts = np.arange(size) if token is None else np.flatnonzero(sequence.tokens == token)
    if lasts.size < FEWEST_REPEATS:
        return None
    # Pauses of a thread that never waits; else how long it waits.
    pause = np.append(sequence.start_ns[1:] - sequence.end_ns[:-1], 0)
    length = pause if token is None else sequence.end_ns - sequence.start_ns
    weights = np.asarray(length[lasts], np.float64)
    readings = (
        [repetition.rhythm(sequence.tokens, weights)]
        if token is None
        else _readings(sequence, np.append(-1, lasts[:-1]) + 1, lasts + 1, weights)
    )
    for reading in readings:
        if reading is not None and reading.lasts.size >= FEWEST_REPEATS:
            found = _accepted(process, _between(process, at, sequence, lasts[reading.lasts], token))
            if found is not None:
                return found
    return None


def _between(
    process: Process, at: int, sequence: Sequence, ends: Ints, token: int | None
) -> ProcessSteps:
    """Steps whose last tokens are these."""
    first, edges = _first_bound(sequence, ends, token)
    bounds = np.concatenate([[first], _cuts(sequence, ends, token)])
    kinds = kinds_of(sequence.tokens, edges[:-1], edges[1:])
    if kinds[0] == NO_KIND:  # warm-up
        bounds, edges, kinds = bounds[1:], edges[1:], kinds[1:]
    usual = int(np.median((edges[1:] - edges[:-1])[kinds == 0]))
    call = process.name_of(process.calls["name"].iloc[int(sequence.first[ends[-1]])])
    where = "cut at a pause of the thread" if token is None else f"ends where {call} waits"
    made = steps_between(process, at, sequence.thread, bounds, kinds, "")
    others = _calls_of_others(process, made)
    beside = f" of one thread ({others} of others beside them)" if others else ""
    times = f"{usual} call{'s' * (usual != 1)}{beside} that repeat, {where}"
    made = replace(made, how=times)
    if edges[0] == 0 and made.count > FEWEST_REPEATS:
        # What the host did before its first call of all is not known.
        made.kept[0] = False
    return made


def _calls_of_others(process: Process, steps: ProcessSteps) -> int:
    """Of threads that do not drive the steps, in the usual one."""
    others = (process.calls["thread"] != steps.thread).to_numpy() & (steps.call_step >= 0)
    counts = np.bincount(steps.call_step[others], minlength=steps.count)
    return int(np.median(counts[steps.kind == 0])) if (steps.kind == 0).any() else 0


def _readings(
    sequence: Sequence, begins: Ints, ends: Ints, weights: NDArray[np.float64]
) -> Iterator[Rhythm | None]:
    """Which parts between waits end a step, in the order in which it is likely.

    Where most are of one kind, each that does all that this kind does ends a step, whatever else
    it does; parts of another kind go to the step after them. Or parts alternate, and several make
    a step; what comes now and then counts as the frequent kind that it nearly is.
    """
    # Where steps begin does not change with what times them, now and then.
    seconds = (sequence.end_ns[ends - 1] - sequence.start_ns[begins])[1:]
    launched = np.concatenate([[0], np.cumsum(sequence.launches)])
    launches = launched[ends] > launched[begins]
    tokens, begins, ends = sequence.essence(begins, ends)
    kinds = repetition.classes(tokens, begins, ends)
    _, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    often = int(np.count_nonzero(counts >= counts.max() * _AS_OFTEN))
    rare = order[often:][:KINDS_COMPARED]
    stands_for = np.arange(counts.size)
    for usual in order[: min(often, _KINDS_COMPARED_WITH)]:
        alike = repetition.similar(tokens, begins, ends, int(first[usual]), first[rare])
        stands_for[rare[alike]] = usual
        rare = rare[~alike]
    merged = stands_for[kinds]
    usual = int(np.bincount(merged).argmax())
    of_usual = merged == usual
    # The first part holds all that the program did before.
    if np.mean(of_usual[1:]) < USUAL:
        yield repetition.rhythm(merged, weights)
        return
    others = order[stands_for[order] != usual][:KINDS_COMPARED]
    more = repetition.containing(tokens, begins, ends, int(first[usual]), first[others])
    each = Rhythm(1, np.flatnonzero(of_usual | np.isin(kinds, others[more])))
    # Where the others take most of the time, or launch all there is, what they end is rather the
    # step.
    launching = launches[first[usual]] or not launches.any()
    if launching and seconds[of_usual[1:]].sum() >= 0.5 * seconds.sum():
        yield each
    else:
        yield repetition.rhythm(merged, weights)
        yield each


def _first_bound(sequence: Sequence, ends: Ints, token: int | None) -> tuple[int, Ints]:
    """Where the first step begins, and the edges of all steps in the sequence.

    What comes before the first end is warm-up and a step, which is taken to have as many calls as
    most.
    """
    length = int(np.bincount(np.diff(ends)).argmax())
    begin = max(0, int(ends[0]) + 1 - length)
    edges = np.concatenate([[begin], ends + 1])
    if begin > 0:
        return int(_cuts(sequence, np.array([begin - 1]), token)[0]), edges
    return int(sequence.start_ns[begin]), edges


def _cuts(sequence: Sequence, ends: Ints, token: int | None) -> Ints:
    """The times at which steps end: when a wait is over, or the next call begins."""
    if token is not None:
        return sequence.end_ns[ends]
    following = np.minimum(ends + 1, sequence.tokens.size - 1)
    return np.where(
        ends + 1 < sequence.tokens.size, sequence.start_ns[following], sequence.end_ns[ends]
    )


def _accepted(process: Process, steps: ProcessSteps) -> ProcessSteps | None:
    """The steps, if they are enough of a kind and hold enough of the GPUs' time."""
    if np.count_nonzero(steps.kind == 0) < FEWEST_REPEATS:
        return None
    taken = (process.work["end_ns"] - process.work["start_ns"]).to_numpy().astype(float)
    regular = taken[np.isin(steps.work_step, np.flatnonzero(steps.kind >= 0))].sum()
    between = taken[steps.work_step >= 0].sum()
    rows = waiting.calls_of(process, process.work["correlation"].to_numpy())
    asked = np.where(
        rows >= 0, process.calls["start_ns"].to_numpy()[rows], process.work["start_ns"].to_numpy()
    )
    rest = taken[asked >= steps.begins_ns[0]].sum()
    if regular == 0 or regular < LEAST_SHARE * between or regular < LEAST_OF_REST * rest:
        return None
    return steps
