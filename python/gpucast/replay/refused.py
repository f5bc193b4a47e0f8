"""What a traced program calls that gpucast's remote GPUs refuse: it would not run on them.

The calls that they do are listed in ``data.remote_layer``, which is made of the client's sources;
every other one of the runtime returns an error, and the driver's own are not replaced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from gpucast.data.remote_layer import SUPPORTED
from gpucast.replay.program import CallProgram
from gpucast.traces.trace import Trace

MOST_NAMED = 3
_VERSION = re.compile(r"(_v\d+|_ptsz|_ptds)+$")

_DRIVER = re.compile("cu[A-Z]")


def refused_calls(trace: Trace, programs: Sequence[CallProgram]) -> tuple[str, ...]:
    """Functions that the program called and remote GPUs refuse, those called most often first.

    The runtime's anywhere in the trace. The driver's where most steps call them: the runtime makes
    such calls itself, which a recorder that is turned on meanwhile sees.
    """
    counts: Counter[str] = Counter()
    for process in trace.processes:
        calls = process.calls["name"].to_numpy()
        for number, count in zip(*np.unique(calls, return_counts=True), strict=True):
            name = _VERSION.sub("", process.name_of(int(number)))
            if name.startswith("cuda") and name not in SUPPORTED:
                counts[name] += int(count)
    for program in programs:
        for number, count in zip(*np.unique(program.name, return_counts=True), strict=True):
            name = program.names[number]
            if _DRIVER.match(name) and count > program.steps / 2:
                counts[name] += int(count)
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def in_words(refused: tuple[str, ...], path: str) -> str:
    """One line; of some names at least."""
    named = ", ".join(refused[:MOST_NAMED])
    more = len(refused) - MOST_NAMED
    return (
        f"this program would not run on {path}: gpucast's remote GPUs refuse {named}"
        + (f" and {more} more of its calls" if more > 0 else "")
        + "; a forecast is as if they could"
    )
