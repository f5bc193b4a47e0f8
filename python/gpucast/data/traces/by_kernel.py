"""Steps that begin where a kernel is launched, whose name the user gives.

Which kernel a launch starts, light phases do not hold. What most steps of full phases call is their
word: the names of the calls in their order. Where that word stands in a light phase, a step is. If
all its names are the same, the step may be taken to begin at any of its calls, which makes it
neither longer nor shorter in the mean.

Steps of several kinds may have words that hold one another. So the same cut is made in full phases,
and light ones count only where it gives steps there as long as they are known to be.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpucast.data.traces import phases, repetition, tables, waiting
from gpucast.data.traces.sequence import Sequence, of_threads
from gpucast.data.traces.steps import Ints, ProcessSteps, steps_between
from gpucast.data.traces.trace import Process
from gpucast.data.traces.work_names import short

SAME: Final = 0.05
"""Share by which the median of steps of full phases, cut again, may lie beside their quartiles."""


def by_kernel(process: Process, at: int, kernel: str) -> ProcessSteps | None:
    """From each launch of a kernel to the next one, of the thread that launches it most.

    None where it is launched less than twice. ``kernel``: what its name has in it; ``at``: the
    process's place in the trace.
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
    return steps_between(
        process, at, thread, sequence, bounds, how, are_steps=are_steps, named=True
    )


def _light_steps(
    process: Process, sequence: Sequence, begins: Ints, ends: Ints
) -> tuple[Ints, Ints]:
    """Begins and ends of the steps of light phases, ns; none where the word does not tell.

    Args:
        begins, ends: of steps of full phases, ns.
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
