"""Forecasts a step of a traced program on another kind of GPU, kernel by kernel.

A kernel's name says what limits it: matrix units in some precision, memory, or a link to other
GPUs. Its time is multiplied by the ratio of times that bundled programs with that limit have on the
two kinds (``model.kinds``), except for ``LATENCY``, which no kind shortens. Kernels whose limit is
not known get the ratio of a family that the user states, or of all programs. The calls are then
simulated as natively (``timeline``), so that the host hides kernels, or waits for them, as it would
there.

**Interval.** The ratios are drawn jointly, with factors on host work, on kernels' latencies and on
copies to and from the host, whose median is 1; the step is simulated for each draw, and each draw
multiplied by the error of a simulated native step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from gpucast.data.kinds import GpuKind, kind_named
from gpucast.data.traces import tables
from gpucast.data.traces.finding_steps import find_steps
from gpucast.data.traces.trace import Process, Trace
from gpucast.data.traces.work_names import demangled
from gpucast.errors import InputError
from gpucast.model.intervals import Array
from gpucast.model.kinds import OTHER_HOST, precision_of, time_ratios
from gpucast.paths.traced.forecast import NATIVE, doubts_about
from gpucast.paths.traced.from_trace import traced_programs, warnings_of
from gpucast.paths.traced.program import CallProgram
from gpucast.paths.traced.timeline import median_seconds, native_seconds, natively
from gpucast.util.units import duration, percent

LATENCY = 2e-6
"""Part of a kernel's time (s) that no kind shortens: on H200, kernels of hardly any work take 0.7
to 2 us (dataset h200-traces)."""

SHORT_KERNELS = 0.1
"""Least share of latencies in the kernels' time that is worth a remark."""
DRAWS = 64
"""Pairs of opposite draws."""

MEMORY, MATRIX = "memory-bandwidth", "matrix-product"

_LINKS = re.compile("nccl", re.IGNORECASE)
_MATRIX = re.compile(
    r"gemm(?!v)|cutlass|xmma|nvjet|wgmma|matmul|convolve|conv\dd|winograd|[fd]prop|wgrad|dgrad|"
    r"flash|fmha|attention",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"elementwise|reduce|softmax|norm|_bn_|bn_[fb]w|copy|memcpy|memset|fill|cat|index|gather|"
    r"scatter|transpose|permute|pool|dropout|multi_tensor|foreach|adam|embedding|gemv|sort|radix|"
    r"scan|cub::|fft|spmv|csrmv|stream|triad|stencil|convert|epilogue|splitK",
    re.IGNORECASE,
)
_PRECISIONS = (
    ("bf16", r"bf16|bfloat16|nvjet_t"),
    ("fp16", r"fp16|f16|half|[hs](884|1688|16816)gemm_f?p?16|h(884|1688|16816)|hgemm|nvjet_h"),
    ("fp64", r"dgemm|d884|f64|double"),
    ("tf32", r"tf32|s1688|s16816|tensorop"),
)
"""Precisions of matrix products by marks in their names, the first that matches; else
fp32."""


@dataclass(frozen=True)
class Limit:
    """What limits kernels: a family of bundled programs (None: all) and a precision; ``words``
    name it."""

    words: str
    family: str | None
    precision: str


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


LINKS = Limit("NCCL and copies between GPUs", None, "")
HOST = Limit("copies to and from the host", None, "")
MEMORY_BOUND = Limit("limited by memory", MEMORY, "fp32")


def limit_of(kernel: str, like: str | None = None) -> Limit:
    """Return the limit of a kernel by its demangled name; if that does not tell, family
    ``like``."""
    if _LINKS.search(kernel):
        return LINKS
    if _MATRIX.search(kernel):
        marked = (name for name, marks in _PRECISIONS if re.search(marks, kernel))
        precision = next(marked, "fp32_matrix")
        return Limit(f"matrix products, {precision.removesuffix('_matrix')}", MATRIX, precision)
    if _MEMORY.search(kernel):
        return MEMORY_BOUND
    return Limit(f"others, as {like or 'all programs'}", like, precision_of(like))


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
        InputError: a kind is not known or not calibrated, it lacks units that a kernel uses, or
            there is no repeating step.
    """
    stated = from_kind or next(iter(trace.run.machine.gpus), None)
    if stated is None:
        raise InputError("does not state its kind of GPU", file=trace.file, field="--from-kind")
    own, other = kind_named(stated, "--from-kind"), kind_named(kind)
    if own == other:
        raise InputError(f"the trace is of {own.name} already", field="--kind")
    steps = find_steps(trace, range_name)
    programs = traced_programs(trace, steps=steps)
    answers = [
        forecast(program, trace.processes[its.process], own, other, like)
        for program, its in zip(programs, steps.processes, strict=True)
    ]
    slowest = max(answers, key=lambda answer: answer.seconds)
    return replace(slowest, warnings=(*slowest.warnings, *warnings_of(programs)))


def forecast(
    program: CallProgram, process: Process, own: GpuKind, other: GpuKind, like: str | None
) -> KindForecast:
    """Forecast a program's step on another kind. The part of the native step that the simulation
    misses is added unchanged."""
    native = native_seconds(program)
    replayed = float(median_seconds(program)[0])
    limits, works, kernels = _works(program, process, like)
    factors, host, latency = _factors(limits, own, other)
    fixed = works * np.minimum(LATENCY * kernels / np.maximum(works.sum(axis=1), 1e-12), 1)[:, None]
    scaled = works - fixed
    takes = natively(program)
    seconds = median_seconds(
        program,
        replace(
            takes,
            gap=takes.gap * host,
            ask=takes.ask * host,
            there=takes.there * host,
            tail=takes.tail * host,
            seconds=fixed.sum(axis=1, keepdims=True) * latency + scaled @ factors,
        ),
    )
    missed = native - replayed
    steps = np.maximum(seconds + missed, 0.1 * seconds)
    error = np.exp(NATIVE * _normal(1)[0])
    low, high = np.quantile(steps[1:] * error[1:], (0.05, 0.95))
    by_limit = fixed.sum(axis=0)[:, None] * latency + scaled.sum(axis=0)[:, None] * factors
    by_limit /= program.steps
    shares = [
        Share(
            limit.words,
            float(works[:, at].sum()) / program.steps,
            float(by_limit[at][0]),
            *map(float, np.quantile(by_limit[at][1:], (0.05, 0.95))),
        )
        for at, limit in enumerate(limits)
    ]
    return KindForecast(
        own=own.name,
        kind=other.name,
        native=native,
        replayed=replayed,
        seconds=float(steps[0]),
        low=float(low),
        high=float(high),
        shares=tuple(sorted(shares, key=lambda share: -share.native)),
        steps=program.steps,
        warnings=(
            *program.warnings,
            *doubts_about(native, replayed),
            *_rests_on(own, other, float(fixed.sum() / max(works.sum(), 1e-12))),
        ),
    )


def _works(
    program: CallProgram, process: Process, like: str | None
) -> tuple[list[Limit], Array, Array]:
    """Return the limits of a program's work; the time (s) of each call's work, a column a limit;
    and the number of its kernels. A graph's time is divided among its kernels by theirs."""
    work = process.work
    seconds = (work["end_ns"] - work["start_ns"]).to_numpy() / 1e9
    names = {
        number: limit_of(demangled(process.name_of(number)), like)
        for number in work["name"].unique().tolist()
    }
    by_row = [
        names[name] if kind in (tables.KERNEL, tables.GRAPH) else _limit_of_copy(kind, direction)
        for kind, name, direction in zip(
            *(work[column].tolist() for column in ("kind", "name", "direction")), strict=True
        )
    ]
    rows = work.groupby("correlation").indices
    correlations = work["correlation"].to_numpy()
    limits = list(dict.fromkeys(by_row))
    column = np.array([limits.index(limit) for limit in by_row])
    works, kernels = np.zeros((len(program), len(limits))), np.zeros(len(program))
    for call in np.flatnonzero(program.works & (program.work >= 0)).tolist():
        own = np.asarray(rows[correlations[program.work[call]]])
        total = max(float(seconds[own].sum()), 1e-12)
        np.add.at(works[call], column[own], program.seconds[call] * seconds[own] / total)
        kernels[call] = own.size
    kept = np.asarray(works.any(axis=0))
    return (
        [limit for limit, keep in zip(limits, kept.tolist(), strict=True) if keep],
        works[:, kept],
        kernels,
    )


def _limit_of_copy(kind: int, direction: int) -> Limit:
    if kind == tables.COPY and direction == tables.BETWEEN_DEVICES:
        return LINKS
    if kind == tables.COPY and direction in (tables.TO_DEVICE, tables.TO_HOST):
        return HOST
    return MEMORY_BOUND


def _factors(limits: list[Limit], own: GpuKind, other: GpuKind) -> tuple[Array, Array, Array]:
    """Return draws of the factors on the work of each limit, on the host's time, and on kernels'
    latencies; the first of each is the median."""
    normal = _normal(len(limits) + 2, seed=1)
    host, latency = np.exp(OTHER_HOST * normal[-2:])
    factors = np.ones((len(limits), host.size))
    calibrated = [at for at, limit in enumerate(limits) if limit not in (LINKS, HOST)]
    if calibrated:
        programs = [(limits[at].family, limits[at].precision) for at in calibrated]
        mean, covariance = time_ratios(own, other, programs)
        root = np.linalg.cholesky(covariance)
        factors[calibrated] = np.exp(mean[:, None] + root @ normal[calibrated])
    for at, limit in enumerate(limits):
        if limit == HOST:
            factors[at] = np.exp(OTHER_HOST * normal[at])
        if limit == LINKS:
            # It lies between 1 and the ratio of the kinds' links, which not all copies use.
            links = np.log(own.link / other.link)
            factors[at] = np.exp(np.sqrt(OTHER_HOST**2 + links**2 / 12) * normal[at])
    return factors, host, latency


def _normal(rows: int, seed: int = 0) -> Array:
    """Return normal draws, in opposite pairs after a column of zeros."""
    drawn = np.random.default_rng(seed).standard_normal((rows, DRAWS))
    return np.hstack([np.zeros((rows, 1)), drawn, -drawn])


def _rests_on(own: GpuKind, other: GpuKind, latency: float) -> list[str]:
    """Return what the forecast rests on. ``latency``: share of the kernels' time."""
    texts = [
        f"times of kernels follow from timings of other programs on {own.name} and {other.name}; "
        "host work, and copies to and from the host, are taken as equal: a step timed there tells "
        "more"
    ]
    if latency > SHORT_KERNELS:
        texts.append(
            f"{percent(latency, 0)} of the kernels' time is within their first "
            f"{duration(LATENCY)}, which are taken as equal on both kinds"
        )
    if other.memory < own.memory:
        texts.append(
            f"{other.name} has {other.memory / 1e9:.0f} GB, {own.name} has {own.memory / 1e9:.0f} "
            "GB: a trace does not state how much memory the program takes"
        )
    return texts
