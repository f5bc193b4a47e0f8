"""Full phases of a recording whose work is not all there.

CUPTI may fail to record kernels after their kind was disabled and enabled again: the copies of one
program's last full phases were there, and none of its kernels. Such a phase tells nothing of what
the GPUs did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.traces import phases, waiting
from gpucast.traces.trace import Process

MOST_MISSING: Final = 0.05
"""Share of a full phase's calls without their work; more than that, and its steps do not count."""

_FEWEST = 20  # calls that ask for work; fewer tell nothing
_USUALLY = 0.5


def without_shared_numbers(process: Process) -> Process:
    """Without work and waits of numbers that several calls bear: whose they are is not known."""
    numbers = process.calls["correlation"]
    shared = numbers[numbers.duplicated(keep=False)]
    if shared.empty:
        return process
    work, waits = (
        table[~table["correlation"].isin(shared)].reset_index(drop=True)
        for table in (process.work, process.waits)
    )
    return replace(process, work=work, waits=waits, unnumbered=len(shared))


def checked_phases(process: Process) -> tuple[pd.DataFrame, int]:
    """The phases, those that lack work as such, and how many these are.

    Calls that ask for work are those of a name whose calls have work in most cases, in the full
    phase that has most of it: launches that a graph captures have none, as have failing calls.
    """
    calls = process.calls
    if process.phases.empty or calls.empty:
        return process.phases, _lacking(process.phases)
    starts, ends = (calls[name].to_numpy() for name in ("start_ns", "end_ns"))
    begins = process.phases["start_ns"].to_numpy()
    phase = np.searchsorted(begins, starts, side="right") - 1
    full = phases.of_spans(process, starts, ends) == phases.FULL
    counts = full & (calls["result"].to_numpy() == 0) & ~_captured(process)
    rows = waiting.calls_of(process, process.work["correlation"].to_numpy())
    has_work = np.zeros(len(calls), bool)
    has_work[rows[rows >= 0]] = True
    table = pd.DataFrame(
        {"name": calls["name"].to_numpy(), "phase": phase, "calls": 1, "with_work": has_work}
    )[counts]
    groups = table.groupby(["name", "phase"], as_index=False)[["calls", "with_work"]].sum()
    share = groups["with_work"] / groups["calls"]
    asks = share.groupby(groups["name"]).transform("max") > _USUALLY
    sums = groups[asks].groupby("phase")[["calls", "with_work"]].sum()
    lacking = (sums["calls"] >= _FEWEST) & (
        sums["calls"] - sums["with_work"] > MOST_MISSING * sums["calls"]
    )
    which = sums.index[lacking].to_numpy()
    if which.size == 0:
        return process.phases, _lacking(process.phases)
    kinds = process.phases["full"].to_numpy().copy()
    kinds[which] = phases.LACKING
    checked = process.phases.assign(full=kinds)
    return checked, _lacking(checked)


def _lacking(table: pd.DataFrame) -> int:
    return int((table["full"] == phases.LACKING).sum())


def _captured(process: Process) -> NDArray[np.bool_]:
    """Calls made while a stream was captured into a graph; then most launches do nothing."""
    calls = process.calls
    numbers = {
        word: [number for number, name in process.names.items() if name.endswith(word)]
        for word in ("StreamBeginCapture", "StreamEndCapture")
    }
    begun, ended = (calls["name"].isin(each).to_numpy() for each in numbers.values())
    open_captures = np.cumsum(begun.astype(np.int64) - ended.astype(np.int64))
    return np.asarray(open_captures > 0)
