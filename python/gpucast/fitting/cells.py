"""Measured cells of a program that is known by its step times only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data.records import Phases, Step
from gpucast.fitting.sample_variance import undisturbed
from gpucast.model.mixtures import DISPUTED, MeasuredParts, Network, columns_of
from gpucast.util.order_statistics import disagreeing, own_deviation
from gpucast.util.remarks import Kind, Remark, remark
from gpucast.util.units import duration, gpus_in_words, number

Array = NDArray[np.float64]

# Least number of cells with repetitions for which the median of their variances is used.
FEWEST_FOR_MEDIAN = 5

# Left-out samples are reported with their effect if they lengthen steps by at least this share.
_FELT = 0.005

# At most this number of cells with left-out samples is named.
_NAMED = 3


@dataclass(frozen=True)
class Cells:
    """Measured cells as arrays of one length: see ``MeasuredCells``. ``traced`` tells whether a
    cell's time comes from a trace, call by call; ``within`` is the standard deviation of ln of a
    single sample around its cell, None if no cell has several; ``network`` is that of the
    program."""

    n: Array
    gpus: Array
    nodes: Array
    seconds: Array
    variance: Array
    repetitions: NDArray[np.int64]
    traced: NDArray[np.bool_]
    within: float | None
    network: Network | None = None

    def where(self, keep: NDArray[np.bool_]) -> Cells:
        """Return the cells for which ``keep`` is true."""
        columns = {
            name: getattr(self, name)[keep]
            for name in ("n", "gpus", "nodes", "seconds", "variance", "repetitions", "traced")
        }
        return replace(self, **columns)

    def fit(self) -> _core.Scaling:
        """Fit the mixture to these cells."""
        # Times that repeat, or that are sums over a step's calls, are not mistakes.
        agreed = self.traced | ((self.repetitions > 1) & (self.variance < DISPUTED**2))
        return _core.fit_scaling(
            self.n,
            self.gpus,
            self.nodes,
            self.seconds,
            self.variance,
            agreed.astype(np.float64),
            threads=1,
            network=columns_of(self.network),
        )


Key = tuple[float, int]
"""A cell's n and GPU count."""


@dataclass(frozen=True)
class Samples:
    """Times (s) of each cell: those that are used, and all of them."""

    kept: Mapping[Key, list[float]]
    all: Mapping[Key, list[float]]

    def remarks(self) -> list[Remark]:
        """Return remarks about left-out samples and their effect on step times."""
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
    """Return the times of each cell."""
    samples: dict[Key, list[float]] = defaultdict(list)
    for step in steps:
        samples[(step.n, step.gpus)].extend(step.seconds)
    kept = undisturbed(list(samples.values()))
    return Samples(dict(zip(samples, kept, strict=True)), dict(samples))


def cells_of(steps: list[Step]) -> Cells:
    """Return the cells of steps: medians and their variances."""
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
    median_variance = np.array([_core.median_variance(int(count)) for count in repetitions])
    # The fit learns the noise that all cells share; these variances are for differences between
    # cells.
    variance = np.array([rounding[key] for key in keys]) + (within or 0.0) ** 2 * median_variance
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
    """Return the standard deviation of ln of times around their cells' means, from the median of
    the cells' variances, which a few disturbed samples do not affect."""
    from scipy.special import chdtri

    logs = [np.log(times) for times in samples.values() if len(times) > 1]
    if not logs:
        return None
    freedom = np.array([cell_logs.size - 1 for cell_logs in logs])
    squares = np.array([float(np.sum((cell_logs - cell_logs.mean()) ** 2)) for cell_logs in logs])
    if len(logs) < FEWEST_FOR_MEDIAN:
        return float(np.sqrt(squares.sum() / freedom.sum()))
    # A sum of squares is the variance times a chi^2 variable; compare the medians.
    return float(np.sqrt(np.median(squares / chdtri(freedom, 0.5))))


def parts_of(steps: Sequence[Step]) -> MeasuredParts | None:
    """Return the parts of each cell's steps as programs print them; None if too little is printed.

    Communication includes copies, exchange, and calls if they are separate. If a program does not
    time its kernels, the rest of the step counts as GPU time.
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


# Cells whose repetitions disagree so much that their median is meaningless.
#
# If one of two runs is a mistake, their median is their mean, which is the time of neither. Such
# a cell gets the negligible weight that follows from the scatter of its repetitions, so that the
# other cells determine its forecast. The time nearest to that forecast counts as measured.

FEWEST_OTHERS = 3

# One time is clearly right if the others are this many times farther from the forecast by the other
# cells, in the logarithm.
CLEARLY = 3.0


def settled(
    cells: Cells, samples: Mapping[tuple[float, int], Sequence[float]]
) -> tuple[Cells, list[Remark]]:
    """Return the cells, in which disputed ones have the time nearest to the forecast by the others,
    and a remark on each cell whose repetitions disagree.

    Args:
        cells: the measured cells.
        samples: all times (s) of each cell.
    """
    odd = disagreeing(samples)
    keys = list(zip(cells.n.tolist(), map(int, cells.gpus.tolist()), strict=True))
    disputed = np.array(
        [key in odd and own_deviation(samples[key]) >= DISPUTED for key in keys], dtype=np.bool_
    )
    remarks = []
    expected = _by_others(cells, disputed)
    seconds = cells.seconds.copy()
    for at, (n, gpus) in enumerate(keys):
        if (n, gpus) not in odd:
            continue
        times = np.sort(samples[n, gpus])
        where = f"n = {number(n)} on {gpus_in_words(gpus)}"
        between = "and" if times.size == 2 else "to"
        listed = f"{duration(times[0])} {between} {duration(times[-1])}"
        text = f"repetitions of {where} took {listed}, far more apart than those of other cells"
        if not disputed[at]:
            text += f": their median counts, {duration(cells.seconds[at])}"
        elif expected is None:
            text += ": the time of that cell is hardly known; measure it again"
        else:
            away = np.abs(np.log(times / expected[at]))
            nearest = int(np.argmin(away))
            clear = away.max() >= CLEARLY * away[nearest]
            seconds[at] = times[nearest]
            which = duration(times[nearest])
            others = f"these say {duration(expected[at])}"
            verdict = f"{which} counts" if clear else f"neither is near; {which} counts as nearer"
            text += f"; {others}: {verdict}, the forecast is theirs; check it"
        remarks.append(remark(Kind.DISPUTED, text, n=n, gpus=gpus))
    return replace(cells, seconds=seconds), remarks


def _by_others(cells: Cells, disputed: np.ndarray) -> np.ndarray | None:
    """Forecast all cells (s) from those that are not disputed; None if there are too few."""
    if not disputed.any() or (~disputed).sum() < FEWEST_OTHERS:
        return None
    others = cells.where(~disputed).fit()
    return np.asarray(others.forecast(cells.n, cells.gpus, cells.nodes, np.zeros(cells.n.size))[0])


# Finds a boundary between nodes that a table does not state, by its times.
#
# If steps get shorter from each GPU count to the next except for one, the further GPUs may be in
# another node; likewise if, for the same n of each GPU (weak scaling), they get much longer at one
# count alone. Forms for several nodes are then weighed against forms whose communication grows with
# N, and the user is asked.

MOST_GPUS = 16
"""The largest number of GPUs that a node may have."""

_RISE = 0.02
"""Least relative rise; smaller ones may be noise of single measurements."""

_WEAK_RISE = 0.15
"""The same for weak scaling, where times rise anyway ..."""

_WEAK_TIMES = 3.0
"""... and the rise is at least this many times any other."""

_SDS = 3.0
"""Least rise in standard deviations, if these are known from repetitions."""


@dataclass(frozen=True)
class Suspect:
    """A suspected boundary between nodes.

    Attributes:
        gpus: the last GPU count below it, which is assumed to fill a node.
        slower: the first GPU count beyond it.
        n: the largest size whose steps take longer beyond it; of each GPU where ``weak``.
        weak: whether the sizes grow with the GPU counts.
    """

    gpus: int
    slower: int
    n: float
    weak: bool

    def stated(self, cells: Cells) -> Cells:
        """Return the cells with the suspected number of nodes."""
        return replace(cells, nodes=np.ceil(cells.gpus / self.gpus))

    def question(self) -> Remark:
        """Return the remark that asks the user."""
        size, others = f"n = {number(self.n)}", "is shorter from each other count to the next"
        if self.weak:
            size, others = f"{size} a GPU", "hardly longer from any other count to the next"
        text = (
            f"{size} takes longer on {self.slower} GPUs than on {self.gpus}, and {others}: another "
            f"node? Forecasts hold both a node of {self.gpus} GPUs and exchange that grows with N; "
            "a column nodes (or GPUs per node) settles it"
        )
        return remark(Kind.NODE_BOUNDARY, text, n=None if self.weak else self.n, gpus=self.slower)


def suspected(cells: Cells) -> Suspect | None:
    """Return the boundary that the times of cells suggest; None if none, or if nodes are stated."""
    if (cells.nodes > 0).any():
        return None
    for sizes, weak in ((cells.n, False), (cells.n / cells.gpus, True)):
        rises: dict[tuple[int, int], float] = {}
        for size in np.unique(sizes):
            at = np.flatnonzero(sizes == size)
            at = at[np.argsort(cells.gpus[at])]
            rising = _rising_weak(cells, at) if weak else _rising(cells, at)
            if rising is None:
                return None
            for step in rising:
                low, high = (int(count) for count in cells.gpus[at][step : step + 2])
                rises[low, high] = float(size)
        if len(rises) == 1:
            [((gpus, slower), n)] = rises.items()
            return Suspect(gpus, slower, n, weak) if 1 < gpus <= MOST_GPUS else None
    return None


def _changes(cells: Cells, at: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return changes of ln T from each cell to the next, and their standard deviations."""
    variance = cells.variance[at]
    return np.diff(np.log(cells.seconds[at])), np.sqrt(variance[1:] + variance[:-1])


def _rising(cells: Cells, at: NDArray[np.int64]) -> list[int] | None:
    """Return where the times of one size rise; None if they do so in several places, or if they do
    not fall elsewhere."""
    change, sd = _changes(cells, at)
    if change.size < 2:
        return []
    rising = np.flatnonzero(change > np.maximum(_RISE, _SDS * sd))
    if rising.size > 1 or (rising.size == 1 and (np.delete(change, rising) >= 0).any()):
        return None
    return [int(step) for step in rising]


def _rising_weak(cells: Cells, at: NDArray[np.int64]) -> list[int]:
    """Return where the times of one size of each GPU rise much more than elsewhere."""
    change, sd = _changes(cells, at)
    if change.size < 3:
        return []
    most = int(np.argmax(change))
    least = max(_WEAK_RISE, _SDS * float(sd[most]), _WEAK_TIMES * np.delete(change, most).max())
    return [most] if change[most] > least else []
