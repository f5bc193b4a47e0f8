"""The calls of a thread as a sequence of numbers, equal for calls that ask for the same.

What is asked is told by the call's name, its kernel, its direction and its device. Left out are
bytes and grids, which follow data, and streams, which many programs take in turn (or make anew)
where their steps are the same. Queries that follow one another count as one: how often a loop asks
depends on how long it waits.
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
"""In names of calls that ask for work, recorded or not."""


@dataclass(frozen=True)
class Sequence:
    """What a thread called; arrays have a value for each token.

    Attributes:
        thread: its number.
        tokens: what was asked, from 0.
        name: of the call, as a number.
        start_ns, end_ns: on the host.
        waits: what the host waits for (``waiting``); gpu_ns: time of the work asked for.
        counts: whether the token tells what the program does: it asks for work, or is a wait for
            some. A program's own timers (events, their times, a wait behind a wait) do not.
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
        """The tokens that count, and stretches [begin, end) of all tokens as such of these."""
        before = np.concatenate([[0], np.cumsum(self.counts)])
        return self.tokens[self.counts], before[begins], before[ends]


def of_threads(process: Process) -> list[Sequence]:
    """The sequences of all threads, those that ask for most of the GPUs' time first."""
    calls, work = process.calls, process.work
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    tokens, waits = _tokens(process, rows), waiting.of_calls(process)
    gpu_ns = np.zeros(len(calls), np.int64)
    np.add.at(gpu_ns, rows[rows >= 0], (work["end_ns"] - work["start_ns"]).to_numpy()[rows >= 0])
    # By name, as the work of some calls is not on record.
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
    """What each call asks for, as a number; ``rows``: the calls of the pieces of work."""
    keys = pd.DataFrame({"call": process.calls["name"].to_numpy(np.int64)})
    if not phases.has_light(process):  # there, names are all that is known of most calls
        # The first piece stands for all of a graph, or of a copy in pieces.
        asked = process.work[["kind", "name", "direction", "device"]].set_index(rows)
        asked = asked[(rows >= 0) & ~asked.index.duplicated()].astype(np.int64) + 1
        keys = keys.join(asked).fillna(0)
    numbers = keys.groupby(list(keys), sort=False).ngroup()
    return numbers.to_numpy().astype(np.int64)


def _counts(asks: Bools, waits: Bools) -> Bools:
    """Calls that ask for work, and waits that do not come right behind another wait."""
    counts = asks | waits
    there = np.flatnonzero(counts)
    behind_wait = ~asks[there[1:]] & waits[there[:-1]]
    counts[there[1:][behind_wait]] = False
    return counts
