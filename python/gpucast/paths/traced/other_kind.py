"""Forecasts a step of a traced program on another kind of GPU, kernel by kernel.

A kernel's name says what limits it (``kernel_limits``). Its time is multiplied by the ratio of
times that bundled programs with that limit have on the two kinds (``model.kinds``), except for its
latency, which no kind shortens. Kernels whose limit is not known get the ratio of a family that the
user states, or of all programs. The calls are then simulated as natively (``timeline``), so that
the host hides kernels, or waits for them, as it would there. A step takes at least as long as its
work in any stream: a trace need not show what the host waits for.

**Interval.** The ratios are drawn jointly, with factors on the host's time, on copies to and from
the host, on the latency and on the part of a kernel's time that it is, and with a place between 1
and the ratio of links for copies between GPUs. The step is simulated for each draw, and each draw
multiplied by the error of a simulated native step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from gpucast.data.kinds import GpuKind, kind_named, known_kind
from gpucast.data.traces import tables
from gpucast.data.traces.finding_steps import find_steps
from gpucast.data.traces.trace import Process, Trace
from gpucast.data.traces.work_names import short
from gpucast.errors import InputError
from gpucast.model.intervals import Array
from gpucast.model.kinds import OTHER_HOST, precision_of, time_ratios
from gpucast.paths.traced.forecast import NATIVE, doubts_about
from gpucast.paths.traced.from_trace import several_processes, traced_programs
from gpucast.paths.traced.kernel_limits import (
    HOST,
    IN_8_BITS,
    LINKS,
    MEMORY_BOUND,
    Limit,
    limit_of,
)
from gpucast.paths.traced.program import CallProgram
from gpucast.paths.traced.timeline import median_seconds, native_seconds, natively
from gpucast.util.units import duration, percent

LATENCY, LATENCY_SD = 1e-6, 0.45
"""Part of a kernel's time (s) that no kind shortens, and sd of its logarithm: on H200, kernels of
hardly any work take 0.7 to 2 us (dataset h200-traces)."""
OTHER_COPIES = 0.5
"""Sd of ln of the factor on copies to and from the host: a generation of PCIe is a factor of 2."""
WORTH_SAYING = 0.1
"""Least share of the kernels' time that is worth a remark."""
DRAWS = 1000


@dataclass(frozen=True)
class Share:
    """Kernels with one limit: their total time per step on the two kinds (s), and the 90 % interval
    of the latter."""

    words: str
    native: float
    seconds: float
    low: float
    high: float


@dataclass(frozen=True)
class KindForecast:
    """A step on another kind of GPU.

    Attributes:
        own, kind: names of the kinds.
        native: median recorded step time (s); ``replayed``: the same, simulated from its calls (s).
        seconds: forecast on the kind (s); low, high: 90 % interval.
        shares: kernels by limit, those that take longest first.
        warnings: about the program, and about what the forecast rests on.
    """

    own: str
    kind: str
    native: float
    replayed: float
    seconds: float
    low: float
    high: float
    shares: tuple[Share, ...]
    steps: int
    warnings: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """Step time over native step time."""
        return self.seconds / self.native


def trace_on_kind(
    trace: Trace,
    kind: str,
    *,
    like: str | None = None,
    from_kind: str | None = None,
    range_name: str | None = None,
) -> KindForecast:
    """Forecast a step of a traced program on another kind of GPU, that of the slowest process.

    Args:
        like: the family of bundled timings that kernels of unknown limit resemble.
        from_kind: the kind of the trace's GPUs; by default as it states.
        range_name: the NVTX range that is a step; None: steps are found by repetition.

    Raises:
        InputError: a kind is not known or not calibrated, or there is no repeating step.
    """
    precision = precision_of(like)
    other = kind_named(kind)
    own = _kind_of(trace, from_kind)
    if own == other:
        raise InputError(f"the trace is of {own.name} already", field="--kind")
    steps = find_steps(trace, range_name)
    programs = traced_programs(trace, steps=steps)
    answers = [
        forecast(program, trace.processes[its.process], own, other, like, precision)
        for program, its in zip(programs, steps.processes, strict=True)
    ]
    slowest = max(answers, key=lambda answer: answer.seconds)
    memory = _memory(trace.run.gpu_memory, own, other)
    return replace(slowest, warnings=(*memory, *slowest.warnings, *several_processes(programs)))


def _memory(taken: int | None, own: GpuKind, other: GpuKind) -> list[str]:
    """Return a remark if the program may not fit into the other kind's memory. ``taken``: the most
    bytes that a GPU had in use; None: not known."""
    has = f"{other.name} has {other.memory / 1e9:.0f} GB"
    if taken is None:
        if other.memory >= own.memory:
            return []
        own_has = f"{own.name} has {own.memory / 1e9:.0f} GB"
        return [f"{has}, {own_has}: the trace does not state how much memory the program takes"]
    if taken <= other.memory:
        return []
    return [
        f"the program took {taken / 1e9:.3g} GB of a GPU's memory, with all that its allocator "
        f"kept; {has}: it does not fit, unless less will do"
    ]


def _kind_of(trace: Trace, stated: str | None) -> GpuKind:
    """Return the kind of the GPUs that did the work."""
    gpus = trace.run.machine.gpus
    working = {
        number for process in trace.processes for number in process.work["device"].unique().tolist()
    }
    names = {gpus[number] for number in working if number < len(gpus)} or set(gpus)
    known = {kind.name: kind for name in names if (kind := known_kind(name)) is not None}
    if stated is not None:
        own = kind_named(stated, "--from-kind")
        if known and own not in known.values():
            raise InputError(
                f"the trace is of {', '.join(known)}, not of {own.name}", field="--from-kind"
            )
        return own
    if len(known) == 1 and len(names) == 1:
        return next(iter(known.values()))
    if not names:
        message = "does not state its kind of GPU: --from-kind does"
    elif len(names) > 1:
        message = (
            f"its work is on {' and '.join(sorted(names))}: --from-kind says on which it counts"
        )
    else:
        gpu = next(iter(names))
        message = f"its GPU, {gpu!r}, is not in the catalogue: --from-kind names one that is"
    raise InputError(message, file=trace.file)


def forecast(
    program: CallProgram,
    process: Process,
    own: GpuKind,
    other: GpuKind,
    like: str | None = None,
    precision: str = "fp32",
) -> KindForecast:
    """Forecast a program's step on another kind. The part of the native step that the simulation
    misses is added unchanged.

    Args:
        like, precision: family and precision of kernels whose limit is not known.
    """
    native = native_seconds(program)
    replayed = float(median_seconds(program)[0])
    limits, works, kernels = _works(program, process, like, precision)
    normal = _normal(len(limits) + 4)
    factors = _factors(limits, own, other, normal)
    host, longer = np.exp(OTHER_HOST * normal[-4:-2])
    latency = LATENCY * np.exp(LATENCY_SD * normal[-2])
    total = works.sum(axis=1)[:, None]
    # The share of each call's work that is the latency of its kernels.
    fixed = np.minimum(latency * kernels[:, None] / np.maximum(total, 1e-12), 1)
    takes = natively(program)
    there = total * fixed * longer + (works @ factors) * (1 - fixed)
    seconds = median_seconds(
        program,
        replace(
            takes,
            gap=takes.gap * host,
            ask=takes.ask * host,
            there=takes.there * host,
            tail=takes.tail * host,
            seconds=there,
        ),
    )
    missed = native - replayed
    steps = np.maximum(seconds + missed, 0.1 * seconds)
    steps = np.maximum(steps, _busiest_stream(program, total, there, native))
    low, high = _ends(steps * np.exp(NATIVE * normal[-1]))
    by_limit = [
        work @ (fixed * longer + (1 - fixed) * factor) / program.steps
        for work, factor in zip(works.T, factors, strict=True)
    ]
    shares = [
        Share(limit.words, float(work.sum()) / program.steps, float(there[0]), *_ends(there))
        for limit, work, there in zip(limits, works.T, by_limit, strict=True)
    ]
    latencies = float((total[:, 0] * fixed[:, 0]).sum() / max(works.sum(), 1e-12))
    return KindForecast(
        own=own.name,
        kind=other.name,
        native=native,
        replayed=replayed,
        seconds=float(steps[0]),
        low=low,
        high=high,
        shares=tuple(sorted(shares, key=lambda share: -share.native)),
        steps=program.steps,
        warnings=(
            *program.warnings,
            *doubts_about(native, replayed),
            *_unknown(process, limits, works, like),
            *_rests_on(own, other, limits, latencies),
        ),
    )


def _busiest_stream(program: CallProgram, total: Array, there: Array, native: float) -> Array:
    """Return the time (s) of a step's work in the stream that has most of it, in each draw: no step
    is shorter, whatever the host waits for or does not.

    Args:
        total, there: time of each call's work on the two kinds, (calls, 1) and (calls, draws); s.
        native: step time (s), which the work of a stream does not exceed on the trace's kind.
    """
    works = np.flatnonzero(program.works)
    stream = np.unique(program.stream[works], return_inverse=True)[1]
    counts = int(stream.max(initial=-1)) + 1
    own, other = np.zeros((counts, 1)), np.zeros((counts, there.shape[1]))
    np.add.at(own, stream, total[works] / program.steps)
    np.add.at(other, stream, there[works] / program.steps)
    other *= np.minimum(native / np.maximum(own, 1e-12), 1)
    return np.asarray(other.max(axis=0, initial=0.0))


def _ends(draws: Array) -> tuple[float, float]:
    """Return the 5 % and 95 % quantiles of draws after the first, which is the median."""
    low, high = np.quantile(draws[1:], (0.05, 0.95))
    return float(low), float(high)


def _works(
    program: CallProgram, process: Process, like: str | None, precision: str
) -> tuple[list[Limit], Array, Array]:
    """Return the limits of a program's work; the time (s) of each call's work, a column a limit;
    and the number of its kernels (0: not known). A graph's time is divided among its kernels by
    theirs."""
    correlations = process.work["correlation"].to_numpy()
    calls = np.flatnonzero(program.works & (program.work >= 0))
    asked = correlations[program.work[calls]]
    work = process.work[np.isin(correlations, asked)]
    seconds = (work["end_ns"] - work["start_ns"]).to_numpy() / 1e9
    names = {
        number: limit_of(process.name_of(number), like, precision)
        for number in work["name"].unique().tolist()
    }
    by_row = [
        names[name] if kind in (tables.KERNEL, tables.GRAPH) else _limit_of_copy(kind, direction)
        for kind, name, direction in zip(
            *(work[column].tolist() for column in ("kind", "name", "direction")), strict=True
        )
    ]
    rows = work.groupby("correlation").indices
    graph = work["kind"].to_numpy() == tables.GRAPH
    limits = list(dict.fromkeys(by_row))
    column = np.array([limits.index(limit) for limit in by_row])
    works, kernels = np.zeros((len(program), len(limits))), np.zeros(len(program))
    for call, correlation in zip(calls.tolist(), asked.tolist(), strict=True):
        own = np.asarray(rows[correlation])
        total = max(float(seconds[own].sum()), 1e-12)
        np.add.at(works[call], column[own], program.seconds[call] * seconds[own] / total)
        kernels[call] = (~graph[own]).sum()
    kept = np.asarray(works.any(axis=0))
    used = [limit for limit, keep in zip(limits, kept.tolist(), strict=True) if keep]
    return used, works[:, kept], kernels


def _limit_of_copy(kind: int, direction: int) -> Limit:
    if kind == tables.COPY and direction == tables.BETWEEN_DEVICES:
        return LINKS
    if kind == tables.COPY and direction in (tables.TO_DEVICE, tables.TO_HOST):
        return HOST
    return MEMORY_BOUND


def _factors(limits: Sequence[Limit], own: GpuKind, other: GpuKind, normal: Array) -> Array:
    """Return draws of the factors on the work of each limit."""
    factors = np.ones((len(limits), normal.shape[1]))
    ratios = [at for at, limit in enumerate(limits) if limit not in (LINKS, HOST)]
    if ratios:
        programs = [(limits[at].family, limits[at].precision) for at in ratios]
        mean, covariance = time_ratios(own, other, programs)
        root = np.linalg.cholesky(covariance)
        factors[ratios] = np.exp(mean[:, None] + root @ normal[ratios])
    for at, limit in enumerate(limits):
        if limit == HOST:
            factors[at] = np.exp(OTHER_COPIES * normal[at])
        if limit == LINKS:
            factors[at] = (own.link / other.link) ** ndtr(normal[at])
    return factors


def _normal(rows: int) -> Array:
    """Return normal draws after a column of zeros: each row's are one in each of as many equally
    probable intervals."""
    uniform = qmc.LatinHypercube(rows, seed=1).random(DRAWS)
    return np.hstack([np.zeros((rows, 1)), ndtri(uniform.T)])


def _rests_on(own: GpuKind, other: GpuKind, limits: Sequence[Limit], latencies: float) -> list[str]:
    """Return what the forecast rests on. ``latencies``: their share of the kernels' time."""
    texts = []
    if latencies > WORTH_SAYING:
        texts.append(
            f"{percent(latencies, 0)} of the kernels' time is within their first "
            f"{duration(LATENCY)}, which are taken as equal on both kinds"
        )
    if LINKS in limits and own.link != other.link:
        texts.append(
            "copies between GPUs and NCCL's kernels take between 1 and "
            f"{own.link / other.link:.3g} times as long, as links do"
        )
    lacking = {
        limit.precision
        for limit in limits
        for kind in (own, other)
        if limit.family and limit.precision not in kind.peaks
    }
    if lacking:
        texts.append(
            f"{' and '.join(sorted(lacking))}: one of the kinds has no such units, and is taken to "
            "compute in fp32"
        )
    if IN_8_BITS in limits:
        texts.append(
            "products in fp8 and int8 get the ratio of fp16: not all kinds have such units"
        )
    if not limits:
        texts.append("the steps have no work for a GPU")
    return [
        *texts,
        f"times of kernels follow from timings of other programs on {own.name} and {other.name}; "
        "host work, and copies to and from the host, are taken as equal: a step timed there tells "
        "more",
    ]


def _unknown(
    process: Process, limits: Sequence[Limit], works: Array, like: str | None
) -> list[str]:
    """Return a remark if much of the work is in kernels whose limit is not known."""
    unknown = np.array([not limit.known for limit in limits], dtype=bool)
    share = works[:, unknown].sum() / max(works.sum(), 1e-12)
    if share <= WORTH_SAYING:
        return []
    work = process.work[process.work["kind"].isin((tables.KERNEL, tables.GRAPH))]
    seconds = (work["end_ns"] - work["start_ns"]).groupby(work["name"]).sum()
    longest = max(
        (number for number in seconds.index if not limit_of(process.name_of(number)).known),
        key=lambda number: seconds[number],
    )
    graphs = (work["kind"] == tables.GRAPH).any()
    what = "graphs recorded as a whole" if graphs else short(process.name_of(longest))
    taken = f"as {like}" if like else "as all programs; --like says what it resembles"
    return [
        f"{percent(share, 0)} of the GPUs' time is of kernels whose limit is not known ({what}), "
        f"taken {taken}"
    ]
