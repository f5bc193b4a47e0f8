"""What calls cost that are forwarded to servers, from what was measured on that path.

A small message is sent in c, and a call that is answered takes a turn X more:

    X = flight + serve + answer + flight + after

which is what can be told from outside: by a wait for a stream that has nothing to do (``launch``
records, method idle), S = c + X; else where every call is answered, by a launch, which returns
after c + X; else by a launch and the synchronization behind it, T = c + X + G, in which the GPU
takes G, as natively.
Of X, the server's part matters where many calls follow one another: a row of launches takes
max(c, serve, GPU) for each (``launch`` records, method drain). The rest is split evenly, which no
step can tell.

Of n bytes, a blocking copy to the device returns when they are sent: its curve h(n) is what the
host pays. Where calls are answered it returns h_s(n) = h(n) + X + what the server does with them,
whose growth over h(n) is the server's. A copy to the host waits for them: its curve g(n) beyond
g of a few bytes, less what the GPU's copy takes, is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.errors import InputError
from gpucast.replay.measured import MOST_INLINE, Curve, curve_of, launch_seconds, visits_differ
from gpucast.replay.native import USUAL_LATENCY
from gpucast.replay.network import Network
from gpucast.replay.program import (
    CallProgram,
    Direction,
    Memory,
    Messages,
    Operation,
    Seconds,
)

WINDOW = 4 << 20
"""Bytes that one connection has under way."""
SPIN = 2e-3
"""s that either side looks for a message before it sleeps (limits.h)."""
WAKE = 40e-6
"""s until a thread runs that a message woke, where it was not measured: Linux, an idle core."""

PCIE = 50e9
"""B/s of a pinned copy where no native transfers say it: H200, PCIe 5 x16."""
GPU_PART = 3.3e-6
"""s of an empty kernel from its submission to its end, likewise."""
SUBMISSION = 2e-6
"""s of the driver's launch call, which a traced latency includes, and the server's part as well."""
EMPTY_KERNEL = 0.8e-6
USUAL_SPREAD = 0.09
"""By which visits differ where there was one: three of two H200 by 0.04 to 0.14."""
MOST_LATER = 3e-6
LEAST_LATENCY = 0.5e-6
SERVED = 0.3
"""Share of a turn that is the server's before an answer, where rows of launches do not say it."""
ANSWERED = 0.1
"""Share of a turn that is the server's answer; the host's end of it likewise."""
SENT = 0.28
"""Share of an answered launch that is c, where no other path says it: H200 hosts, loopback."""
SERVED_BYTES = 0.25
"""Growth of the server's time over that of sending, where nothing says it, likewise."""


@dataclass(frozen=True)
class PathCosts:
    """Seconds.

    Attributes:
        path: its name; synchronous: every call is answered.
        send: of a small message, by operation; Operation.launch's for those that are not there.
        turn: X; serve: the server's part of it before the answer.
        up: host's s of sending n bytes, by host memory; served: the server's beside a message.
        down: s of n bytes that come back beyond a small answer's, by host memory.
        pinned_up, pinned_down: s of a server's copies of n bytes between its rings and its GPU.
        in_step: times as much as n bytes cost in a step, over n; None: as much.
        bulk_line: s a byte of what large copies of all GPUs share (memory, where all is one host).
        bulk_wake: s until the threads that take large copies are awake, after a pause of theirs.
        wake_server, wake_client, spin: see Messages.
        submission: s by which work begins sooner after its server asked for it than after the
            program did natively; less than 0: later.
        spread_messages, spread_data: by which visits differ, in launches and in copies: standard
            deviations of logarithms.
        network: the one between the hosts; None: as measured.
        warnings: what was assumed for lack of a measurement.
    """

    path: str
    synchronous: bool
    send: Mapping[Operation, float]
    turn: float
    serve: float
    up: Mapping[Memory, Curve]
    served: Curve | None
    down: Mapping[Memory, Curve]
    pinned_up: Curve
    pinned_down: Curve
    in_step: Curve | None = None
    bulk_line: float = 0.0
    bulk_wake: float = 0.0
    wake_server: float = WAKE
    wake_client: float = WAKE
    spin: float = SPIN
    network: Network | None = None
    submission: float = SUBMISSION
    spread_messages: float = 0.0
    spread_data: float = 0.0
    warnings: tuple[str, ...] = ()

    def over(self, network: Network) -> PathCosts:
        """The same software on another network than the one that it was measured on."""
        return replace(self, network=network)

    def scaled(self, factor: float, send: float, turn: float, data: float) -> PathCosts:
        """Everything times ``factor``, messages, turns and bytes each by another."""

        def times(curve: Curve, by: float) -> Curve:
            return Curve(curve.sizes, curve.seconds * by)

        return replace(
            self,
            send={key: value * factor * send for key, value in self.send.items()},
            turn=self.turn * factor * turn,
            serve=self.serve * factor * turn,
            up={key: times(curve, factor * data) for key, curve in self.up.items()},
            served=None if self.served is None else times(self.served, factor * data),
            down={key: times(curve, factor * data) for key, curve in self.down.items()},
            bulk_wake=self.bulk_wake * factor * data,
            wake_server=self.wake_server * factor,
            wake_client=self.wake_client * factor,
        )


def path_costs(data: Dataset, path: str) -> PathCosts:
    """What calls cost on a forwarding path.

    Raises:
        InputError: no launches on it, or no copies between host and GPU.
    """
    if path not in data.paths():
        raise InputError(
            f"no measurements of it; there are {', '.join(data.paths()) or 'none'}",
            file=data.name,
            field="--path",
        )
    synchronous = path.endswith("sync")
    warnings: list[str] = []
    submit = _required(launch_seconds(data, path, "submit", 1), data, path, "submit")
    send = _send(data, path, synchronous, submit, warnings)
    turn = _turn(data, path, synchronous, submit, send, warnings)
    serve = _serve(data, path, turn, send[Operation.launch], warnings)
    up = _by_memory(data, path, "h2d", data)
    down = _by_memory(data, path, "d2h", data)
    return PathCosts(
        path=path,
        synchronous=synchronous,
        send=send,
        turn=turn,
        serve=serve,
        up=_sending(data, path, synchronous, up),
        served=_served(data, path, synchronous, up),
        down=down,
        pinned_up=_pinned(data, "h2d"),
        pinned_down=_pinned(data, "d2h"),
        wake_server=_wake(data, path),
        submission=_submission(data, path),
        spread_messages=visits_differ(data.launches, path) or USUAL_SPREAD,
        spread_data=visits_differ(data.transfers, path) or USUAL_SPREAD,
        warnings=tuple(warnings),
    )


def _required(seconds: float | None, data: Dataset, path: str, method: str) -> float:
    if seconds is None:
        raise InputError(
            f"no launches (method {method}, one at a time) on path {path}: "
            "gpucast-microbench measure --what launches,transfers",
            file=data.name,
            field="launch",
        )
    return seconds


def _plain(path: str) -> str:
    """The path whose calls are not all answered: remote of remote-sync."""
    return path.removesuffix("-sync")


def _send(
    data: Dataset, path: str, synchronous: bool, submit: float, warnings: list[str]
) -> dict[Operation, float]:
    sent = submit
    if synchronous:
        found = launch_seconds(data, _plain(path), "submit", 1)
        sent = found if found is not None else SENT * submit
    else:
        row = launch_seconds(data, path, "row", 16)
        if row is None:
            warnings.append(
                "launches were timed one at a time: those of a row may be sent faster "
                "(gpucast-microbench measure --what launches times rows, too)"
            )
        else:
            sent = row / 16
    return {Operation.launch: sent}


def _turn(
    data: Dataset, path: str, synchronous: bool, submit: float,
    send: Mapping[Operation, float], warnings: list[str],
) -> float:  # fmt: skip
    sent = send[Operation.launch]
    row = launch_seconds(data, path, "row", 16)
    if synchronous and row is not None:
        # As steps have them, one answered call after another.
        return max(row / 16 - sent, 0.1 * row / 16)
    idle = launch_seconds(data, path, "idle", 1)
    if idle is not None:
        return max(idle - sent, 0.1 * idle)
    if synchronous:
        return max(submit - sent, 0.1 * submit)
    answered = launch_seconds(data, f"{path}-sync", "submit", 1)
    if answered is not None:
        return max(answered - submit, 0.1 * submit)
    both = _required(launch_seconds(data, path, "sync", 1), data, path, "sync")
    of_gpu = GPU_PART
    alone = launch_seconds(data, "native", "submit", 1), launch_seconds(data, "native", "sync", 1)
    if alone[0] is not None and alone[1] is not None:
        of_gpu = max(0.6 * (alone[1] - alone[0]), 1e-6)
    warnings.append("what an answer takes is told by launches, to about 1 us")
    return max(both - submit - of_gpu, 0.1 * submit)


def _serve(data: Dataset, path: str, turn: float, sent: float, warnings: list[str]) -> float:
    few, many = (launch_seconds(data, path, "drain", count) for count in (16, 256))
    if path.endswith("sync") or few is None or many is None:
        return SERVED * turn
    each = (many - few) / 240
    # What limits a row is the server where it is slower than the host that sends.
    if each > 1.1 * sent:
        return min(each, 0.8 * turn)
    return min(SERVED * turn, each)


def _wake(data: Dataset, path: str) -> float:
    """What a call takes longer that comes when the server sleeps."""
    rested, idle = (launch_seconds(data, path, each, 1) for each in ("rest", "idle"))
    return WAKE if rested is None or idle is None else max(rested - idle, 0.0)


def _submission(data: Dataset, path: str) -> float:
    """From a launch and the wait for it, beyond a wait for nothing: what the GPU takes there.

    Where the launch is answered the GPU is done meanwhile.
    """
    both, idle = (launch_seconds(data, path, each, 1) for each in ("sync", "idle"))
    if both is None or idle is None or path.endswith("sync"):
        return SUBMISSION
    return float(np.clip(USUAL_LATENCY + EMPTY_KERNEL - (both - idle), -MOST_LATER, SUBMISSION))


def _by_memory(data: Dataset, path: str, route: str, named: Dataset) -> dict[Memory, Curve]:
    found: dict[Memory, Curve] = {}
    for memory in (Memory.pageable, Memory.pinned):
        curve = curve_of(data, path, route, memory.name)
        if curve is None:
            raise InputError(
                f"no copies ({route}, method call) of two sizes on path {path}: "
                "gpucast-microbench measure --what launches,transfers",
                file=named.name,
                field="transfer",
            )
        found[memory] = curve
    return found


def _sending(
    data: Dataset, path: str, synchronous: bool, up: Mapping[Memory, Curve]
) -> dict[Memory, Curve]:
    """What sending takes the host: not all of a copy that is answered."""
    if not synchronous:
        return dict(up)
    result = {}
    for memory, curve in up.items():
        plain = curve_of(data, _plain(path), "h2d", memory.name)
        grows = (curve.seconds - curve.least) / (1 + SERVED_BYTES)
        result[memory] = plain or Curve(curve.sizes, SENT * curve.least + grows)
    return result


def _served(
    data: Dataset, path: str, synchronous: bool, up: Mapping[Memory, Curve]
) -> Curve | None:
    """What the server does with n bytes; None: a share of what sending takes."""
    other = _plain(path) if synchronous else f"{path}-sync"
    memory = Memory.pinned
    pair = up[memory], curve_of(data, other, "h2d", memory.name)
    if pair[1] is None:
        return None
    sent, answered = (pair[1], pair[0]) if synchronous else (pair[0], pair[1])
    sizes = answered.sizes[answered.sizes <= MOST_INLINE]
    if sizes.size < 2:
        return None
    more = answered.at(sizes) - answered.least - (sent.at(sizes) - sent.least)
    return Curve(sizes, np.maximum.accumulate(np.maximum(more, 1e-9)))


def _pinned(data: Dataset, route: str) -> Curve:
    found = curve_of(data, "native", route, "pinned", "gated")
    if found is not None:
        return found
    sizes = np.array([1.0, 2.0**30])
    return Curve(sizes, 1.4e-6 + sizes / PCIE)


# ---- a program's calls -----------------------------------------------------------------------


def forwarded(program: CallProgram, costs: PathCosts) -> tuple[CallProgram, Messages]:
    """The program as servers do it, and what its messages cost."""
    operation, direction = program.operation, program.direction
    copies = operation == Operation.copy
    up = copies & (direction == Direction.h2d)
    down = copies & (direction == Direction.d2h)
    size = program.bytes.astype(float)
    large = size > MOST_INLINE
    launch = costs.send[Operation.launch]
    flight = (costs.turn - costs.serve - 2 * ANSWERED * costs.turn) / 2
    rows = {name: np.zeros(len(program)) for name in
            ("cost", "up", "flight", "serve", "answer", "down", "after")}  # fmt: skip
    rows["cost"][:] = launch
    for each, seconds in costs.send.items():
        rows["cost"][operation == each] = seconds
    here = (operation == Operation.other) | (direction == Direction.host)
    rows["cost"][here] = program.cost[here]
    rows["flight"][:] = flight
    rows["serve"][:] = costs.serve
    rows["answer"][:] = rows["after"][:] = ANSWERED * costs.turn
    _add_up(costs, program, up, large, size, rows)
    _add_down(costs, program, down, large, size, rows)
    # What the driver itself takes for these, the server's takes.
    asks = np.isin(operation, (Operation.alloc, Operation.free, Operation.query))
    rows["serve"][asks] += np.minimum(program.cost[asks], 1e-3)
    # The other device's streams are waited for first (remote/src/client/copies.cpp, `directly`).
    rows["cost"][copies & (direction == Direction.peer) & (program.blocking != 0)] += costs.turn
    line = 0.0
    if costs.network is not None:
        rows["flight"] += costs.network.round_trip / 2
        line = max(1 / costs.network.bandwidth, costs.network.round_trip / WINDOW)
    messages = Messages(
        transport=2 if costs.synchronous else 1,
        times=np.array(list(rows.values())),
        line=line,
        bulk_line=costs.bulk_line,
        bulk_wake=costs.bulk_wake,
        spin=costs.spin,
        wake_server=costs.wake_server,
        wake_client=costs.wake_client,
    )
    return _at_servers(program, costs, up, down, size), messages


def _add_up(
    costs: PathCosts, program: CallProgram, up: np.ndarray, large: np.ndarray, size: Seconds,
    rows: dict[str, Seconds],
) -> None:  # fmt: skip
    more = _in_step(costs, size)
    for memory, curve in costs.up.items():
        own = up & (program.memory == memory)
        sending = curve.least + more * (curve.at(size) - curve.least)
        inline, bulk = own & ~large, own & large
        rows["cost"][inline] = sending[inline]
        rows["up"][bulk] = np.maximum(sending - rows["cost"], 0)[bulk]
        served = (
            SERVED_BYTES * (sending - curve.least) if costs.served is None
            else more * costs.served.at(size)
        )  # fmt: skip
        rows["serve"][inline] += served[inline]


def _add_down(
    costs: PathCosts, program: CallProgram, down: np.ndarray, large: np.ndarray, size: Seconds,
    rows: dict[str, Seconds],
) -> None:  # fmt: skip
    copied = costs.pinned_down.at(size)
    few = float(costs.pinned_down.at(np.array([4.0]))[0])
    more = _in_step(costs, size)
    for memory, curve in costs.down.items():
        own = down & (program.memory == memory)
        beyond = more * np.maximum(curve.at(size) - curve.least - (copied - few), 0)
        inline, bulk = own & ~large, own & large
        for row, part in (("answer", 0.3), ("down", 0.4), ("after", 0.3)):
            rows[row][inline] += part * beyond[inline]
        # In pieces, while the GPU still copies.
        rows["down"][bulk] = (more * np.maximum(curve.at(size) - curve.least, 0))[bulk]


def _in_step(costs: PathCosts, size: Seconds) -> Seconds:
    """Times as much as bytes cost in a loop."""
    if costs.in_step is None:
        return np.ones(size.size)
    ends = costs.in_step.sizes[[0, -1]]
    return costs.in_step.at(np.clip(size, *ends))


def data_seconds(program: CallProgram, costs: PathCosts) -> Seconds:
    """What each call's bytes cost, beside a message's and its answer's."""
    _, messages = forwarded(program, costs)
    empty = replace(program, bytes=np.where(program.bytes > 0, 4, 0))
    return np.asarray((messages.times - forwarded(empty, costs)[1].times).sum(axis=0))


def _at_servers(
    program: CallProgram, costs: PathCosts, up: np.ndarray, down: np.ndarray, size: Seconds
) -> CallProgram:
    """Pageable copies become those of the server's rings; submitting is the server's part."""
    seconds = program.seconds.copy()
    for chosen, curve in ((up, costs.pinned_up), (down, costs.pinned_down)):
        pageable = chosen & (program.memory == Memory.pageable)
        seconds[pageable] = np.minimum(seconds, curve.at(size))[pageable]
    least = np.minimum(program.latency, LEAST_LATENCY)
    latency = np.maximum(program.latency - costs.submission, least)
    # A trace has drawn from ticks itself what engines waited for one another.
    tick = 0.0 if program.switches.any() else program.tick
    return replace(program, seconds=seconds, latency=latency, tick=tick)
