"""What bytes cost in a step, beside what they cost in a loop of copies.

A loop of copies finds caches, threads and connections warm; in a step the host has just written
what it sends, and GPUs and connections have waited for it. Steps without their work (``skeleton``
records) show the difference: they are simulated as programs of calls, and what they take longer, as
a share of what their bytes cost, is by how much bytes cost more in a step. One GPU, blocking copies
and kernels of up to 300 us are used: others would bring in what lies elsewhere.

Copies that go over connections of their own cost as much more whatever their size: the threads of
these sleep between copies, the deeper the longer (path.h), and in a step nearly always.

What large copies of several GPUs share shows where most GPUs are sent much at once: the rate at
which a simulation takes as long as these steps did. Where all is one host, copies alone tell it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.records import Skeleton
from gpucast.paths.replay.measured import Curve
from gpucast.paths.replay.network import Network
from gpucast.paths.replay.path import USUAL_VISIT, PathCosts, data_seconds, forwarded, path_costs
from gpucast.paths.replay.program import CallProgram, Direction, Engine, Memory, Operation, tick_of

LONGEST_KERNEL = 300e-6
WHOLE = 20e-6
"""s by which a difference is not the bytes': sizes that cost less say little."""
LEAST, MOST = 0.6, 2.0
"""Factors beyond these are something else."""

LONGEST_WAKE = 2e-3
SLOWEST_LINE = 1e-8
"""s a byte: slower ones are told by copies alone."""

_STEPS = 12
_ROUNDS = 3
_HALVINGS = 8
_LINE_HALVINGS = 12
_SETTLING = 3
_GAP = 20e-6
_INTEGRATED = 0.25e-9
"""s a byte that comes back, in which the host integrates between steps (engine/skeleton.cpp)."""
_COPY, _RATE = 1.4e-6, 52e9


def step_costs(
    data: Dataset, path: str, *, machine: str | None = None, network: Network | None = None
) -> PathCosts:
    """What calls cost on a forwarding path in a step.

    Args:
        machine: whose measurements; None: all.
        network: another network than the path was measured on.

    Raises:
        InputError: as ``path_costs``.
    """
    # Forecasts of many traces, and a map beside one, ask for the same, which takes a second.
    known = data.derived.get((step_costs, path, machine))
    if known is None:
        own = data if machine is None else data.select(machine=machine)
        known = data.derived[step_costs, path, machine] = in_steps(path_costs(own, path), own)
    costs: PathCosts = known
    return costs if network is None else costs.over(network)


def in_steps(costs: PathCosts, data: Dataset) -> PathCosts:
    """With what bytes cost in a step; as they are where no skeletons of the path were measured."""
    alone = [
        record
        for record in data.skeletons
        if record.path == costs.path and record.gpus == 1 and record.busy <= LONGEST_KERNEL
    ]
    chosen = [record for record in alone if record.schedule == "star-serial"]
    by_size: dict[int, list[Skeleton]] = {}
    for record in chosen:
        by_size.setdefault(record.h2d_bytes, []).append(record)
    sizes = sorted(size for size in by_size if size <= costs.inline_bytes)
    if len(sizes) < 2:
        return costs
    tick = tick_in(data)
    factors = [_factor(costs, by_size[size], tick) for size in sizes]
    in_step = replace(costs, in_step=Curve(np.array(sizes, float), np.array(factors)))
    large = [record for record in alone if record.h2d_bytes > costs.inline_bytes]
    in_step = replace(
        in_step,
        bulk_wake=_wake(in_step, large, tick),
        spread_visit=_visits_differ(alone, costs.inline_bytes),
    )
    if in_step.bulk_line > 0:
        return in_step
    return replace(in_step, bulk_line=_line(in_step, data, tick))


def tick_in(data: Dataset) -> float:
    """That of the GPUs of its machines, s."""
    return tick_of(gpu.name for machine in data.machines.values() for gpu in machine.gpus or [])


def _wake(costs: PathCosts, records: Sequence[Skeleton], tick: float) -> float:
    """s with which simulations of these steps are as often too short as too long."""

    def too_long(wake: float) -> bool:
        return _too_long(replace(costs, bulk_wake=wake), records, tick)

    if not records or too_long(0.0):
        return 0.0
    low, high = 0.0, LONGEST_WAKE
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if too_long(middle) else (middle, high)
    return high


def _line(costs: PathCosts, data: Dataset, tick: float) -> float:
    """s a byte of what large copies share; 0 where nothing shows it."""
    together = [
        record
        for record in data.skeletons
        if record.path == costs.path
        and record.schedule == "star-async"
        and record.gpus > 1
        and record.h2d_bytes > costs.inline_bytes
        and record.busy <= LONGEST_KERNEL
    ]
    most = max((record.gpus for record in together), default=0)
    together = [record for record in together if record.gpus == most]

    def too_long(line: float) -> bool:
        return _too_long(replace(costs, bulk_line=line), together, tick)

    if not together or too_long(0.0):
        return 0.0
    low, high = SLOWEST_LINE / 1e4, SLOWEST_LINE
    for _ in range(_LINE_HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if too_long(middle) else (middle, high)
    return high


def _too_long(costs: PathCosts, records: Sequence[Skeleton], tick: float) -> bool:
    """Whether simulations of steps are more often too long than too short."""
    misses = [
        step_seconds(record, costs, tick) / statistics.median(record.seconds) for record in records
    ]
    return statistics.median(misses) > 1


def _visits_differ(records: Iterable[Skeleton], inline_bytes: int) -> float:
    """Standard deviation of the logarithm of a step that was measured again, minutes later.

    Steps with large copies, whose threads wake by chance, are left out.
    """
    medians: dict[tuple[object, ...], list[float]] = {}
    for record in records:
        if record.h2d_bytes <= inline_bytes:
            sizes = record.h2d_bytes, record.d2h_bytes
            shape = (record.schedule, record.memory, *sizes, record.busy)
            medians.setdefault(shape, []).append(statistics.median(record.seconds))
    several = [visits for visits in medians.values() if len(visits) > 1]
    variances = [statistics.variance(np.log(visits)) for visits in several]
    return statistics.mean(variances) ** 0.5 if variances else USUAL_VISIT


def _factor(costs: PathCosts, records: Sequence[Skeleton], tick: float) -> float:
    factor = 1.0
    for _ in range(_ROUNDS):
        tried = replace(costs, in_step=Curve(np.ones(1), np.array([factor])))
        factors = []
        for record in records:
            more = statistics.median(record.seconds) - step_seconds(record, tried, tick)
            of_bytes = float(data_seconds(skeleton_program(record, tick), costs).sum()) / _STEPS
            factors.append(more / (of_bytes + WHOLE))
        factor = float(np.clip(factor + statistics.median(factors), LEAST, MOST))
    return factor


def step_seconds(record: Skeleton, costs: PathCosts, tick: float = 0.0) -> float:
    """A skeleton's step in a simulation: from its first call until the last has returned, s."""
    there, messages = forwarded(skeleton_program(record, tick), costs)
    times = there.simulate(messages)
    calls = len(there) // _STEPS
    return float(np.median((times.end[calls - 1 :: calls] - times.begin[::calls])[_SETTLING:]))


def skeleton_program(record: Skeleton, tick: float = 0.0) -> CallProgram:
    """The calls of a skeleton of a step, as microbench/src/engine/cuda/skeleton.cpp makes them."""
    blocking = record.schedule == "star-serial"
    memory = Memory.pageable if record.memory == "pageable" else Memory.pinned
    devices = range(record.gpus)
    up = [(Operation.copy, Direction.h2d, record.h2d_bytes, device) for device in devices]
    kernel = [(Operation.launch, Direction.none, 0, device) for device in devices]
    down = [(Operation.copy, Direction.d2h, record.d2h_bytes, device) for device in devices]
    wait = [(Operation.sync_stream, Direction.none, 0, device) for device in devices]
    if blocking:
        step = [*up, *kernel, *down]
    else:
        step = [call for three in zip(up, kernel, down, strict=True) for call in three] + wait
    operation, direction, size, device = np.array(step * _STEPS, np.int64).T
    count, calls = operation.size, len(step)
    copies = operation == Operation.copy
    engine = np.where(direction == Direction.h2d, Engine.h2d, Engine.d2h)
    engine = device * len(Engine) + np.where(copies, engine, Engine.compute)
    engine[operation == Operation.sync_stream] = -1
    kernel_seconds = record.busy + 0.7e-6
    gap = np.zeros(count)
    gap[::calls] = _GAP + _INTEGRATED * record.gpus * record.d2h_bytes
    return CallProgram(
        threads=1,
        devices=record.gpus,
        streams=np.array([list(devices), [3 if blocking else 2] * record.gpus]),
        thread=np.zeros(count, np.int64),
        operation=operation,
        direction=direction,
        memory=np.where(copies, memory, Memory.none),
        blocking=(copies & blocking).astype(np.int64),
        device=device,
        stream=device,
        bytes=size,
        recording=np.full(count, -1),
        engine=engine,
        gap=gap,
        cost=np.full(count, 2.5e-6),
        tail=np.full(count, 2e-6),
        latency=np.full(count, 4e-6),
        delay=np.full(count, 1e-6),
        seconds=np.where(copies, _COPY + size / _RATE, kernel_seconds),
        share=np.ones(count),
        switches=np.zeros(count, bool),
        step=np.repeat(np.arange(_STEPS), calls),
        name=np.zeros(count, np.int64),
        names=("",),
        bound_call=np.append(np.arange(0, count, calls), count),
        bound_offset=np.zeros(_STEPS + 1),
        recorded=np.full(_STEPS, np.nan),
        tick=tick,
    )
