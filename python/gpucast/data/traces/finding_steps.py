"""Detection of steps in a trace: by a named range, by a kernel that begins them, or by repetition.

**By a kernel.** Light phases do not record which kernel a launch starts. The sequence of call names
that most steps of full phases have is the pattern of a step, and each occurrence of the pattern in
a light phase is a step. If all its names are equal, the step may begin at any of its calls, which
does not change its mean length. Patterns of several kinds of steps may contain each other.
Therefore full phases are also cut by the pattern, and light ones count only if this cut gives the
known lengths of steps.

**By repetition.** In the thread that launches most of the GPUs' time, the call with the longest
total wait of the host ends a step. The calls between two of these waits are a part; parts that are
equal, or nearly so (one has additional calls), are of one kind. If one kind makes up most of the
parts and of the time, each part is a step, and those with additional calls (every tenth step
writes) are steps of another kind; otherwise the smallest number of parts after which the sequence
repeats is a step, cut where the host waits longest. A program that never waits is cut in the
sequence of its calls, where the thread pauses longest. Users can name a range or a kernel instead.

Repeating steps count only if there are at least five of a kind, with most of the GPUs' time. Casas,
Badia, Labarta (Euro-Par 2007) find periods by the autocorrelation of a signal in time; here it
is that of the calls, which noise in times and waiting do not affect.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from gpucast.data.traces import phases, repetition, tables, waiting
from gpucast.data.traces.repetition import FEWEST_REPEATS
from gpucast.data.traces.sequence import Sequence, of_threads
from gpucast.data.traces.steps import NO_KIND, Ints, ProcessSteps, Steps, steps_between
from gpucast.data.traces.trace import Process, Trace
from gpucast.data.traces.work_names import short
from gpucast.errors import InputError

KERNEL = "kernel:"
"""Prefix of a kernel's name in place of the name of a range."""


def find_steps(trace: Trace, range_name: str | None = None) -> Steps:
    """Return the steps of each process that uses a GPU.

    Args:
        range_name: name of the NVTX ranges that are steps, without a number at its end.
            ``kernel:NAME``: a step lasts from one launch of a kernel whose name contains NAME to
            the next.

    Raises:
        InputError: no range has this name, or no step repeats; the message has the remedy.
    """

    def steps_of(process: Process) -> ProcessSteps | None:
        if range_name is None:
            return by_period(process)
        if range_name.startswith(KERNEL):
            return by_kernel(process, range_name.removeprefix(KERNEL))
        return by_range(process, range_name)

    steps = [
        replace(own, process=at)
        for at, own in enumerate(map(steps_of, trace.processes))
        if own is not None
    ]
    if steps:
        return Steps(tuple(steps))
    ranges = sum((counted_ranges(process) for process in trace.processes), Counter[str]())
    if range_name is None:
        raise InputError(_none_repeats(trace, ranges), file=trace.file or None)
    if range_name.startswith(KERNEL):
        known = _counted(_kernels(trace)) or "none"
        message = f"no kernel of that name is launched twice; there are {known}"
    elif ranges:
        message = f"no two ranges of that name; there are {_counted(ranges)}"
    else:
        message = "the trace has no NVTX ranges"
    raise InputError(message, file=trace.file or None, field=f"--range {range_name}")


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"{name!r} ({count})" for name, count in names.most_common(5))


def _kernels(trace: Trace) -> Counter[str]:
    return Counter(
        short(process.name_of(number))
        for process in trace.processes
        for number in process.work["name"][process.work["kind"] == tables.KERNEL].to_numpy()
    )


def _none_repeats(trace: Trace, ranges: Counter[str]) -> str:
    if not any(len(process.work) for process in trace.processes):
        return "no GPU did any work in this trace"
    kernels = Counter({f"{KERNEL}{name}": count for name, count in _kernels(trace).items()})
    named = [name for name, count in (ranges or kernels).most_common(1) if count >= 2]
    hint = f"; --range {named[0]!r}, for instance" if named else ""
    return (
        f"no repeating step: fewer than {FEWEST_REPEATS} repeats with most of the GPUs' time; "
        "record more steps, or define a step by --range NAME (an NVTX range) or --range "
        f"kernel:NAME (from one launch of that kernel to the next){hint}"
    )


SAME: Final = 0.05
"""Share by which the median of full-phase steps, cut again, may lie outside their quartiles."""


def by_kernel(process: Process, kernel: str) -> ProcessSteps | None:
    """Return steps from each launch of a kernel to the next, in the thread that launches it most.

    None if it is launched less than twice. ``kernel``: a part of its name.
    """
    names = process.names.items()
    numbers = [number for number, name in names if kernel in name or kernel in short(name)]
    work = process.work
    own = work[(work["kind"] == tables.KERNEL) & work["name"].isin(numbers)]
    rows = np.unique(waiting.calls_of(process, own["correlation"].to_numpy()))
    rows = rows[rows >= 0]
    if rows.size < 2:
        return None
    threads = process.calls["thread"].to_numpy()[rows]
    thread = int(np.bincount(threads).argmax())
    launched = process.calls["start_ns"].to_numpy()[rows[threads == thread]]
    whole = phases.of_spans(process, launched[:-1], launched[1:]) == phases.FULL
    begins, ends = launched[:-1][whole], launched[1:][whole]
    sequence = next(one for one in of_threads(process) if one.thread == thread)
    if begins.size and phases.has_light(process):
        light_begins, light_ends = _light_steps(process, sequence, begins, ends)
        begins, ends = np.append(begins, light_begins), np.append(ends, light_ends)
    how = f"from one launch of {kernel} to the next, {launched.size - 1} times"
    bounds = np.union1d(begins, ends) if begins.size else launched
    are_steps = np.isin(bounds[:-1], begins)
    return steps_between(process, thread, sequence, bounds, how, are_steps=are_steps, named=True)


def _light_steps(
    process: Process, sequence: Sequence, begins: Ints, ends: Ints
) -> tuple[Ints, Ints]:
    """Return starts and ends of the steps of light phases (ns); none if the pattern is ambiguous.

    Args:
        begins, ends: those of steps of full phases, ns.
    """
    tokens, start_ns = sequence.tokens, sequence.start_ns
    first, last = np.searchsorted(start_ns, begins), np.searchsorted(start_ns, ends)
    numbers, examples, _ = repetition.ranked(tokens, first, last)
    word = tokens[first[examples[0]] : last[examples[0]]]
    windows = np.arange(tokens.size - word.size)
    stretches = repetition.classes(
        np.append(tokens, word),
        np.append(windows, tokens.size),
        np.append(windows + word.size, tokens.size + word.size),
    )
    places: list[int] = []
    for place in np.flatnonzero(stretches[:-1] == stretches[-1]).tolist():
        if not places or place >= places[-1] + word.size:
            places.append(place)
    here = np.array(places, np.int64)
    found_begins, found_ends = start_ns[here], start_ns[here + word.size]
    phase = phases.of_spans(process, found_begins, found_ends)
    again = (found_ends - found_begins)[phase == phases.FULL]
    low, high = np.quantile((ends - begins)[numbers == 0], [0.25, 0.75])
    tells = again.size and (1 - SAME) * low <= np.median(again) <= (1 + SAME) * high
    light = (phase == phases.LIGHT) & bool(tells)
    return found_begins[light], found_ends[light]


_NUMBER = re.compile(r"[\s#:_-]*(\d+|\*)$")


def by_range(process: Process, name: str) -> ProcessSteps | None:
    """Return steps from the start of each range to that of the next: work between two ranges
    belongs to the first.

    None if fewer than two ranges have that name.
    """
    ranges = _named_ranges(process, name)
    if len(ranges) < 2:
        return None
    bounds = ranges["start_ns"].to_numpy()
    lengths = (ranges["end_ns"] - ranges["start_ns"]).to_numpy()
    # If nothing lies between ranges, the last range is a step as well.
    if np.median(np.diff(bounds) - lengths[:-1]) <= 0.02 * np.median(lengths):
        bounds = np.append(bounds, ranges["end_ns"].iloc[-1])
    shown = name if ranges["name"].nunique() == 1 else f"{_unnumbered(name)} *"
    how = f"range {shown!r}, {bounds.size - 1} times"
    thread = int(ranges["thread"].iloc[0])
    sequence = next((one for one in of_threads(process) if one.thread == thread), None)
    return steps_between(process, thread, sequence, bounds, how, named=True)


def counted_ranges(process: Process) -> Counter[str]:
    """Return the number of ranges of each name; numbered ones that occur once count as ``step
    *``."""
    by_name = Counter(process.name_of(number) for number in process.ranges["name"].to_numpy())
    counts: Counter[str] = Counter()
    for name, count in by_name.items():
        short = _unnumbered(name)
        counts[f"{name[: len(short)]} *" if count == 1 and short != name else name] += count
    return counts


def _unnumbered(name: str) -> str:
    """Return a range's name without a number at its end: ``step`` for ``step 127``, ``step *``."""
    return _NUMBER.sub("", name) or name


def _named_ranges(process: Process, name: str) -> pd.DataFrame:
    """Return the ranges of a name, in the thread that has most of them, in order of time.

    Names that differ only in a number are equal: ``ProfilerStep``, ``ProfilerStep#*`` and
    ``ProfilerStep#20`` all name ``ProfilerStep#20``, ``ProfilerStep#21``, ..., unless several
    ranges have exactly the given name, which are then meant. Ranges inside one of the same name are
    left out.
    """
    names = process.names.items()
    rows = process.ranges
    own = rows[rows["name"].isin([number for number, text in names if text == name])]
    if len(own) < 2:
        short = _unnumbered(name)
        numbers = [number for number, text in names if short in (text, _unnumbered(text))]
        own = rows[rows["name"].isin(numbers)]
    own = own[own["thread"].isin(own["thread"].mode()[:1])]
    own = own.sort_values(["start_ns", "end_ns"], ascending=[True, False], ignore_index=True)
    reached = own["end_ns"].cummax().shift(fill_value=np.iinfo(np.int64).min)
    outer: pd.DataFrame = own[own["end_ns"] > reached]
    return outer


LEAST_SHARE = 0.8
"""Share of the GPUs' time between the first and the last step that must be in steps."""
LEAST_OF_REST = 0.5
"""The same for the time from the first step to the end of the trace; the time before is warm-up."""
USUAL = 0.7
"""Each part is a step if this share of the parts is of one kind."""
_WAITS_TRIED = 6
_THREADS_TRIED = 4
_AS_OFTEN = 0.25
"""A part is occasional if it occurs less often than this multiple of the most frequent one."""


def by_period(process: Process) -> ProcessSteps | None:
    """Return the steps that repeat, or None."""
    for sequence in of_threads(process)[:_THREADS_TRIED]:
        if not sequence.gpu_ns.sum():
            break
        for wait in [*_longest_waits(sequence), None]:
            for ends in _readings(sequence, wait):
                if ends.size >= FEWEST_REPEATS:
                    steps = _steps(process, sequence, ends, wait)
                    if _counts(process, steps):
                        return steps
    return None


def _longest_waits(sequence: Sequence) -> list[int]:
    """Return tokens in which the host waits, sorted by total time, longest first."""
    waits = sequence.waits != waiting.NOTHING
    tokens, taken = sequence.tokens[waits], (sequence.end_ns - sequence.start_ns)[waits]
    often = np.bincount(tokens) >= FEWEST_REPEATS
    order = np.argsort(-np.bincount(tokens, taken), kind="stable")
    return [int(token) for token in order if often[token]][:_WAITS_TRIED]


def _readings(sequence: Sequence, wait: int | None) -> Iterator[Ints]:
    """Yield sets of waiting tokens that may end a step, the most probable first.

    If most parts between waits are of one kind, each part that contains the calls of this kind ends
    a step, whatever else it has; parts of another kind belong to the next step. Otherwise parts
    alternate, and several make a step; occasional parts count as the usual kind if they are
    similar.
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
    # The first part contains everything before.
    if np.mean(are_usual[1:]) < USUAL:
        yield from several
        return
    # If other parts take most of the time, or have all launches, steps rather end with them.
    # (Occasional timing calls do not change where steps begin.)
    launched = np.concatenate([[0], np.cumsum(sequence.launches)])
    launches = launched[ends] > launched[begins]
    seconds = (sequence.end_ns[lasts] - sequence.start_ns[begins])[1:]
    likely = (launches[examples[usual]] or not launches.any()) and (
        seconds[are_usual[1:]].sum() >= 0.5 * seconds.sum()
    )
    yield from alone + several if likely else several + alone


def _steps(process: Process, sequence: Sequence, ends: Ints, wait: int | None) -> ProcessSteps:
    """Return the steps that end with these tokens: at the wait's end, or when the next call starts.

    Before the first end there are warm-up and one step, which is assumed to have as many calls as
    most.
    """
    length = int(np.bincount(np.diff(ends)).argmax())
    ends = np.append(max(ends[0] - length, -1), ends)
    ended = np.append(sequence.start_ns[1:], sequence.end_ns[-1])
    if wait is not None:
        ended = sequence.end_ns
    bounds = np.append(ended, sequence.start_ns[0])[ends]  # -1: from the first call on

    steps = steps_between(process, sequence.thread, sequence, bounds, "")
    if steps.kind[0] == NO_KIND:  # warm-up
        bounds, ends = bounds[1:], ends[1:]
        steps = steps_between(process, sequence.thread, sequence, bounds, "")
    usual = int(np.median(np.diff(ends)[steps.kind == 0]))
    other_calls = steps.call_step[process.calls["thread"].to_numpy() != steps.thread]
    others = np.bincount(other_calls[other_calls >= 0], minlength=steps.count)
    beside = int(np.median(others[steps.kind == 0]))
    of_others = f" of one thread ({beside} of others beside them)" if beside else ""
    call = process.name_of(sequence.name[ends[-1]])
    where = "cut at a pause of the thread" if wait is None else f"ends where {call} waits"
    how = f"{usual} call{'s' * (usual != 1)}{of_others} that repeat, {where}"
    if ends[0] == -1 and steps.count > FEWEST_REPEATS:
        # The time of the host before its first call is not known.
        steps.kept[0] = False
    return replace(steps, how=how)


def _counts(process: Process, steps: ProcessSteps) -> bool:
    """Return whether there are enough steps of a kind, with enough of the GPUs' time."""
    work = process.work
    taken = (work["end_ns"] - work["start_ns"]).to_numpy().astype(float)
    regular = taken[np.isin(steps.work_step, np.flatnonzero(steps.kind >= 0))].sum()
    between = taken[steps.work_step >= 0].sum()
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    called, started = process.calls["start_ns"].to_numpy(), work["start_ns"].to_numpy()
    rest = taken[np.where(rows >= 0, called[rows], started) >= steps.begins_ns[0]].sum()
    enough = np.count_nonzero(steps.kind == 0) >= FEWEST_REPEATS
    return bool(enough and regular >= max(LEAST_SHARE * between, LEAST_OF_REST * rest, 1))
