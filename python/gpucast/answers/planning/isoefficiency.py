"""Two quantities that the paper leaves open: efficiency relative to peak, and an index for the use
of virtual GPUs.

docs/plan.md has definitions, also for sizes that are never or always reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.planning.replicates import evaluator
from gpucast.answers.planning.request import Request
from gpucast.data.workload import LARGEST_N
from gpucast.errors import InputError
from gpucast.model.asked import SAME_SIZE, grain_of, rounded, spaced
from gpucast.model.fitted import Model
from gpucast.model.intervals import Array, Interval
from gpucast.util import JsonObject
from gpucast.util.units import plain

REPLICATES = 100
FURTHER_THAN_FITTED = 10.0
"""Sizes are searched up to this multiple of the largest fitted one."""

Condition = Callable[[Array, Array, int | None], Array]
"""Whether the condition holds at sizes and GPU counts, for the model (None) or a replicate."""


@dataclass(frozen=True)
class Sizes:
    """The size from which a condition holds, for each of C GPU counts.

    Attributes:
        gpus: the counts, (C).
        n: the size; the smallest size examined if the condition always holds, inf if it never does.
        low, high: 90 % interval over the replicates; inf: not reached in these.
        reached: share of the replicates in which a size is reached.
        range: the sizes examined.
        extrapolated: whether n or the count is outside the fitted range.
    """

    gpus: Array
    n: Array
    low: Array
    high: Array
    reached: Array
    range: tuple[float, float]
    extrapolated: NDArray[np.bool_]


def iso_efficiency(
    model: Model,
    efficiency: float,
    gpus: Array,
    sizes: Sequence[float] | None = None,
    interval: Interval = Interval.now,
) -> Sizes:
    """Return n_e(N), the smallest n from which N GPUs have at least the efficiency e.

    Efficiency is T(n, 1) / (N T(n, N)). ``sizes``: the range of the search; by default from the
    smallest fitted size to ten times the largest.
    """
    span = _span([model], sizes)
    times = evaluator(model, *span, np.append(gpus, 1.0), _count([model]), interval)

    def holds(n: Array, counts: Array, replicate: int | None) -> Array:
        # One GPU has efficiency 1: rounding must not change that.
        one = times.seconds(n, np.ones(n.shape), replicate)
        needed = efficiency * counts * times.seconds(n, counts, replicate)
        return np.asarray(one * (1 + 1e-12) >= needed)

    return _search([model], holds, gpus, span)


def break_even(
    base: Model,
    other: Model,
    surcharge: float,
    gpus: Array,
    sizes: Sequence[float] | None = None,
    interval: Interval = Interval.now,
) -> Sizes:
    """Return the smallest n from which steps on ``other`` take at most ``surcharge`` longer.

    The surcharge is a share of the time on ``base`` with the same number of GPUs. For measured
    cells see ``answers.remote_cost.break_even``.
    """
    both = [base, other]
    span = _span(both, sizes)
    first, second = (evaluator(model, *span, gpus, _count(both), interval) for model in both)

    def holds(n: Array, counts: Array, replicate: int | None) -> Array:
        limit = (1 + surcharge) * first.seconds(n, counts, replicate)
        return np.asarray(second.seconds(n, counts, replicate) < limit)

    return _search(both, holds, gpus, span)


def _span(models: list[Model], sizes: Sequence[float] | None) -> tuple[float, float]:
    """The smallest and the largest size of the search."""
    fitted = [model.domain.n for model in models]
    smallest, largest = max(low for low, _ in fitted), min(high for _, high in fitted)
    low, high = map(float, sizes or (smallest, min(LARGEST_N, largest * FURTHER_THAN_FITTED)))
    if low >= high:
        raise InputError(
            f"the fitted sizes, up to {FURTHER_THAN_FITTED:g} times the largest, do not overlap",
            field="sizes",
        )
    return low, high


def _count(models: list[Model]) -> int:
    """The number of draws of the models that are compared."""
    return min(REPLICATES, max(model.draw_count for model in models))


def _search(models: list[Model], holds: Condition, gpus: Array, span: tuple[float, float]) -> Sizes:
    low, high = span
    replicates = _count(models)
    counts = np.tile(gpus, replicates)

    def central(n: Array) -> Array:
        return holds(n, _beside(gpus, n), None)

    def in_draws(n: Array) -> Array:
        parts = n.reshape(replicates, gpus.size, -1)
        return np.concatenate([holds(part, _beside(gpus, part), r) for r, part in enumerate(parts)])

    n = from_n_on(central, gpus.size, low, high)
    drawn = from_n_on(in_draws, counts.size, low, high).reshape(replicates, gpus.size)
    # Order statistics are not interpolated, because nothing lies between a size and inf.
    ends = np.quantile(drawn, [0.05, 0.95], axis=0, method="nearest")
    looked_at = np.minimum(n, high)
    outside = np.any([model.extrapolates(looked_at, gpus) for model in models], axis=0)
    return Sizes(
        gpus, n, ends[0], ends[1], np.mean(np.isfinite(drawn), axis=0), (low, high), outside
    )


def _beside(gpus: Array, n: Array) -> Array:
    return np.broadcast_to(gpus[:, np.newaxis], n.shape)


# --- from which n on a condition holds, for many conditions at once -----------------------------


FIRST = 129
"""Number of sizes examined first, evenly spaced in the logarithm."""

FURTHER = 17
"""Number of sizes examined in each refinement of the interval around a crossing."""


def from_n_on(holds: Callable[[Array], Array], searches: int, low: float, high: float) -> Array:
    """Return the smallest n from which a condition holds up to ``high``, a whole number between
    whole limits.

    Conditions need not be monotone: the result is the n above the *last* size at which the
    condition fails. Sizes are first examined on a grid, then the gap above the last failure on a
    finer grid, and so on down to neighbouring whole numbers. Up to ``FIRST`` whole numbers are
    examined one by one, so that the answer is exact; with more, failures between two sizes of the
    grid are missed.

    Args:
        holds: whether the condition holds at sizes of shape (searches, points), a row for each
            search.

    Returns:
        n of each search: ``low`` if the condition always holds, inf if it fails at ``high``.
    """
    grain = grain_of(low, high)
    sizes = np.tile(_first_sizes(low, high, grain), (searches, 1))
    good = np.asarray(holds(sizes), dtype=bool)
    always = good.all(axis=1)
    never = ~good[:, -1]
    below, above = _gap(sizes, good)
    while np.any((above - below > np.maximum(1.01 * grain, SAME_SIZE * above)) & ~always & ~never):
        sizes = rounded(np.linspace(below, above, FURTHER, axis=1), grain)
        sizes[:, 0], sizes[:, -1] = below, above
        good = np.asarray(holds(sizes), dtype=bool)
        good[:, 0], good[:, -1] = False, True
        below, above = _gap(sizes, good)
    return np.where(never, np.inf, np.where(always, low, above))


def _first_sizes(low: float, high: float, grain: float) -> Array:
    if grain == 1 and high - low < FIRST:
        return np.arange(low, high + 1)
    return spaced(low, high, FIRST)


def _gap(sizes: Array, good: Array) -> tuple[Array, Array]:
    """The last failure of each row and the size above it."""
    rows = np.arange(sizes.shape[0])
    last = sizes.shape[1] - 1 - np.argmin(good[:, ::-1], axis=1)
    at = np.minimum(last, sizes.shape[1] - 2)
    return sizes[rows, at], sizes[rows, at + 1]


# --- of a plan's machines, JSON-ready ---------------------------------------------------------


def iso_efficiency_sizes(request: Request, wanted: float) -> JsonObject:
    """Return n_e(N) of every machine for some of its GPU counts."""
    how = request.sizes, request.interval
    machines = [
        _sizes(machine.name, iso_efficiency(machine.forecaster, wanted, counts, *how))
        for machine in request.machines
        if (counts := _counts(machine.counts, 2)).size
    ]
    return {"efficiency": wanted, "machines": machines}


def break_even_sizes(request: Request, wanted: float) -> JsonObject:
    """Return break-even sizes of every machine against the baseline, for GPU counts of both."""
    how, base = (request.sizes, request.interval), request.machines[request.base]
    machines = [
        _sizes(machine.name, break_even(base.forecaster, machine.forecaster, wanted, counts, *how))
        for machine in request.machines
        if machine is not base and (counts := _counts({*base.counts} & {*machine.counts}, 1)).size
    ]
    return {"surcharge": wanted, "baseline": base.name, "machines": machines}


def _counts(counts: Iterable[int], least: int) -> Array:
    """Up to eight counts are kept; from more, powers of two and the last one."""
    several = sorted(count for count in counts if count >= least)
    if len(several) > 8:
        several = [c for c in several if c & (c - 1) == 0 or c == several[-1]]
    return np.array(several, dtype=np.float64)


def _sizes(machine: str, sizes: Sizes) -> JsonObject:
    low, high = sizes.range
    return {
        "machine": machine,
        "smallest": plain(low),
        "largest": plain(high),
        "sizes": [
            {
                "gpus": int(sizes.gpus[i]),
                "n": _or_none(sizes.n[i]),
                "low": _or_none(sizes.low[i]),
                "high": _or_none(sizes.high[i]),
                "reached": "never" if math.isinf(n) else "always" if n <= low else "from",
                "probability_reached": round(float(sizes.reached[i]), 9),
                "extrapolated": bool(sizes.extrapolated[i]),
            }
            for i, n in enumerate(sizes.n)
        ],
    }


def _or_none(n: float) -> float | None:
    return None if math.isinf(n) else plain(n)
