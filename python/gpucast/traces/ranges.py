"""NVTX ranges by name."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd

from gpucast.traces.trace import Process

_NUMBER = re.compile(r"[\s#:_-]*(\d+|\*)$")


def unnumbered(name: str) -> str:
    """A range's name without the number behind it: ``step`` of ``step 127``, and of ``step *``."""
    return _NUMBER.sub("", name) or name


def counted_ranges(process: Process) -> Counter[str]:
    """How many ranges there are of each name; numbered ones that come once count as ``step *``."""
    counts = Counter(process.name_of(each) for each in process.ranges["name"].to_numpy())
    found: Counter[str] = Counter()
    for name, count in counts.items():
        short = unnumbered(name)
        found[f"{name[: len(short)]} *" if count == 1 and short != name else name] += count
    return found


def named_ranges(process: Process, name: str) -> pd.DataFrame | None:
    """The ranges of a name, of the thread that has most of them, in time; None without any.

    Names that differ by a number only are one: ``ProfilerStep``, ``ProfilerStep#*`` and
    ``ProfilerStep#20`` name all of ``ProfilerStep#20``, ``ProfilerStep#21``, ..., but where there
    are several ranges of the very name, it names those. Ranges within one of the same name are
    left out.
    """
    names = process.names.items()
    ranges = process.ranges
    rows = ranges[ranges["name"].isin([number for number, text in names if text == name])]
    if len(rows) < 2:
        short = unnumbered(name)
        alike = [number for number, text in names if short in (text, unnumbered(text))]
        rows = ranges[ranges["name"].isin(alike)]
    if rows.empty:
        return None
    rows = rows[rows["thread"] == rows["thread"].mode().iloc[0]]
    rows = rows.sort_values(["start_ns", "end_ns"], ascending=[True, False], ignore_index=True)
    reached = rows["end_ns"].cummax().shift(fill_value=np.iinfo(np.int64).min)
    outer: pd.DataFrame = rows[rows["end_ns"] > reached].reset_index(drop=True)
    return outer
