"""NVTX ranges by name."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from gpucast.traces.trace import Process

_NUMBER = re.compile(r"[\s#:_-]*\d+$")


def named_ranges(process: Process, name: str) -> pd.DataFrame | None:
    """The ranges of a name, of the thread that has most of them, in time; None without any.

    ``ProfilerStep`` also names ``ProfilerStep#20``. Ranges within one of the same name are left
    out.
    """
    names = process.names.items()
    numbers = [number for number, text in names if name in (text, _NUMBER.sub("", text))]
    rows = process.ranges[process.ranges["name"].isin(numbers)]
    if rows.empty:
        return None
    rows = rows[rows["thread"] == rows["thread"].mode().iloc[0]]
    rows = rows.sort_values(["start_ns", "end_ns"], ascending=[True, False], ignore_index=True)
    reached = rows["end_ns"].cummax().shift(fill_value=np.iinfo(np.int64).min)
    outer: pd.DataFrame = rows[rows["end_ns"] > reached].reset_index(drop=True)
    return outer
