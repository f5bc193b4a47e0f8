"""How a program scales over GPU counts: strong and weak, measured and forecast, and the sensible
count: the most GPUs on which a step is still efficient enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

import numpy as np

from gpucast.errors import InputError
from gpucast.model.asked import checked_counts, checked_sizes, grain_of, rounded, whole_numbers
from gpucast.model.facts import MORE_PER_GPU
from gpucast.model.fitted import Model
from gpucast.model.forecasts import Forecasts
from gpucast.model.intervals import SURE, Array, Interval
from gpucast.model.rates import ns_per_day, reference_count
from gpucast.util import JsonObject
from gpucast.util.units import gpus_in_words, plain

THRESHOLD = 0.7
"""The least efficiency that is sensible where nobody says another."""

BEYOND = 4
"""GPU counts are looked at up to this many times the most measured."""

MOST_COUNTS = 512
"""Counts among which the sensible one is looked for; of more, as many are taken, evenly spaced in
the logarithm."""

AS_LIKELY_AS_NOT = 0.45, 0.55
"""Probabilities between these settle nothing, and that is said."""

_ROUNDING = 1e-12
"""The efficiency of the reference is 1 but for this."""

_ALIKE = 0.02
"""Relative; sizes a GPU that differ by no more belong to one weak scaling."""


@dataclass(frozen=True)
class Sweep:
    """A program on rising GPU counts: with one size (strong scaling), or with sizes that grow in
    proportion to the counts (weak).

    Attributes:
        n, gpus: size and GPU count of each cell; the first cell is the reference.
        interval: what the ends of intervals are of.
    """

    model: Model
    n: Array
    gpus: Array
    interval: Interval = Interval.now

    @property
    def weak(self) -> bool:
        """Whether sizes grow with the GPU counts."""
        return bool((self.n != self.n[0]).any())

    @cached_property
    def forecasts(self) -> Forecasts:
        """Forecasts of the cells."""
        return self.model.forecasts(self.n, self.gpus, self.interval)

    @cached_property
    def measured(self) -> Array:
        """Measured times (s); NaN where there is none."""
        return self.model.measured(self.n, self.gpus)

    def efficiency(self, seconds: Array, of_reference: float | Array) -> Array:
        """(n / n_ref) N_ref T_ref / (N T): for one size N_ref T(N_ref) / (N T(N)), for sizes that
        grow with N it is T(N_ref) / T(N)."""
        work = self.n / self.n[0] * self.gpus[0] / self.gpus
        return np.asarray(work * of_reference / seconds, dtype=np.float64)

    @property
    def of_reference_measured(self) -> float:
        """The time (s) that efficiencies of measured times are against: measured, too, where the
        reference was."""
        known = self.measured[0]
        return float(self.forecasts.seconds[0] if np.isnan(known) else known)

    @cached_property
    def _drawn(self) -> Array | None:
        """Draws of the cells' efficiencies, (draws, cells)."""
        count = self.model.draw_count
        if not count:
            return None
        drawn = self.model.draws(self.n, self.gpus, count, self.interval)
        return self.efficiency(drawn, drawn[:, :1])

    def efficiency_interval(self) -> Array:
        """Ends of the 90 % interval of each cell's efficiency, (2, cells)."""
        best = self.efficiency(self.forecasts.seconds, self.forecasts.seconds[0])
        if self._drawn is None:
            return np.array([best, best])
        low, high = np.quantile(self._drawn, [0.05, 0.95], axis=0)
        return np.array([np.minimum(low, best), np.maximum(high, best)])

    def reached(self, threshold: float) -> Array | None:
        """Probability of each cell that its efficiency is at least this; None where the model's
        uncertainty is not known."""
        if self._drawn is None:
            return None
        return np.asarray(np.mean(self._drawn >= threshold - _ROUNDING, axis=0), dtype=np.float64)

    def rows(self, per_node: int | None) -> list[JsonObject]:
        """A row a cell, JSON-ready; None where something is not known."""
        forecasts, known = self.forecasts, self.measured
        speeds = self.gpus / self.gpus[0]
        efficiency = self.efficiency(forecasts.seconds, forecasts.seconds[0])
        of_measured = self.efficiency(known, self.of_reference_measured)
        columns = {
            "n": whole_numbers(self.n),
            "nodes": np.ceil(self.gpus / (per_node or np.nan)),
            "gpus": self.gpus.astype(np.int64),
            "measured": known,
            "measured_speed_up": of_measured * speeds,
            "measured_efficiency": of_measured,
            "seconds": forecasts.seconds,
            "low": forecasts.low,
            "high": forecasts.high,
            "steps_per_second": 1 / forecasts.seconds,
            "ns_per_day": ns_per_day(self.model.timestep, forecasts.seconds),
            "speed_up": efficiency * speeds,
            "efficiency": efficiency,
            "extrapolated": forecasts.extrapolated,
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [
            {key: None if x != x else x for key, x in zip(columns, row, strict=True)}
            for row in rows
        ]


def strong(
    model: Model,
    n: float,
    gpus: Iterable[float] | None = None,
    per_node: int | None = None,
    interval: Interval = Interval.now,
) -> Sweep:
    """One size on some GPU counts; by default those measured, and further ones."""
    counts = counts_to_show(model, n, per_node) if gpus is None else gpus
    ascending = checked_counts(sorted(set(counts)))
    return Sweep(model, np.full(ascending.size, checked_sizes([n])[0]), ascending, interval)


def weak(
    model: Model,
    per_gpu: float | None = None,
    gpus: Iterable[float] | None = None,
    per_node: int | None = None,
    interval: Interval = Interval.now,
) -> Sweep:
    """Sizes in proportion to the GPU counts.

    Args:
        per_gpu: n / N; by default the one that was measured on the most counts, else that of the
            largest size on the most GPUs.

    Raises:
        InputError: it is no number above 0.
    """
    if per_gpu is not None and not 0 < per_gpu < math.inf:
        raise InputError(f"{per_gpu:g} is no size of a GPU's share", field="per_gpu")
    cells = _cells(model)
    if per_gpu is None:
        loads = [size / count for size, count in cells]
        alike = [sum(abs(load / other - 1) <= _ALIKE for other in loads) for load in loads]
        per_gpu = max(zip(alike, cells, loads, strict=True), default=(0, None, None))[2]
    least, largest = model.usual_sizes
    load = largest / model.domain.gpus[1] if per_gpu is None else per_gpu
    if gpus is None:
        fewest = max(least / load / (1 + _ALIKE), model.domain.gpus[0])
        gpus = counts_to_show(model, load * fewest, per_node)
    grain = grain_of(least, largest)
    known = {count: size for size, count in cells if abs(size / count / load - 1) <= _ALIKE}
    counts = checked_counts(sorted({*gpus, *known}))
    n = [known.get(count, float(rounded(np.array(load * count), grain))) for count in counts]
    return Sweep(model, checked_sizes(n), counts, interval)


def counts_to_show(model: Model, n: float, per_node: int | None = None) -> list[int]:
    """GPU counts for a size, from the fewest that were measured with it, or that hold it: those
    measured, and doublings (of a node) up to ``BEYOND`` times the most measured."""
    model.check_shared_out()
    cells, per = _cells(model), per_node or 1
    of_size = [count for size, count in cells if size == n]
    held = math.ceil(n / (MORE_PER_GPU * model.most_per_gpu)) if model.most_per_gpu else 1
    least = min(of_size) if of_size else max(held, 1)
    most = max(BEYOND * model.domain.gpus[1], per, least)
    doublings = {per << power for power in range(int(most / per).bit_length())}
    measured = {count for _, count in cells if of_size or count % per == 0}
    counts = sorted(count for count in doublings | measured if least <= count <= most)
    return _known(model, n, counts or [most])


def whole_node_counts(model: Model, n: float, shown: Sequence[float], per: int) -> list[int]:
    """Every count of whole nodes between the ends of those shown."""
    first = math.ceil(shown[0] / per)
    every = np.arange(first, max(first, int(shown[-1] // per)) + 1) * per
    if every.size > MOST_COUNTS:
        spaced = np.geomspace(every[0] / per, every[-1] / per, MOST_COUNTS)
        every = np.unique(np.round(spaced)).astype(np.int64) * per
    return _known(model, n, every.tolist())


def _known(model: Model, n: float, counts: list[int]) -> list[int]:
    """Those of some counts that the model can forecast."""
    try:
        model.forecasts([n] * len(counts), [float(count) for count in counts])
    except InputError:
        return [count for count in counts if count <= model.domain.gpus[1]] or counts[:1]
    return counts


def _cells(model: Model) -> list[tuple[float, int]]:
    """Sizes and GPU counts that were timed."""
    cells = model.timed
    return [] if cells is None else list(zip(map(float, cells.n), cells.gpus, strict=True))


class Sensible(TypedDict):
    """The most GPUs for an n on which the efficiency is at least ``threshold``.

    ``probability``: that the efficiency is; None where the model's uncertainty is not known.
    ``sure_gpus``: the most for which that is as probable as counts as sure (``SURE``).
    ``reference_gpus``: N_ref of the efficiency. ``fastest``: the count whose steps take least;
    ``cheapest``: that of fewest GPU hours.
    ``open``: whether it is the most that was looked at, so that more may be sensible.
    """

    model: str
    n: float
    gpus: int
    seconds: float
    efficiency: float
    threshold: float
    probability: float | None
    sure_gpus: int | None
    reference_gpus: int
    fastest: int
    cheapest: int
    open: bool
    extrapolated: bool


def hedged(one: Sensible) -> str:
    """What to say of a sensible count that is hardly more likely than not to be efficient enough;
    empty where it is, or where that is not known."""
    sure, (least, most) = one["probability"], AS_LIKELY_AS_NOT
    if sure is None or sure > most or one["efficiency"] < one["threshold"]:
        return ""
    words = "as likely as not" if sure >= least else "less likely than not"
    return f"that is {words}; with 90 % it is {gpus_in_words(one['sure_gpus'] or 1)}"


def sensible_count(
    model: Model,
    n: float,
    gpus: Iterable[float],
    threshold: float = THRESHOLD,
    interval: Interval = Interval.now,
    reference: float | None = None,
    *,
    per_gpu: bool = False,
) -> Sensible:
    """The sensible one of some GPU counts; the fewest where none is efficient enough.

    Args:
        per_gpu: whether n is of each GPU: fastest and cheapest are then so for as much work.
        reference: N_ref of the efficiency; by default as in ``model.rates``.

    Raises:
        InputError: a threshold that is no share.
    """
    if not 0 < threshold <= 1:
        raise InputError(f"{threshold:g} is no share such as 0.7", field="efficiency")
    model.check_shared_out()
    counts = checked_counts(sorted(set(gpus)))
    reference = reference or reference_count(model, counts)
    cells = np.array(sorted({reference, *counts.tolist()}))
    asked = np.isin(cells, counts)
    work = cells if per_gpu else np.ones(cells.size)
    sweep = Sweep(model, checked_sizes([n])[0] * work, cells, interval)
    seconds = sweep.forecasts.seconds
    efficiency = sweep.efficiency(seconds, seconds[0])[asked]
    seconds, outside = seconds[asked], sweep.forecasts.extrapolated[asked]
    for_work = seconds / work[asked]
    # More GPUs on which the work takes longer are never sensible, however efficient N_ref is not.
    enough = np.flatnonzero(efficiency >= threshold - _ROUNDING)
    at = int(enough[::-1][np.argmin(for_work[enough][::-1])]) if enough.size else 0
    reached = sweep.reached(threshold)
    known = None if reached is None else reached[asked]
    sure = None if known is None else max(np.flatnonzero(known >= SURE), default=0)
    return {
        "model": model.name,
        "n": plain(n),
        "gpus": int(counts[at]),
        "seconds": float(seconds[at]),
        "efficiency": float(efficiency[at]),
        "threshold": threshold,
        "probability": None if known is None else round(float(known[at]), 9),
        "sure_gpus": None if sure is None else int(counts[sure]),
        "reference_gpus": int(reference),
        "fastest": int(counts[np.argmin(for_work)]),
        "cheapest": int(counts[np.argmin(counts * for_work)]),
        "open": at == counts.size - 1 and at > 0,
        "extrapolated": bool(outside[at]),
    }
