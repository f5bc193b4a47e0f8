"""The calls of a thread as a sequence of numbers, equal for calls that ask for the same.

What is asked is told by the call's name, its kernel, the power of two of its bytes, its direction
and its device. Left out are streams, which many programs take in turn (or make anew) where their
steps are the same, and grids, which follow data. Queries that follow one another count as one:
how often a loop asks depends on how long it waits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.traces import phases, waiting
from gpucast.traces.trace import Process

Ints = NDArray[np.int64]

_ASKING = ("Launch", "Memcpy", "Memset")
"""In names of calls that ask for work, recorded or not."""
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class Sequence:
    """What a thread called; arrays have a value for each token.

    Attributes:
        thread: its number.
        tokens: what was asked, from 0.
        first, last: rows of ``Process.calls``; several for queries that follow one another.
        start_ns, end_ns: on the host.
        waits: what the host waits for (``waiting``); gpu_ns: time of the work asked for.
        counts: whether the token tells what the program does: it asks for work, or is a wait for
            some. A program's own timers (events, their times, a wait behind a wait) do not.
        launches: whether it launches a kernel or a graph.
    """

    thread: int
    tokens: Ints
    first: Ints
    last: Ints
    start_ns: Ints
    end_ns: Ints
    waits: waiting.Kinds
    gpu_ns: Ints
    counts: NDArray[np.bool_]
    launches: NDArray[np.bool_]

    def essence(self, begins: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
        """The tokens that count, and stretches [begin, end) of all tokens as such of these."""
        before = np.concatenate([[0], np.cumsum(self.counts)])
        return self.tokens[self.counts], before[begins], before[ends]


def of_threads(process: Process, waits: waiting.Kinds, *, sizes: bool = True) -> list[Sequence]:
    """The sequences of all threads, those that ask for most of the GPUs' time first.

    ``sizes``: whether bytes tell calls apart.
    """
    if process.calls.empty:
        return []
    asked = _asked(process, sizes=sizes)
    known = _Names.of(process, waits)
    threads = process.calls["thread"].to_numpy()
    sequences = [_sequence(process, thread, asked, waits, known) for thread in np.unique(threads)]
    return sorted(sequences, key=lambda each: (-each.gpu_ns.sum(), -each.tokens.size))


@dataclass(frozen=True)
class _Names:
    """What is known of calls by their names, also where their work is not on record.

    Attributes:
        asks: of each call, whether such calls ask for work; waits: whether the host waits in them,
            in nearly all that are known; launches: whether such calls launch kernels or graphs.
    """

    asks: NDArray[np.bool_]
    launches: NDArray[np.bool_]
    waits: NDArray[np.bool_]

    @classmethod
    def of(cls, process: Process, waits: waiting.Kinds) -> _Names:
        names = process.calls["name"].to_numpy(np.int64)
        rows = waiting.calls_of(process, process.work["correlation"].to_numpy())
        works = np.zeros(names.size, bool)
        works[rows[rows >= 0]] = True
        numbers, which = np.unique(names, return_inverse=True)
        texts = [process.name_of(int(each)) for each in numbers]
        asks = np.array([any(word in text for word in _ASKING) for text in texts], bool)
        launches = np.array(["Launch" in text for text in texts], bool)
        asks |= np.bincount(which, works, numbers.size) > 0
        # Of copies only those with work on record say whether they wait.
        known = works | (waits != waiting.NOTHING) | ~asks[which]
        waited = np.bincount(which, known & (waits != waiting.NOTHING), numbers.size)
        always = waited >= _NEARLY_ALL * np.maximum(1, np.bincount(which, known, numbers.size))
        return cls(asks[which], launches[which], always[which])


@dataclass(frozen=True)
class _Asked:
    """Of each call: a number for what it asks, and the time of its work."""

    token: Ints
    gpu_ns: Ints


def _asked(process: Process, *, sizes: bool) -> _Asked:
    calls, work = process.calls, process.work
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    there = rows >= 0
    columns = {name: np.zeros(len(calls), np.int64) for name in ("what", "bytes", "more", "device")}
    seconds = np.zeros(len(calls), np.int64)
    duration = (work["end_ns"] - work["start_ns"]).to_numpy()
    np.add.at(seconds, rows[there], duration[there])
    # Of a call with much work (a graph, a copy in pieces) the first piece stands for all.
    rows, first = np.unique(rows[there], return_index=True)
    picked = work[there].iloc[first]
    columns["what"][rows] = picked["name"].to_numpy(np.int64) * 8 + picked["kind"] + 1
    if sizes:
        columns["bytes"][rows] = np.ceil(np.log2(picked["bytes"].to_numpy(np.float64) + 1)).astype(
            int
        )
    columns["more"][rows] = picked["direction"].to_numpy(np.int64)
    columns["device"][rows] = picked["device"].to_numpy(np.int64)
    keys = pd.DataFrame({"call": calls["name"].to_numpy(np.int64), **columns})
    if phases.has_light(process):
        keys = keys[["call"]]  # all that is known of most calls
    numbers: Ints = keys.groupby(list(keys), sort=False).ngroup().to_numpy().astype(np.int64)
    return _Asked(numbers, seconds)


def _sequence(
    process: Process, thread: int, asked: _Asked, waits: waiting.Kinds, known: _Names
) -> Sequence:
    rows = np.flatnonzero(process.calls["thread"].to_numpy() == thread)
    polls = waits[rows] == waiting.POLLING
    names = process.calls["name"].to_numpy()[rows]
    follows = np.zeros(rows.size, bool)
    follows[1:] = polls[1:] & polls[:-1] & (names[1:] == names[:-1])
    begins = np.flatnonzero(~follows)
    ends = np.append(begins[1:], rows.size) - 1
    gpu_ns = np.add.reduceat(asked.gpu_ns[rows], begins)
    return Sequence(
        thread=int(thread),
        tokens=asked.token[rows][begins],
        first=rows[begins],
        last=rows[ends],
        start_ns=process.calls["start_ns"].to_numpy()[rows[begins]],
        end_ns=process.calls["end_ns"].to_numpy()[rows[ends]],
        waits=waits[rows][begins],
        gpu_ns=gpu_ns,
        counts=_counts(known.asks[rows][begins], known.waits[rows][begins]),
        launches=known.launches[rows][begins],
    )


def _counts(asks: NDArray[np.bool_], waits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Calls that ask for work, and waits that do not come right behind another wait."""
    found: NDArray[np.bool_] = asks | waits
    there = np.flatnonzero(found)
    again = np.zeros(there.size, bool)
    again[1:] = ~asks[there[1:]] & waits[there[:-1]]
    found[there[again]] = False
    return found
