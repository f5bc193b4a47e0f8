"""Steps by what a program asks again and again.

In the thread that asks for most of the GPUs' time, the call in which the host waits longest in all
ends a step. What lies between two of these waits is a part; parts that are equal, or nearly so (one
has something more), are of one kind. Where one kind makes up most of the parts and of the time,
each part is a step, and those with something more (every tenth step writes) are steps of another
kind; else the smallest number of parts after which the sequence repeats is a step, cut where the
host waits longest. A program that never waits is cut in the sequence of its calls, where the thread
pauses longest. Who knows better names a range or a kernel.

Found steps count only where there are at least five of a kind, with most of the GPUs' time.
Casas, Badia, Labarta (Euro-Par 2007) find periods by the autocorrelation of a signal in time; here
it is that of the calls, which neither noise in times nor waiting blurs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpucast.data.traces import repetition, waiting
from gpucast.data.traces.repetition import FEWEST_REPEATS
from gpucast.data.traces.sequence import Sequence, of_threads
from gpucast.data.traces.steps import NO_KIND, Ints, ProcessSteps, steps_between
from gpucast.data.traces.trace import Process

LEAST_SHARE = 0.8
"""Share of the GPUs' time between the first and the last step that must be in steps."""
LEAST_OF_REST = 0.5
"""The same of the time from the first step to the trace's end. What comes before is warm-up."""
USUAL = 0.7
"""Share of the parts that are of one kind where each part is a step."""
_WAITS_TRIED = 6
_THREADS_TRIED = 4
_AS_OFTEN = 0.25
"""A part that comes less often than this times the most frequent one comes now and then."""


def by_period(process: Process, at: int) -> ProcessSteps | None:
    """What repeats, or None; ``at``: the process's place in the trace."""
    for sequence in of_threads(process)[:_THREADS_TRIED]:
        if not sequence.gpu_ns.sum():
            break
        for wait in [*_longest_waits(sequence), None]:
            for ends in _readings(sequence, wait):
                if ends.size >= FEWEST_REPEATS:
                    steps = _steps(process, at, sequence, ends, wait)
                    if _counts(process, steps):
                        return steps
    return None


def _longest_waits(sequence: Sequence) -> list[int]:
    """Tokens in which the host waits, those that take longest in all first."""
    waits = sequence.waits != waiting.NOTHING
    tokens, taken = sequence.tokens[waits], (sequence.end_ns - sequence.start_ns)[waits]
    often = np.bincount(tokens) >= FEWEST_REPEATS
    order = np.argsort(-np.bincount(tokens, taken), kind="stable")
    return [int(token) for token in order if often[token]][:_WAITS_TRIED]


def _readings(sequence: Sequence, wait: int | None) -> Iterator[Ints]:
    """Which tokens end a step, in the order in which it is likely: some of those that wait.

    Where most parts between waits are of one kind, each that does all that this kind does ends a
    step, whatever else it does; parts of another kind go to the step after them. Or parts
    alternate, and several make a step; what comes now and then counts as the usual kind if it
    nearly is.
    """
    if wait is None:
        pauses = np.append(sequence.start_ns[1:] - sequence.end_ns[:-1], 0)
        ends = repetition.rhythm(sequence.tokens, pauses.astype(float))
        yield from [] if ends is None else [ends]
        return
    lasts = np.flatnonzero(sequence.tokens == wait)
    begins, ends = np.append(-1, lasts[:-1]) + 1, lasts + 1
    tokens, first, last = sequence.essence(begins, ends)
    kinds, examples, counts = repetition.ranked(tokens, first, last)
    often = int(np.count_nonzero(counts >= _AS_OFTEN * counts[0]))
    rare, stands_for = np.arange(often, counts.size), np.arange(counts.size)
    for kind in range(often):
        nearly = repetition.similar(tokens, first, last, examples[kind], examples[rare])
        stands_for[rare[nearly]] = kind
        rare = rare[~nearly]
    kinds = stands_for[kinds]
    usual = int(np.bincount(kinds).argmax())
    are_usual = kinds == usual
    others = np.unique(kinds[~are_usual])
    more = repetition.containing(tokens, first, last, examples[usual], examples[others])
    alone = [lasts[are_usual | np.isin(kinds, others[more])]]
    weights = (sequence.end_ns - sequence.start_ns)[lasts].astype(float)
    places = repetition.rhythm(kinds, weights)
    several = [] if places is None else [lasts[places]]
    # The first part holds all that the program did before.
    if np.mean(are_usual[1:]) < USUAL:
        yield from several
        return
    # Where other parts take most of the time, or launch all there is, what they end is rather the
    # step. (Where steps begin does not change with what times them, now and then.)
    launched = np.concatenate([[0], np.cumsum(sequence.launches)])
    launches = launched[ends] > launched[begins]
    seconds = (sequence.end_ns[lasts] - sequence.start_ns[begins])[1:]
    likely = (launches[examples[usual]] or not launches.any()) and (
        seconds[are_usual[1:]].sum() >= 0.5 * seconds.sum()
    )
    yield from alone + several if likely else several + alone


def _steps(
    process: Process, at: int, sequence: Sequence, ends: Ints, wait: int | None
) -> ProcessSteps:
    """Steps that end with these tokens: where the wait is over, or the next call begins.

    What comes before the first end is warm-up and a step, which is taken to have as many calls as
    most.
    """
    length = int(np.bincount(np.diff(ends)).argmax())
    ends = np.append(max(ends[0] - length, -1), ends)
    ended = np.append(sequence.start_ns[1:], sequence.end_ns[-1])
    if wait is not None:
        ended = sequence.end_ns
    bounds = np.append(ended, sequence.start_ns[0])[ends]  # -1: from the first call on

    steps = steps_between(process, at, sequence.thread, sequence, bounds, "")
    if steps.kind[0] == NO_KIND:  # warm-up
        bounds, ends = bounds[1:], ends[1:]
        steps = steps_between(process, at, sequence.thread, sequence, bounds, "")
    usual = int(np.median(np.diff(ends)[steps.kind == 0]))
    other_calls = steps.call_step[process.calls["thread"].to_numpy() != steps.thread]
    others = np.bincount(other_calls[other_calls >= 0], minlength=steps.count)
    beside = int(np.median(others[steps.kind == 0]))
    of_others = f" of one thread ({beside} of others beside them)" if beside else ""
    call = process.name_of(sequence.name[ends[-1]])
    where = "cut at a pause of the thread" if wait is None else f"ends where {call} waits"
    how = f"{usual} call{'s' * (usual != 1)}{of_others} that repeat, {where}"
    if ends[0] == -1 and steps.count > FEWEST_REPEATS:
        # What the host did before its first call of all is not known.
        steps.kept[0] = False
    return replace(steps, how=how)


def _counts(process: Process, steps: ProcessSteps) -> bool:
    """Whether the steps are enough of a kind and hold enough of the GPUs' time."""
    work = process.work
    taken = (work["end_ns"] - work["start_ns"]).to_numpy().astype(float)
    regular = taken[np.isin(steps.work_step, np.flatnonzero(steps.kind >= 0))].sum()
    between = taken[steps.work_step >= 0].sum()
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    called, started = process.calls["start_ns"].to_numpy(), work["start_ns"].to_numpy()
    rest = taken[np.where(rows >= 0, called[rows], started) >= steps.begins_ns[0]].sum()
    enough = np.count_nonzero(steps.kind == 0) >= FEWEST_REPEATS
    return bool(enough and regular >= max(LEAST_SHARE * between, LEAST_OF_REST * rest, 1))
