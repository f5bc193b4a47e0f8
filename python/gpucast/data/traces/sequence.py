"""The calls of a thread as a sequence of numbers, which are equal for equal requests.

A request is identified by the call's name, kernel, direction and device. Bytes and grids, which
depend on data, are left out, and so are streams, which many programs use in turn (or create anew)
in equal steps. Consecutive queries count as one, because their number depends on the waiting time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.data.traces import phases, waiting
from gpucast.data.traces.trace import Process

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_ASKING = ("Launch", "Memcpy", "Memset")
"""Parts of the names of calls that launch work, whether it is recorded or not."""


@dataclass(frozen=True)
class Sequence:
    """The calls of a thread; arrays have a value for each token.

    Attributes:
        thread: its number.
        tokens: the numbers of the requests, from 0.
        name: the number of the call's name.
        start_ns, end_ns: times on the host.
        waits: the work that the host waits for (``waiting``); gpu_ns: time of the launched work.
        counts: whether the token belongs to the program's work: it launches work, or waits for
            some. Timing calls of a program (events, their times, a wait after a wait) do not.
        launches: whether it launches a kernel or a graph.
    """

    thread: int
    tokens: Ints
    name: Ints
    start_ns: Ints
    end_ns: Ints
    waits: waiting.Kinds
    gpu_ns: Ints
    counts: Bools
    launches: Bools

    def essence(self, begins: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the tokens that count, and stretches [begin, end) converted to their indices."""
        before = np.concatenate([[0], np.cumsum(self.counts)])
        return self.tokens[self.counts], before[begins], before[ends]


def of_threads(process: Process) -> list[Sequence]:
    """Return the sequences of all threads, sorted by the GPU time of their work, largest first."""
    calls, work = process.calls, process.work
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    tokens, waits = _tokens(process, rows), waiting.of_calls(process)
    gpu_ns = np.zeros(len(calls), np.int64)
    np.add.at(gpu_ns, rows[rows >= 0], (work["end_ns"] - work["start_ns"]).to_numpy()[rows >= 0])
    # Decided by name, because the work of some calls is not recorded.
    names = calls["name"].to_numpy(np.int64)
    texts = {number: process.name_of(number) for number in np.unique(names).tolist()}
    launching = [number for number, text in texts.items() if "Launch" in text]
    asking = [number for number, text in texts.items() if any(word in text for word in _ASKING)]
    asks = np.isin(names, [*asking, *np.unique(names[rows[rows >= 0]])])
    wait = np.isin(names, np.unique(names[waits != waiting.NOTHING]))
    threads, again = calls["thread"].to_numpy(), waiting.asked_again(process, waits)
    sequences = []
    for thread in np.unique(threads).tolist():
        own = np.flatnonzero(threads == thread)
        begins = np.flatnonzero(~again[own])
        first, last = own[begins], own[np.append(begins[1:], own.size) - 1]
        sequences.append(
            Sequence(
                thread=thread,
                tokens=tokens[first],
                name=names[first],
                start_ns=calls["start_ns"].to_numpy()[first],
                end_ns=calls["end_ns"].to_numpy()[last],
                waits=waits[first],
                gpu_ns=np.add.reduceat(gpu_ns[own], begins),
                counts=_counts(asks[first], wait[first]),
                launches=np.isin(names[first], launching),
            )
        )
    return sorted(sequences, key=lambda one: (-one.gpu_ns.sum(), -one.tokens.size))


def _tokens(process: Process, rows: Ints) -> Ints:
    """Return the request of each call as a number; ``rows``: the calls of the pieces of work."""
    keys = pd.DataFrame({"call": process.calls["name"].to_numpy(np.int64)})
    if not phases.has_light(process):  # with light phases only the names of most calls are known
        # The first piece stands for a whole graph, or for a copy in pieces.
        asked = process.work[["kind", "name", "direction", "device"]].set_index(rows)
        asked = asked[(rows >= 0) & ~asked.index.duplicated()].astype(np.int64) + 1
        keys = keys.join(asked).fillna(0)
    numbers = keys.groupby(list(keys), sort=False).ngroup()
    return numbers.to_numpy().astype(np.int64)


def _counts(asks: Bools, waits: Bools) -> Bools:
    """Return which calls launch work, or are waits that do not follow another wait."""
    counts = asks | waits
    there = np.flatnonzero(counts)
    behind_wait = ~asks[there[1:]] & waits[there[:-1]]
    counts[there[1:][behind_wait]] = False
    return counts
