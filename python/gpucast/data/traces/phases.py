"""Phases of a recording: full ones, and light ones in which only calls were recorded.

Recording a kernel or copy takes longer than recording a call. Times in light phases are nearly
those without a recorder; the work of the GPUs is known from full ones.

CUPTI may fail to record kernels after their kind was disabled and enabled again: the last full
phases of one program had its copies, but none of its kernels. The work of the GPUs in such a phase
is unknown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.data.traces import waiting
from gpucast.data.traces.trace import Process

LIGHT: Final = 0
FULL: Final = 1
LACKING: Final = 2
"""Kind in the table only: a full phase without records of kernels."""
KNOWN: Final = (LIGHT, FULL, LACKING)
"""Kinds that a table may have."""
BETWEEN: Final = -1
"""The span is not within one phase, or within one that is neither full nor light."""

MOST_MISSING: Final = 0.05
"""Steps of a full phase do not count if a larger share of its calls lacks their work."""

_FEWEST = 20  # calls that launch work; fewer are not sufficient
_USUALLY = 0.5


def has_light(process: Process) -> bool:
    """Return whether the work of some calls was not recorded."""
    return bool((process.phases["full"] != FULL).any())


def of_spans(
    process: Process, start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]
) -> NDArray[np.int8]:
    """Return FULL, LIGHT or BETWEEN for each span of the host's time. Without phases all are
    FULL."""
    phases = process.phases
    if phases.empty:
        return np.full(start_ns.size, FULL, np.int8)
    begins, ends = phases["start_ns"].to_numpy(), phases["end_ns"].to_numpy()
    at = np.searchsorted(begins, start_ns, side="right") - 1
    within = (at >= 0) & (end_ns <= ends[at])
    kinds = phases["full"].to_numpy()[at].astype(np.int8)
    return np.where(within & (kinds != LACKING), kinds, BETWEEN).astype(np.int8)


def checked(process: Process) -> Process:
    """Return the reliable part of a process: work and waits whose number belongs to several calls
    are left out, and phases that lack work are marked."""
    numbers = process.calls["correlation"]
    shared = numbers[numbers.duplicated(keep=False)]
    work, waits = (
        table[~table["correlation"].isin(shared)].reset_index(drop=True)
        for table in (process.work, process.waits)
    )
    process = replace(process, work=work, waits=waits, unnumbered=len(shared))
    kinds = process.phases["full"].to_numpy().copy()
    if not process.calls.empty and kinds.size:
        kinds[_lacking(process)] = LACKING
    return replace(
        process,
        phases=process.phases.assign(full=kinds),
        lacking_phases=int((kinds == LACKING).sum()),
    )


def _lacking(process: Process) -> NDArray[np.int64]:
    """Return the full phases that lack work.

    Calls that launch work are those of a name whose calls mostly have work, in the full phase with
    most of it: captured launches of a graph and failing calls have none.
    """
    calls = process.calls
    starts, ends = (calls[name].to_numpy() for name in ("start_ns", "end_ns"))
    begins = process.phases["start_ns"].to_numpy()
    phase = np.searchsorted(begins, starts, side="right") - 1
    full = of_spans(process, starts, ends) == FULL
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
    return np.asarray(sums.index[lacking], np.int64)


def _captured(process: Process) -> NDArray[np.bool_]:
    """Return which calls were made during capture into a graph, when most launches do nothing."""
    calls = process.calls
    numbers = {
        word: [number for number, name in process.names.items() if name.endswith(word)]
        for word in ("StreamBeginCapture", "StreamEndCapture")
    }
    begun, ended = (calls["name"].isin(calls_of).to_numpy() for calls_of in numbers.values())
    open_captures = np.cumsum(begun.astype(np.int64) - ended.astype(np.int64))
    return np.asarray(open_captures > 0)
