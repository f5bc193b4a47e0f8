"""Facts about a path from its records: how calls reach its GPUs, and over which transport.

A path's name is chosen by the user and means nothing. Machine records state some facts
(``transport``, ``answered``, ``inline_bytes``); the others follow from measurements:

- gpucast-microbench times queued work behind a gate (method ``gated``) if a GPU can read the host's
  memory while it waits, which no layer of messages allows. A path that it measured without this
  method forwards calls as messages.
- Launches tell whether each call waits for an answer (``gpucast.fitting.synchronous``).
- A wait after a pause (``rest``) compared with one without (``idle``) tells whether a thread slept.

If neither machine nor measurements tell, as in records of steps alone, a path name of the
vocabulary has its usual meaning (``gpucast.data.selection``).
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
"""Least extra time (s) of a wait after a pause from which a thread must have slept: on H200 hosts
it is 50 to 250 us over messages, and natively 6 to 10 us because of cold caches and cores."""

_TOOL, _GATED = "gpucast-microbench", "gated"


@dataclass(frozen=True)
class PathFacts:
    """Facts that determine how calls are made on a path.

    Attributes:
        forwarded: whether calls become messages to a server; None: not known.
        answered: whether each call waits for its server's answer.
        sleeps: whether threads that poll for messages sleep after a while without any.
        transport: transport of the messages, if known.
        ours: whether these are gpucast's remote GPUs, as machines state or the path's name usually
            means.
        inline_bytes: size of the largest copy that is sent within its message, as stated, or that
            of today's remote GPUs on a host with this number of cores.
    """

    forwarded: bool | None
    answered: bool
    sleeps: bool
    transport: str | None
    ours: bool
    inline_bytes: int


def facts_of(data: Dataset, path: str, machine: str | None = None) -> PathFacts:
    """Derive the facts from a path's records, optionally of one machine alone."""
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
    """Return the path on which programs reach the GPUs without messages; None: not measured."""
    timed: list[Launch | Transfer] = [*data.transfers, *data.launches]
    for record in timed:
        # CPU threads that act as devices are not GPUs.
        if record.method == _GATED and data.machines[record.machine].gpus:
            return record.path
    return NATIVE if NATIVE in data.paths() else None


def same_layer(data: Dataset, path: str, *, answered: bool) -> str | None:
    """Return the path over the same transport on which every call is answered, or not, which may be
    the path itself; None: not measured."""
    own = facts_of(data, path)
    if own.answered == answered:
        return path
    for other in data.paths():
        facts = facts_of(data, other)
        same_transport = facts.forwarded and facts.transport == own.transport
        if other != path and same_transport and facts.answered == answered:
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
    """Return the extra time (s) of a wait after a pause; None: not measured."""
    rest, idle = (
        [value for launch in launches if launch.method == method for value in launch.seconds]
        for method in ("rest", "idle")
    )
    return statistics.median(rest) - statistics.median(idle) if rest and idle else None


def _inline(machines: list[Machine]) -> int:
    stated = (known.inline_bytes for known in machines if known.inline_bytes is not None)
    cores = max((known.cpu_cores or 0 for known in machines), default=0)
    return next(stated, INLINE_BYTES if cores >= CORES else MOST_INLINE_BYTES)
