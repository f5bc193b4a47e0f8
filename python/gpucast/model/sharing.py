"""Forecasts of several instances of a program that share one GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from gpucast import _core
from gpucast.errors import InputError
from gpucast.model.adjustments import Sharing
from gpucast.model.asked import checked_sizes
from gpucast.model.forecasting import Forecasting
from gpucast.model.intervals import Z90, Array, Interval

_QUANTILES = 25

UNFELT = 1.1
"""Largest T_k / T_1 of instances that hardly slow each other down."""


@dataclass(frozen=True)
class SharedForecasts:
    """Forecasts of pairs of n and instances, as arrays of one length.

    ``seconds`` is the step time of each instance, ``low`` and ``high`` its 90 % interval.
    ``speedup`` is the throughput of all instances over that of one alone, with its interval.
    ``extrapolated`` tells whether n is outside the fitted range, or there are more than twice the
    measured instances.
    """

    n: Array
    instances: Array
    seconds: Array
    low: Array
    high: Array
    speedup: Array
    speedup_low: Array
    speedup_high: Array
    extrapolated: NDArray[np.bool_]

    @property
    def steps_per_second(self) -> Array:
        """Steps per second of all instances together."""
        return np.asarray(self.instances / self.seconds, dtype=np.float64)


def ratios(
    n: Array,
    instances: Array,
    alone: Array,
    reference: float,
    odds: Array,
    slope: Array,
    switching: Array,
    waiting: Array,
    turning: Array,
    crowding: Array,
) -> Array:
    """Return T_k / T_1 of cells for each draw, (draws, cells).

    Args:
        n, instances, alone: n, instances and T_1 (s) of the cells.
        reference: the n of ``odds``.
        odds, slope, switching, waiting, turning, crowding: draws (``adjustments.Sharing``).
    """
    busy = expit(odds[:, np.newaxis] + slope[:, np.newaxis] * np.log(n / reference))
    shape = busy.shape

    def flat(values: Array) -> Array:
        return np.ascontiguousarray(np.broadcast_to(values, shape)).ravel()

    slowdowns = _core.sharing_slowdowns(
        flat(instances),
        flat(busy),
        flat(switching[:, np.newaxis]),
        flat(waiting[:, np.newaxis]),
        flat(turning[:, np.newaxis] / alone),
        flat(crowding[:, np.newaxis] / alone),
    )
    return np.asarray(slowdowns, dtype=np.float64).reshape(shape)


def ratio_draws(sharing: Sharing, n: Array, instances: Array, alone: Array) -> Array:
    """Return T_k / T_1 for the draws of a fit."""
    values = (
        sharing.busy, sharing.slope, sharing.switching, sharing.waiting, sharing.turning,
        sharing.crowding,
    )  # fmt: skip
    return ratios(n, instances, alone, sharing.reference, *(np.array(column) for column in values))


def sharing_of(model: Forecasting, *, mps: bool = False) -> Sharing:
    """Return a model's fit of instances that share a GPU.

    Raises:
        InputError: it has none.
    """
    for sharing_of_mode in model.sharing or ():
        if sharing_of_mode.mps == mps:
            return sharing_of_mode
    under = " under the Multi-Process Service" if mps else ""
    raise InputError(
        f"has no measurements of several instances on one GPU{under}: measure some "
        "(gpucast measure --program PROGRAM.yaml --gpus 1/2,1) and fit again",
        file=model.name,
        field="gpus",
    )


def shared_forecasts(
    model: Forecasting,
    n: Sequence[float] | Array,
    instances: Sequence[float] | Array,
    interval: Interval = Interval.now,
    *,
    mps: bool = False,
) -> SharedForecasts:
    """Forecast pairs of n and instances on one GPU.

    Raises:
        InputError: the model has no fit of instances that share a GPU.
    """
    sharing = sharing_of(model, mps=mps)
    sizes, counts = checked_sizes(list(n)), np.array(instances, dtype=np.float64)
    alone = model.forecasts(sizes, np.ones(sizes.size), interval)
    drawn = np.log(ratio_draws(sharing, sizes, counts, alone.seconds))
    drawn += _off_measured(sharing, sizes, counts, np.median(drawn, axis=0))
    ratio = np.median(drawn, axis=0)
    # Combine draws of the form with quantiles of the scatter around it and of the uncertainty of
    # one alone.
    deviates = ndtri((np.arange(_QUANTILES) + 0.5) / _QUANTILES)[:, np.newaxis, np.newaxis]
    width = np.log(alone.high / alone.low) / (2 * Z90)
    low, high = _interval(drawn + deviates * np.hypot(width, sharing.scatter))
    few, many = _interval(drawn + deviates * sharing.scatter)
    full = np.log(_if_full(sharing, counts)) + Z90 * sharing.scatter
    high, many = np.maximum(high, full), np.maximum(many, full)
    return SharedForecasts(
        n=sizes,
        instances=counts,
        seconds=alone.seconds * np.exp(ratio),
        low=alone.seconds * np.exp(low),
        high=alone.seconds * np.exp(high),
        speedup=counts * np.exp(-ratio),
        speedup_low=counts * np.exp(-many),
        speedup_high=counts * np.exp(-few),
        extrapolated=alone.extrapolated | (counts > 2 * np.ceil(sharing.most - 0.5)),
    )


def _if_full(sharing: Sharing, instances: Array) -> Array:
    """Return T_k / T_1 if the measured instances fill the GPU, which is possible if they hardly
    slowed each other down and its utilization was not read; else 1."""
    most, ratio = max(zip(sharing.instances, sharing.ratio, strict=True))
    if sharing.read or ratio >= UNFELT:
        return np.ones(instances.size)
    return np.maximum(instances / most, 1.0)


def _off_measured(sharing: Sharing, n: Array, instances: Array, forecast: Array) -> Array:
    """Return the form's error in ln of the ratio in measured cells; 0 in others."""
    measured = dict(zip(zip(sharing.n, sharing.instances, strict=True), sharing.ratio, strict=True))
    cells = zip(n.tolist(), instances.tolist(), forecast.tolist(), strict=True)
    return np.array(
        [
            np.log(measured[size, count]) - log if (size, count) in measured else 0.0
            for size, count, log in cells
        ]
    )


def _interval(values: Array) -> tuple[Array, Array]:
    """Return the 90 % interval of draws with their scatter, (quantiles, draws, cells)."""
    flat = values.reshape(-1, values.shape[-1])
    low, high = np.quantile(flat, [0.05, 0.95], axis=0)
    return low, high
