"""What a path is, by its records: how calls reach its GPUs, and what carries them.

A path's name is its owner's to choose and says nothing. Machine records state what they know
(``transport``, ``answered``, ``inline_bytes``); the rest is what was measured:

- gpucast-microbench times queued work behind a gate (method ``gated``) wherever a GPU can read the
  host's memory while it waits, which no layer of messages lets it. A path that it measured without
  is one of messages.
- Launches tell whether each call is answered (``gpucast.fitting.synchronous``).
- A wait after a pause (``rest``) beside one without (``idle``) tells whether a thread slept.

Where neither machine nor measurements tell, as in records of steps alone, a name of the vocabulary
is taken for what it usually stands for (``gpucast.data.selection``).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from gpucast.data.dataset import Dataset
from gpucast.data.records import Launch, Machine, Transfer
from gpucast.data.remote_layer import CORES, INLINE_BYTES, MOST_INLINE_BYTES
from gpucast.data.selection import NATIVE, usual
from gpucast.fitting.synchronous import waits_for_calls

WOKEN = 20e-6
"""s by which a wait after a pause takes longer where a thread has to wake: 50 to 250 us on H200
hosts over messages; natively 6 to 10, of caches and cores gone cold."""

_TOOL, _GATED = "gpucast-microbench", "gated"


@dataclass(frozen=True)
class PathFacts:
    """What decides how calls are made on a path.

    Attributes:
        forwarded: calls become messages to a server; None: nothing tells.
        answered: each call waits for its server's answer.
        sleeps: threads that look for messages sleep when none has come for a while.
        transport: what carries messages, where it is known.
        ours: gpucast's remote GPUs, as machines state or the path's name usually stands for.
        inline_bytes: the largest copy that travelled within its message, as stated, or as today's
            remote GPUs do it on a host of so many cores.
    """

    forwarded: bool | None
    answered: bool
    sleeps: bool
    transport: str | None
    ours: bool
    inline_bytes: int


def facts_of(data: Dataset, path: str, machine: str | None = None) -> PathFacts:
    """What the records of a path say of it; ``machine``: of that one alone."""
    own = data.select(path=path) if machine is None else data.select(path=path, machine=machine)
    launches = own.launches
    timed: list[Launch | Transfer] = [*launches, *own.transfers]
    measured = dict.fromkeys(record.machine for record in (*timed, *own.skeletons, *own.steps))
    machines = [data.machines[name] for name in measured]
    transport = next((known.transport for known in machines if known.transport is not None), None)
    usually = usual(path)
    forwarded = _forwarded(machines, timed)
    if forwarded is None:
        forwarded = usually.forwarded
    answered = next((known.answered for known in machines if known.answered is not None), None)
    if answered is None:
        answered = waits_for_calls(launches)
    woken = _wake(launches)
    return PathFacts(
        forwarded=forwarded,
        answered=usually.answered if answered is None else answered,
        sleeps=bool(forwarded) if woken is None else woken > WOKEN,
        transport=transport,
        ours=_stated(machines) or bool(usually.forwarded),
        inline_bytes=_inline(machines),
    )


def direct_path(data: Dataset) -> str | None:
    """The path on which programs reach the same GPUs without messages; None: not measured."""
    timed: list[Launch | Transfer] = [*data.transfers, *data.launches]
    for record in timed:
        # Where CPU threads act as devices there is no GPU to describe.
        if record.method == _GATED and data.machines[record.machine].gpus:
            return record.path
    return NATIVE if NATIVE in data.paths() else None


def same_layer(data: Dataset, path: str, *, answered: bool) -> str | None:
    """The path over the same transport of which every call is answered, or none need be: itself, or
    another one; None: not measured."""
    own = facts_of(data, path)
    if own.answered == answered:
        return path
    for other in data.paths():
        facts = facts_of(data, other)
        alike = facts.forwarded and facts.transport == own.transport
        if other != path and alike and facts.answered == answered:
            return other
    return None


def _stated(machines: list[Machine]) -> bool:
    return any(
        fact is not None
        for known in machines
        for fact in (known.transport, known.answered, known.inline_bytes)
    )


def _forwarded(machines: list[Machine], timed: list[Launch | Transfer]) -> bool | None:
    if _stated(machines):
        return True
    if any(record.method == _GATED for record in timed):
        return False
    by_microbench = any(known.tool is not None and known.tool.name == _TOOL for known in machines)
    return True if timed and by_microbench else None


def _wake(launches: Iterable[Launch]) -> float | None:
    """s by which a wait takes longer after a pause; None: that was not measured."""
    rest, idle = (
        [value for launch in launches if launch.method == method for value in launch.seconds]
        for method in ("rest", "idle")
    )
    return statistics.median(rest) - statistics.median(idle) if rest and idle else None


def _inline(machines: list[Machine]) -> int:
    stated = (known.inline_bytes for known in machines if known.inline_bytes is not None)
    cores = max((known.cpu_cores or 0 for known in machines), default=0)
    return next(stated, INLINE_BYTES if cores >= CORES else MOST_INLINE_BYTES)
