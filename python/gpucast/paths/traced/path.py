"""Derives call times on a path from microbenchmarks on the path and natively.

On a path that forwards calls as messages, the host takes c to send a call. The server then makes
the native call. A call that is answered takes a turnaround R more, half of it before the server and
half after:

    a launch in a row                      c                 answered: c + R + native
    one of many launches                   m                 the server's time, if that is more
    a launch and the wait for it           c + R + native
    a wait that finds nothing              c + R + w         w: the server's time
    a copy of n bytes to the device        c + bytes; no bytes for pinned shared memory
    a copy of n bytes to the host          c + R + native + bytes

If all calls are answered, R is half the difference between an answered and a native launch. Other
paths (a part of a GPU, a virtual machine, a container) work as natively: a call takes its traced
time plus the difference between its kind on the path and natively.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gpucast.data.dataset import Dataset
from gpucast.data.remote_layer import MOST_UNDER_WAY
from gpucast.errors import InputError
from gpucast.paths.path_facts import direct_path, facts_of, same_layer
from gpucast.paths.traced.measured import FEW, H200, Alone, Curve, Rested, alone, rested
from gpucast.paths.traced.network import Network
from gpucast.paths.traced.program import SYNCS, CallProgram, Direction, Memory, Operation, Seconds
from gpucast.paths.traced.timeline import Takes, Waits, natively

SHARED: Final = "shm"
"""The transport by shared memory, as records state it."""
RECORD: Final = 0.7e-6
"""The driver's time for an event (s), on H200."""
LEAST_LATENCY: Final = 0.5e-6
COPY_LATENCY: Final = 5e-6
"""Longest time (s) until a copy between the server's own memory and its GPU begins."""
UNSTAGED: Final = 4096
"""Largest copy (bytes) whose end is noticed like that of any wait."""
LEAST_TURN: Final = 0.2
"""Least share of R in a wait without work."""
_ASKS = (Operation.alloc, Operation.free, Operation.query)
_LAUNCHES = (Operation.launch, Operation.graph_launch)


@dataclass(frozen=True)
class PathCosts:
    """Call times on a path.

    Attributes:
        path: the path's name; messages: whether calls are forwarded as messages; answered: whether
            each call waits for an answer; ours: whether these are gpucast's remote GPUs; shared:
            whether messages use shared memory, which the server's GPU reads itself if it is pinned.
        there, native: times measured on the path, and natively.
        rested: extra times of copies after pauses; None: not measured.
        network: the network between the hosts, if it is not the measured one.
        plain: the same layer without an answer to each call, if it was measured.
        warnings: assumptions that replace missing measurements.
    """

    path: str
    messages: bool
    answered: bool
    ours: bool
    shared: bool
    there: Alone
    native: Alone
    rested: Rested | None = None
    network: Network | None = None
    plain: PathCosts | None = None
    warnings: tuple[str, ...] = ()

    @property
    def small(self) -> float:
        """Host time (s) of a small message other than a launch, with its answer if ``answered``."""
        return min(*(curve.least for curve in self.there.up.values()), self.there.launch)

    @property
    def turn(self) -> float:
        """R (s)."""
        if self.answered:
            return max(self.there.launch - self.native.launch, 0.0) / 2
        waited = self.there.waited - self.native.waited - self.there.launch
        idle, native = self.there.idle, self.native.idle
        asked = 0.0 if idle is None or native is None else idle - self.small - native
        return max(waited, LEAST_TURN * asked, 0.0)

    @property
    def name(self) -> str:
        """The path's name, with the network if it is not the measured one."""
        return self.path if self.network is None else f"{self.path} over {self.network}"

    def over(self, network: Network) -> PathCosts:
        """Return the costs of the same software on another network.

        Raises:
            InputError: the path has no network.
        """
        if not self.messages:
            raise InputError(f"{self.path} reaches its GPUs without a network", field="--network")
        plain = None if self.plain is None else self.plain.over(network)
        return replace(self, network=network, plain=plain)


def path_costs(
    data: Dataset, path: str, *, machine: str | None = None, network: Network | None = None
) -> PathCosts:
    """Derive call times on a path, optionally from one machine's records alone.

    Raises:
        InputError: a measurement is missing, or the path has no network that could be replaced.
    """
    own = data if machine is None else data.select(machine=machine)
    if path not in own.paths():
        raise InputError(
            f"no measurements of it; there are {', '.join(own.paths()) or 'none'}",
            file=data.name,
            field="--path",
        )
    facts = facts_of(own, path)
    # The native measurements may be under another machine's name.
    beside = own if direct_path(own) is not None else data
    direct = direct_path(beside)
    warnings, native = [], H200
    try:
        if direct is None:
            raise InputError("no native measurements")
        native = alone(beside, direct)
    except InputError as error:
        if direct == path:
            raise
        warnings.append(f"{error.message}; those of an H200 are taken")
    plain = same_layer(own, path, answered=False) if facts.answered else None
    there, pinned = alone(own, path), Memory.pinned

    def copies(up: float, down: float) -> float:
        """Return the time (s) of two copies, to the GPU and back."""
        size = np.array([up, down])
        to, fro = there.up[pinned].at(size[:1]), there.down[pinned].at(size[1:])
        return float((to + fro + native.copied_up.at(size[:1]))[0])

    costs = PathCosts(
        path=path,
        messages=facts.forwarded is not False,
        answered=facts.answered,
        ours=facts.ours,
        shared=facts.transport == SHARED,
        there=there,
        rested=rested(own, path, copies),
        native=native,
        plain=None if plain is None else path_costs(own, plain),
        warnings=tuple(warnings),
    )
    return costs if network is None else costs.over(network)


def takes_on(program: CallProgram, costs: PathCosts, networks: Sequence[Network] = ()) -> Takes:
    """Return the times of a program's calls on a path, with a variant for each given network."""
    if not costs.messages:
        return _directly(program, costs)
    own = () if costs.network is None else (costs.network,)
    return _by_messages(program, costs, networks or own)


def polls(program: CallProgram) -> NDArray[np.bool_]:
    """Return the waits that poll: queries that are repeated until the answer is yes."""
    asks = np.array([name.endswith("Query") for name in program.names], bool)
    return np.asarray(np.isin(program.operation, SYNCS) & asks[program.name])


def _waits(program: CallProgram, answered: bool) -> NDArray[np.int64]:
    """Return what threads wait for when calls are messages."""
    operation, direction = program.operation, program.direction
    waits = np.full(len(program), int(Waits.served if answered else Waits.nothing))
    waits[np.isin(operation, (Operation.alloc, Operation.query))] = Waits.served
    waits[np.isin(operation, SYNCS)] = Waits.done
    copies = operation == Operation.copy
    blocking = (program.blocking != 0) | answered | (program.memory != Memory.pinned)
    waits[copies & (direction == Direction.d2h) & blocking] = Waits.done
    waits[copies & (direction == Direction.peer) & (program.blocking != 0)] = Waits.done
    # The host waits for an event of another server.
    marked = (operation == Operation.wait_stream_event) & (program.recording >= 0)
    elsewhere = program.device[program.recording[marked]] != program.device[marked]
    waits[np.flatnonzero(marked)[elsewhere]] = Waits.done
    waits[(operation == Operation.other) | (direction == Direction.host)] = Waits.here
    return waits


def _by_messages(program: CallProgram, costs: PathCosts, networks: Sequence[Network]) -> Takes:
    operation, direction = program.operation, program.direction
    there, native, turn, size = costs.there, costs.native, costs.turn, program.bytes.astype(float)
    waits = _waits(program, costs.answered)
    launches, syncs = np.isin(operation, _LAUNCHES), np.isin(operation, SYNCS)
    sends = waits != Waits.here
    # Part of an answered message is the server's native call and the answer.
    driver = native.launch if costs.answered else there.per_launch
    less = turn + driver if costs.answered else 0.0
    small = max(costs.small - less, 0.0)
    ask = np.where(launches, max(there.launch - less, 0.0), small)
    ask[~sends] = program.cost[~sends]
    serve = np.full(len(program), driver)
    events = np.isin(operation, (Operation.record, Operation.wait_stream_event))
    serve[events] = min(driver, RECORD + max(driver - native.launch, 0.0))
    sets = operation == Operation.set
    serve[sets] = np.minimum(driver, program.cost[sets] + max(driver - native.launch, 0.0))
    # A wait without work, which is at most as long as one after a launch.
    idle = there.waited - there.launch
    serve[syncs] = max(min(idle, idle if there.idle is None else there.idle) - small - turn, 0.0)
    asks = np.isin(operation, _ASKS)
    serve[asks] = np.minimum(program.cost, 1e-3)[asks]
    if not costs.answered:
        serve[_first(program, waits)] += there.first
    up, down, seconds = np.zeros((3, len(program)))
    seconds = program.seconds.copy()
    latency = program.latency.copy()
    copies = operation == Operation.copy
    # Extra time of a copy to the host beyond its message, its turnaround and the native copy.
    extra = min(curve.least for curve in there.down.values()) - small - turn
    extra -= native.down[Memory.pinned].least
    for memory in (Memory.pageable, Memory.pinned):
        own = copies & (program.memory == memory)
        to, fro = own & (direction == Direction.h2d), own & (direction == Direction.d2h)
        up[to] = _beyond(there.up[memory], size[to])
        if costs.shared and not networks and memory == Memory.pinned:
            up[to] = 0
            waits[to & (program.blocking != 0)] = int(Waits.done)
        copied = _beyond(native.copied_down, size[fro])
        down[fro] = np.maximum(_beyond(there.down[memory], size[fro]) - copied, 0) + max(extra, 0)
        if memory == Memory.pageable:
            # Servers copy from and to pinned memory of their own.
            for some, curve in ((to, native.copied_up), (fro, native.copied_down)):
                seconds[some] = np.minimum(seconds[some], curve.at(size[some]))
                latency[some] = np.minimum(latency[some], COPY_LATENCY)
    # A traced latency includes the driver's call, which is also in the server's time.
    latency = np.maximum(latency - driver, np.minimum(latency, LEAST_LATENCY))
    way = (np.where(sends, turn / 2, 0.0))[:, None]
    back = way + np.where(polls(program), (turn + small) / 2, 0.0)[:, None]
    up, down = up[:, None], down[:, None]
    if networks:
        trip = np.array([network.round_trip for network in networks])
        way, back = (part + np.where(sends[:, None], trip / 2, 0.0) for part in (way, back))
        line = np.array([1 / network.bandwidth for network in networks])
        line = np.maximum(line, trip / MOST_UNDER_WAY)
        up = np.where(up > 0, np.maximum(up, line * size[:, None]), 0.0)
        down = np.where(down > 0, np.maximum(down, line * size[:, None]), 0.0)
    rests, more = (None, None) if costs.rested is None else costs.rested.at(size)
    # Staging of copies to pageable memory also comes after their end.
    ends = (syncs | (program.blocking != 0)) & (program.tail > 0)
    tails = program.tail[ends & (size <= UNSTAGED)]
    if ends.any() and not tails.size:
        tails = np.minimum(program.tail[ends], COPY_LATENCY)
    tail = np.full((len(program), 1), np.median(tails) if tails.size else 0.0)
    return Takes(
        waits=waits, ask=ask[:, None], there=way, serve=serve[:, None], up=up, down=down,
        held=(program.blocking != 0) | (program.memory != Memory.pinned), back=back, tail=tail,
        gap=program.gap[:, None], latency=latency[:, None], delay=program.delay[:, None],
        seconds=seconds[:, None], rests=rests, more=more, ticks=program.tick,
    )  # fmt: skip


def _beyond(curve: Curve, size: Seconds) -> Seconds:
    """Return the time (s) of a copy beyond that of the smallest one."""
    return np.maximum(curve.at(size) - curve.least, 0)


def _first(program: CallProgram, waits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the messages that are among the first after an answer of the same server."""
    first = np.zeros(len(program), bool)
    place: dict[tuple[int, int], int] = {}
    listed = zip(waits.tolist(), program.thread.tolist(), program.device.tolist(), strict=True)
    for call, (wait, *queue) in enumerate(listed):
        if wait != Waits.here:
            at = place.get((queue[0], queue[1]), 0)
            first[call] = at < FEW
            place[queue[0], queue[1]] = 0 if wait >= Waits.served else at + 1
    return first


def _directly(program: CallProgram, costs: PathCosts) -> Takes:
    operation, direction = program.operation, program.direction
    there, native, size = costs.there, costs.native, program.bytes.astype(float)
    takes = natively(program)
    launch = there.launch - native.launch
    waited = there.waited - native.waited
    idle = waited - launch
    if there.idle is not None and native.idle is not None:
        idle = there.idle - native.idle
    ask = np.where(takes.waits != Waits.here, launch, 0.0)
    tail = np.where(takes.waits == Waits.done, idle, 0.0)
    latency = np.where(np.isin(operation, _LAUNCHES), max(waited - launch - idle, 0.0), 0.0)
    seconds = np.zeros(len(program))
    copies = operation == Operation.copy
    for memory in (Memory.pageable, Memory.pinned):
        own = copies & (program.memory == memory)
        for way, here, beyond in (
            (Direction.h2d, native.up, there.up), (Direction.d2h, native.down, there.down),
        ):  # fmt: skip
            some = own & (direction == way)
            ask[some] = tail[some] = 0
            more = beyond[memory].at(size[some]) - here[memory].at(size[some])
            staged = takes.waits[some] == Waits.staged
            ask[some] += np.where(staged, more, 0)
            seconds[some] += np.where(staged, 0, more)
    extra = {"ask": ask, "tail": tail, "latency": latency, "seconds": seconds}
    columns: dict[str, Any] = {
        name: np.maximum(getattr(takes, name) + more[:, None], 0) for name, more in extra.items()
    }
    return replace(takes, **columns)
