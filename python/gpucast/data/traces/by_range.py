"""Steps that a program names by NVTX ranges."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd

from gpucast.data.traces.sequence import of_threads
from gpucast.data.traces.steps import ProcessSteps, steps_between
from gpucast.data.traces.trace import Process

_NUMBER = re.compile(r"[\s#:_-]*(\d+|\*)$")


def by_range(process: Process, at: int, name: str) -> ProcessSteps | None:
    """From each range's begin to the next one's: work between two ranges belongs to the first.

    None where fewer than two ranges have that name. ``at``: the process's place in the trace.
    """
    ranges = _named_ranges(process, name)
    if len(ranges) < 2:
        return None
    bounds = ranges["start_ns"].to_numpy()
    lengths = (ranges["end_ns"] - ranges["start_ns"]).to_numpy()
    # The last range is a step, too, where nothing comes between ranges.
    if np.median(np.diff(bounds) - lengths[:-1]) <= 0.02 * np.median(lengths):
        bounds = np.append(bounds, ranges["end_ns"].iloc[-1])
    shown = name if ranges["name"].nunique() == 1 else f"{_unnumbered(name)} *"
    how = f"range {shown!r}, {bounds.size - 1} times"
    thread = int(ranges["thread"].iloc[0])
    sequence = next((one for one in of_threads(process) if one.thread == thread), None)
    return steps_between(process, at, thread, sequence, bounds, how, named=True)


def counted_ranges(process: Process) -> Counter[str]:
    """How many ranges there are of each name; numbered ones that come once count as ``step *``."""
    by_name = Counter(process.name_of(number) for number in process.ranges["name"].to_numpy())
    counts: Counter[str] = Counter()
    for name, count in by_name.items():
        short = _unnumbered(name)
        counts[f"{name[: len(short)]} *" if count == 1 and short != name else name] += count
    return counts


def _unnumbered(name: str) -> str:
    """A range's name without the number behind it: ``step`` of ``step 127``, and of ``step *``."""
    return _NUMBER.sub("", name) or name


def _named_ranges(process: Process, name: str) -> pd.DataFrame:
    """The ranges of a name, of the thread that has most of them, in time.

    Names that differ by a number only are one: ``ProfilerStep``, ``ProfilerStep#*`` and
    ``ProfilerStep#20`` name all of ``ProfilerStep#20``, ``ProfilerStep#21``, ..., but where there
    are several ranges of the very name, it names those. Ranges within one of the same name are
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
