"""Measured cells of a program that is known by its step times alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data.records import Phases, Step
from gpucast.fitting.sample_variance import undisturbed
from gpucast.model.mixtures import DISPUTED, MeasuredParts
from gpucast.util.order_statistics import disagreeing, own_deviation
from gpucast.util.remarks import Kind, Remark, remark
from gpucast.util.units import number

Array = NDArray[np.float64]

# Cells with repetitions from which on their typical scatter is told from that of disturbed ones.
FEWEST_FOR_MEDIAN = 5

# By so much longer on average are steps with the samples left out, where that is said.
_FELT = 0.005

# So many cells with samples left out are named.
_NAMED = 3


@dataclass(frozen=True)
class Cells:
    """Measured cells as arrays of one length: see ``MeasuredCells``; ``traced``: whether a cell's
    time comes from a trace, call by call; ``within``: standard deviation of a single sample of log
    time about its cell, None where no cell has several."""

    n: Array
    gpus: Array
    nodes: Array
    seconds: Array
    variance: Array
    repetitions: NDArray[np.int64]
    traced: NDArray[np.bool_]
    within: float | None

    def where(self, keep: NDArray[np.bool_]) -> Cells:
        """Some of the cells."""
        columns = {
            name: getattr(self, name)[keep]
            for name in ("n", "gpus", "nodes", "seconds", "variance", "repetitions", "traced")
        }
        return replace(self, **columns)

    def fit(self) -> _core.Scaling:
        """The mixture for these cells."""
        # Neither what repeats nor what all calls of a step add up to is a slip.
        agreed = self.traced | ((self.repetitions > 1) & (self.variance < DISPUTED**2))
        return _core.fit_scaling(
            self.n,
            self.gpus,
            self.nodes,
            self.seconds,
            self.variance,
            agreed.astype(np.float64),
            threads=1,
        )


Key = tuple[float, int]
"""A cell's n and GPU count."""


@dataclass(frozen=True)
class Samples:
    """Times (s) of each cell: those that have a say, and all that there are."""

    kept: Mapping[Key, list[float]]
    all: Mapping[Key, list[float]]

    def remarks(self) -> list[Remark]:
        """What samples far off the others of their cells would add to a run."""
        cells = [key for key in sorted(self.all) if len(self.kept[key]) < len(self.all[key])]
        if not cells:
            return []
        every = sum(len(times) for times in self.all.values())
        left_out = every - sum(len(times) for times in self.kept.values())
        where = (
            ""
            if len(cells) > _NAMED
            else " (" + ", ".join(f"n = {number(n)}, N = {gpus}" for n, gpus in cells) + ")"
        )
        ratios = [np.mean(self.all[key]) / np.mean(self.kept[key]) for key in self.all]
        longer = float(np.mean(ratios)) - 1
        with_them = f"; with them steps take {100 * longer:.2g} % longer on average"
        text = (
            f"{left_out} of {every} samples{where} are far off the others of their cells, as first "
            "steps of a run and those of a busy machine are: left out"
        )
        return [remark(Kind.LEFT_OUT, text + (with_them if longer >= _FELT else ""))]


def samples_of(steps: list[Step]) -> Samples:
    """The times of each cell."""
    samples: dict[Key, list[float]] = defaultdict(list)
    for step in steps:
        samples[(step.n, step.gpus)].extend(step.seconds)
    kept = undisturbed(list(samples.values()))
    return Samples(dict(zip(samples, kept, strict=True)), dict(samples))


def cells_of(steps: list[Step]) -> Cells:
    """The cells that steps were measured in: medians, and how well they are known."""
    samples = samples_of(steps).kept
    rounding: dict[Key, float] = defaultdict(float)
    nodes: dict[Key, int] = {}
    traced: set[Key] = set()
    for step in steps:
        key = (step.n, step.gpus)
        if step.phases is not None and step.phases.calls:
            traced.add(key)
        rounding[key] = max(rounding[key], (step.uncertainty or 0.0) ** 2 / 3)
        nodes[key] = max(nodes.get(key, 0), step.nodes or 0)
    keys = sorted(samples)
    odd = disagreeing(samples)
    within = _within({key: times for key, times in samples.items() if key not in odd})
    repetitions = np.array([len(samples[key]) for key in keys])
    of_median = np.array([_core.median_variance(int(count)) for count in repetitions])
    # Noise that every cell has is learnt; here is only what some are known better by, or worse.
    variance = np.array([rounding[key] for key in keys]) + (within or 0.0) ** 2 * of_median
    own = np.array([own_deviation(samples[key]) if key in odd else 0.0 for key in keys])
    disputed = own >= DISPUTED
    variance[disputed] = np.maximum(variance, own**2)[disputed]
    return Cells(
        n=np.array([float(n) for n, _ in keys]),
        gpus=np.array([float(gpus) for _, gpus in keys]),
        nodes=np.array([float(nodes[key]) for key in keys]),
        seconds=np.array([float(np.median(samples[key])) for key in keys]),
        variance=variance,
        repetitions=repetitions,
        traced=np.array([key in traced for key in keys]),
        within=within,
    )


def _within(samples: Mapping[Key, list[float]]) -> float | None:
    """Standard deviation of log times about their cells' means; by the median of the cells'
    variances, so that a few disturbed samples have no say."""
    from scipy.special import chdtri

    logs = [np.log(times) for times in samples.values() if len(times) > 1]
    if not logs:
        return None
    freedom = np.array([cell_logs.size - 1 for cell_logs in logs])
    squares = np.array([float(np.sum((cell_logs - cell_logs.mean()) ** 2)) for cell_logs in logs])
    if len(logs) < FEWEST_FOR_MEDIAN:
        return float(np.sqrt(squares.sum() / freedom.sum()))
    # A sum of squares is the variance times chi^2, of which half lie below its median.
    return float(np.sqrt(np.median(squares / chdtri(freedom, 0.5))))


def parts_of(steps: Sequence[Step]) -> MeasuredParts | None:
    """Where the time of each cell's steps went, as programs print it; None where too little is.

    Communication is copies, exchange, and calls where they were told apart. A program that does not
    time its kernels has spent on the GPUs what is left of the step.
    """
    parts_by_cell: dict[tuple[float, int], list[tuple[float, float, float]]] = defaultdict(list)
    for step in steps:
        if step.phases is not None:
            parts = _parts(step.phases, float(np.median(step.seconds)))
            if parts is not None:
                parts_by_cell[step.n, step.gpus].append(parts)
    if not parts_by_cell:
        return None
    cells = sorted(parts_by_cell)
    medians = np.array([np.median(parts_by_cell[cell], axis=0) for cell in cells])
    return MeasuredParts(
        n=[float(n) for n, _ in cells],
        gpus=[gpus for _, gpus in cells],
        t_gpu=medians[:, 0].tolist(),
        t_cpu=medians[:, 1].tolist(),
        t_com=medians[:, 2].tolist(),
    )


def _parts(phases: Phases, seconds: float) -> tuple[float, float, float] | None:
    copies = [times for times in (phases.h2d, phases.d2h, phases.exchange, phases.calls) if times]
    if not phases.cpu or not copies:
        return None
    cpu = float(np.median(phases.cpu))
    com = sum(float(np.median(times)) for times in copies)
    gpu = float(np.median(phases.kernel)) if phases.kernel else max(0.0, seconds - cpu - com)
    return (gpu, cpu, com) if gpu + cpu + com > 0 else None
