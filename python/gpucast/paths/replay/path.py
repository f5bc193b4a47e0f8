"""What calls cost that are forwarded to servers, from what was measured on that path.

A message takes its host c to send. Its server takes m, and then makes the driver call that the
program would have made, which takes what it takes natively, D: most for launches and copies, little
for events. An answer takes a turn beside:

    R = flight + answer + flight + after

and where a wait's work is done, its server knows a while later, the tail W. Launches tell them, of
which the server makes one in m + D (rows of launches and the wait behind them, ``launch`` records,
method drain, natively D; a copy of few bytes to the device, which has no arguments to be packed,
is sent in c):

    an answered launch          c_launch + m + D + R     (method row, where every call is answered)
    a wait that finds nothing   c + m + R + W            (method idle)
    a launch and its wait       c_launch + m + R + latency + kernel + W

Work begins later by its latency than the server began with the driver's call, as natively.

A blocking copy of n bytes to the device returns when they are sent: its curve h(n) is what the
host pays. Where calls are answered it returns h_s(n) when its server has read and copied them, too:
what that grows with n is the server's time, in which the host still sends for h(n) - h(0). A copy
to the host waits for its bytes: its curve g(n) beyond g of a few bytes, less what the GPU's copy
takes, is theirs. The server copies them from its pinned memory and writes, the host reads and
copies them; while one writes the other reads (remote/src/server/session.cpp, reply_queue.h;
client/control_connection.cpp).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data.dataset import Dataset
from gpucast.errors import InputError
from gpucast.paths.path_facts import direct_path, facts_of, same_layer
from gpucast.paths.replay.measured import Curve, curve_of, launch_seconds, visits_differ
from gpucast.paths.replay.native import USUAL_LATENCY
from gpucast.paths.replay.network import Network
from gpucast.paths.replay.program import (
    SYNCS,
    CallProgram,
    Direction,
    Layer,
    Memory,
    Messages,
    Operation,
    Seconds,
)

WAKE = 40e-6
"""s until a thread runs that a message woke, where it was not measured: Linux, an idle core."""
PCIE = 50e9
"""B/s of a pinned copy where no native transfers say it: H200, PCIe 5 x16."""
GPU_PART = 3.3e-6
"""s of an empty kernel from its submission to its end, likewise."""
EMPTY_KERNEL = 0.8e-6
USUAL_SPREAD = 0.09
"""By which visits differ where there was one: three of two H200 by 0.04 to 0.14."""
USUAL_VISIT = 0.065
"""Likewise of steps: three visits of the mini-app's remote steps on 2 and 4 H200 by 0.04 to 0.1."""
LEAST_LATENCY = 0.5e-6
LEAST_SERVED = 0.2e-6
USUAL_RECORD = 0.7e-6
"""s of the driver for an event, which a wait needs: likewise."""
LEAST_TAIL, MOST_TAIL = 0.5e-6, 8e-6
ANSWERED = 0.3
"""Share of a turn that is the server's answer; the host's end of it likewise."""
TURNED = 0.45
"""Share of what an idle wait takes beyond its sending that is R, where answered launches do not
say it: H200 hosts, loopback."""
ALONE, BOTH = 0.3, 0.4
"""Shares of what bytes take back to the host: of the server alone and of the host alone (each
copies them once), and of both, which write and read."""
FEW_BYTES = 8 << 10
MUCH = 4 << 20
"""Bytes of a copy beside which beginning with it takes no time."""
FASTEST = 0.1
"""Share of the copies that are."""
ONE_HOST = 8e-6
"""s: an answer takes longer from another host, whose network interface interrupts it."""
SENT = 0.28
"""Share of an answered launch that is c, where no other path says it: H200 hosts, loopback."""
SERVED_BYTES = 0.25
"""Growth of the server's time over that of sending, where nothing says it, likewise."""
_ROWS = ("cost", "up", "flight", "serve", "answer", "down", "after", "lead", "polls")
_ASKS = (Operation.alloc, Operation.free, Operation.query)


class Sent(NamedTuple):
    """s of the host for a message: a launch, with its arguments, and any other small one."""

    launch: float
    other: float


@dataclass(frozen=True, kw_only=True)
class PathCosts(Layer):
    """What calls cost on a path, s.

    Attributes:
        path: its name; synchronous: every call is answered.
        send: c of a launch, and of another small message.
        turn: R; serve: m; driver: D of a launch. (``tail``: W.)
        up: host's s of sending n bytes, by host memory; served: the server's beside a message.
        down: s of n bytes that come back beyond a small answer's, by host memory.
        pinned_up, pinned_down: s of a server's copies of n bytes between its rings and its GPU.
        in_step: times as much as n bytes cost in a step, over n; None: as much.
        spread_messages, spread_data, spread_visit: by which visits differ, in launches, in copies
            and in steps: standard deviations of logarithms.
        network: the one between the hosts; None: as measured.
        warnings: what was assumed for lack of a measurement.
    """

    path: str
    synchronous: bool
    send: Sent
    turn: float
    serve: float
    driver: float
    up: Mapping[Memory, Curve]
    served: Curve | None
    down: Mapping[Memory, Curve]
    pinned_up: Curve
    pinned_down: Curve
    in_step: Curve | None = None
    network: Network | None = None
    spread_messages: float = 0.0
    spread_data: float = 0.0
    spread_visit: float = USUAL_VISIT
    warnings: tuple[str, ...] = ()

    def over(self, network: Network) -> PathCosts:
        """The same software on another network than the one that it was measured on."""
        return replace(self, network=network, bulk_line=0.0)

    def scaled(self, factor: float, send: float, turn: float, data: float) -> PathCosts:
        """Everything times ``factor``, messages, turns and bytes each by another."""
        return replace(
            self,
            send=Sent(self.send.launch * factor * send, self.send.other * factor * send),
            turn=self.turn * factor * turn,
            serve=self.serve * factor * turn,
            driver=self.driver * factor * turn,
            tail=self.tail * factor * turn,
            up={key: curve.times(factor * data) for key, curve in self.up.items()},
            served=None if self.served is None else self.served.times(factor * data),
            down={key: curve.times(factor * data) for key, curve in self.down.items()},
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
    facts = facts_of(data, path)
    if facts.forwarded is False:
        raise InputError(
            f"{path} reaches GPUs without messages, as a trace's program does itself; name a path "
            "of remote GPUs",
            field="--path",
        )
    around = _Around(
        data=data,
        path=path,
        plain=same_layer(data, path, answered=False),
        answered=same_layer(data, path, answered=True),
        native=direct_path(data),
        inline_bytes=facts.layer.inline_bytes,
    )
    warnings: list[str] = []
    submit = _required(launch_seconds(data, path, "submit", 1), data, path, "submit")
    up, down = _by_memory(around, "h2d"), _by_memory(around, "d2h")
    sending = _sending(around, up)
    send = _send(around, submit, sending, warnings)
    serve, driver = _serving(around)
    turn, tail = _answering(around, send, serve, driver, warnings)
    return PathCosts(
        path=path,
        synchronous=facts.answered,
        send=send,
        turn=turn,
        serve=serve,
        driver=driver,
        tail=tail,
        up=sending,
        served=_served(around, up),
        down=down,
        bulk_line=_bulk_line(turn, [*sending.values(), *down.values()]),
        pinned_up=_pinned(around, "h2d"),
        pinned_down=_pinned(around, "d2h"),
        inline_bytes=facts.layer.inline_bytes,
        bulk_nap=facts.layer.nap,
        wake_server=_wake(data, path),
        wake_client=WAKE,
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


@dataclass(frozen=True)
class _Around:
    """A path, and those that tell of it what it does not itself.

    Attributes:
        plain: over the same layer, where calls are not all answered; answered: where all are; None:
            not measured. One of them is ``path``.
        native: where the same GPUs are reached without messages.
        inline_bytes: the largest copy within its message.
    """

    data: Dataset
    path: str
    plain: str | None
    answered: str | None
    native: str | None
    inline_bytes: int

    @property
    def synchronous(self) -> bool:
        """Whether every call is answered."""
        return self.path == self.answered

    def launch(self, path: str | None, method: str, count: int) -> float | None:
        """Median s of ``count`` launches together."""
        return launch_seconds(self.data, path, method, count)

    def each_of_many(self, path: str | None, method: str) -> float | None:
        """s of a launch among many."""
        few, many = (self.launch(path, method, count) for count in (16, 256))
        return (many - few) / 240 if few is not None and many is not None and many > few else None

    def copies(self, path: str | None, route: str, memory: Memory) -> Curve | None:
        """What a caller waits for copies."""
        return curve_of(self.data, path, route, memory.name, inline_bytes=self.inline_bytes)


def _send(around: _Around, submit: float, up: Mapping[Memory, Curve], warnings: list[str]) -> Sent:
    row = around.launch(around.plain, "row", 16)
    if around.synchronous:
        plain = around.launch(around.plain, "submit", 1)
        launch = plain if plain is not None else SENT * submit
    else:
        launch = submit
        if row is None:
            warnings.append(
                "launches were timed one at a time: those of a row may be sent faster "
                "(gpucast-microbench measure --what launches times rows, too)"
            )
    if row is not None:
        launch = row / 16
    return Sent(launch, min(launch, *(curve.least for curve in up.values())))


def _serving(around: _Around) -> tuple[float, float]:
    """m and D: what a server takes for each of many launches, and natively the driver."""
    driver = around.each_of_many(around.native, "row")
    if driver is None:
        driver = around.launch(around.native, "submit", 1) or GPU_PART
    both = around.each_of_many(around.plain, "drain")
    if both is None:
        return LEAST_SERVED, driver
    return max(both - driver, LEAST_SERVED), min(driver, max(both - LEAST_SERVED, LEAST_SERVED))


def _answering(
    around: _Around, send: Sent, serve: float, driver: float, warnings: list[str]
) -> tuple[float, float]:
    """R and W."""
    row = around.launch(around.answered, "row", 16)
    one = row / 16 if row is not None else around.launch(around.answered, "submit", 1)
    idle = around.launch(around.path, "idle", 1)
    both = around.launch(around.path, "sync", 1)
    if idle is not None:
        waited = idle - send.other - serve - USUAL_RECORD
    elif both is not None and not around.synchronous:
        waited = both - send.launch - serve - USUAL_LATENCY - EMPTY_KERNEL
    elif both is not None and one is not None:
        waited = both - one - send.other - serve - USUAL_RECORD
    else:
        _required(both, around.data, around.path, "sync")
    if one is None:
        warnings.append("what an answer takes is told by waits, to about 1 us")
        turn = TURNED * waited
    else:
        turn = one - send.launch - serve - driver
    turn = max(turn, 0.2 * waited)
    return turn, float(np.clip(waited - turn, LEAST_TAIL, MOST_TAIL))


def _bulk_line(turn: float, curves: Iterable[Curve]) -> float:
    """What large copies share where all is one host: all are as fast as the fastest alone."""
    if turn > ONE_HOST:
        return 0.0
    a_byte = [
        seconds / size
        for curve in curves
        for size, seconds in zip(curve.sizes, curve.seconds - curve.least, strict=True)
        if size >= MUCH
    ]
    return float(np.quantile(a_byte, FASTEST)) if a_byte else 0.0


def _wake(data: Dataset, path: str) -> float:
    """What a call takes longer that comes when the server sleeps."""
    rested, idle = (launch_seconds(data, path, method, 1) for method in ("rest", "idle"))
    return WAKE if rested is None or idle is None else max(rested - idle, 0.0)


def _by_memory(around: _Around, route: str) -> dict[Memory, Curve]:
    curves: dict[Memory, Curve] = {}
    for memory in (Memory.pageable, Memory.pinned):
        curve = around.copies(around.path, route, memory)
        if curve is None:
            raise InputError(
                f"no copies ({route}, method call) of two sizes on path {around.path}: "
                "gpucast-microbench measure --what launches,transfers",
                file=around.data.name,
                field="transfer",
            )
        curves[memory] = curve
    return curves


def _sending(around: _Around, up: Mapping[Memory, Curve]) -> dict[Memory, Curve]:
    """What sending takes the host: not all of a copy that is answered."""
    if not around.synchronous:
        return dict(up)
    result = {}
    for memory, curve in up.items():
        plain = around.copies(around.plain, "h2d", memory)
        grows = (curve.seconds - curve.least) / (1 + SERVED_BYTES)
        result[memory] = plain or replace(curve, seconds=SENT * curve.least + grows)
    return result


def _served(around: _Around, up: Mapping[Memory, Curve]) -> Curve | None:
    """What the server reads and copies n bytes in, by what copies take that are answered; None:
    that was not measured."""
    curve = up[Memory.pinned]
    if not around.synchronous:
        answered = around.copies(around.answered, "h2d", Memory.pinned)
        if answered is None:
            return None
        curve = answered
    sizes = curve.sizes[curve.sizes <= around.inline_bytes]
    if sizes.size < 2:
        return None
    return Curve(sizes, curve.at(sizes))


def _pinned(around: _Around, route: str) -> Curve:
    measured = curve_of(around.data, around.native, route, "pinned", "gated")
    if measured is not None:
        return measured
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
    large = size > costs.inline_bytes
    flight = (1 - 2 * ANSWERED) * costs.turn / 2
    rows = {name: np.zeros(len(program)) for name in _ROWS}
    launches = np.isin(operation, (Operation.launch, Operation.graph_launch))
    rows["cost"][:] = np.where(launches, costs.send.launch, costs.send.other)
    here = (operation == Operation.other) | (direction == Direction.host)
    rows["cost"][here] = program.cost[here]
    rows["flight"][:] = flight
    rows["serve"][:] = costs.serve + _driver_seconds(program, costs)
    rows["answer"][:] = rows["after"][:] = ANSWERED * costs.turn
    _add_up(costs, program, up, large, size, rows)
    _add_down(costs, program, down, large, size, rows)
    # What the driver itself takes for these, the server's takes.
    asks = np.isin(operation, _ASKS)
    rows["polls"][_polls(program)] = 1
    # For a device, each stream is waited for (remote/src/server/streams.cpp, `record_all`).
    devices = operation == Operation.sync_device
    used = np.unique(program.stream[program.stream >= 0])
    streams = np.bincount(program.streams[0][used], minlength=program.devices)
    for row in ("serve", "answer"):
        rows[row][devices] += USUAL_RECORD * np.maximum(streams - 1, 0)[program.device[devices]]
    rows["serve"][asks] += np.minimum(program.cost[asks], 1e-3)
    # The other device's streams are waited for first (remote/src/client/copies.cpp, `directly`).
    rows["cost"][copies & (direction == Direction.peer) & (program.blocking != 0)] += costs.turn
    line = 0.0
    if costs.network is not None:
        rows["flight"] += costs.network.round_trip / 2
        line = max(
            1 / costs.network.bandwidth, costs.network.round_trip / _core.REMOTE_MOST_UNDER_WAY
        )
    messages = Messages(
        transport=2 if costs.synchronous else 1,
        times=np.array(list(rows.values())),
        line=line,
        **{column.name: getattr(costs, column.name) for column in fields(Layer)},
    )
    return _at_servers(program, costs, up, down, size), messages


def _polls(program: CallProgram) -> NDArray[np.bool_]:
    """Waits that are questions, asked until the answer is yes."""
    asks = np.array([name.endswith("Query") for name in program.names], bool)
    return np.asarray(np.isin(program.operation, SYNCS) & asks[program.name])


def _driver_seconds(program: CallProgram, costs: PathCosts) -> Seconds:
    """What the driver takes at the server: for events what it took natively."""
    seconds = np.full(len(program), costs.driver)
    events = np.isin(program.operation, (Operation.record, Operation.wait_stream_event))
    seconds[events] = np.clip(program.cost, USUAL_RECORD, max(costs.driver, USUAL_RECORD))[events]
    seconds[np.isin(program.operation, SYNCS)] = USUAL_RECORD
    seconds[np.isin(program.operation, _ASKS)] = 0
    return seconds


def _add_up(
    costs: PathCosts, program: CallProgram, up: np.ndarray, large: np.ndarray, size: Seconds,
    rows: dict[str, Seconds],
) -> None:  # fmt: skip
    more = _in_step(costs, size)
    for memory, curve in costs.up.items():
        own = up & (program.memory == memory)
        sending = more * np.maximum(curve.at(size) - curve.least, 0)
        inline, bulk = own & ~large, own & large
        alone = np.minimum(sending, more * _byte_alone(curve) * size)
        rows["cost"][inline] += alone[inline]
        rows["up"][bulk] = sending[bulk]
        served = (
            (1 + SERVED_BYTES) * sending if costs.served is None
            else more * np.maximum(costs.served.at(size) - costs.served.least, 0)
        )  # fmt: skip
        rows["serve"][inline] += served[inline]
        rows["lead"][inline] = np.minimum(alone, served)[inline]


def _byte_alone(curve: Curve) -> float:
    """s a byte of who sends to somebody that keeps up: of a loop of copies of few bytes.

    A loop of larger ones soon waits for the server, whose socket is full.
    """
    few = (curve.sizes >= FEW_BYTES) & (curve.sizes <= 4 * FEW_BYTES)
    if not few.any():
        return 1.0  # no limit
    return float(np.median((curve.seconds[few] - curve.least) / curve.sizes[few]))


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
        for row, part in (("answer", ALONE + BOTH), ("lead", BOTH), ("after", ALONE + BOTH)):
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
    rows = messages.times - forwarded(empty, costs)[1].times
    lead = rows[-2]  # in which both sides are busy
    return np.asarray(rows.sum(axis=0) - 2 * lead)


def _at_servers(
    program: CallProgram, costs: PathCosts, up: np.ndarray, down: np.ndarray, size: Seconds
) -> CallProgram:
    """Pageable copies become those of the server's rings; submitting is the server's part."""
    seconds = program.seconds.copy()
    for chosen, curve in ((up, costs.pinned_up), (down, costs.pinned_down)):
        pageable = chosen & (program.memory == Memory.pageable)
        seconds[pageable] = np.minimum(seconds, curve.at(size))[pageable]
    # A traced latency includes the driver's call, which the server's time does, too.
    least = np.minimum(program.latency, LEAST_LATENCY)
    latency = np.maximum(program.latency - costs.driver, least)
    return replace(program, seconds=seconds, latency=latency)
