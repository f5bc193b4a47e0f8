"""Forecasts of our own programs by a mixture over forms, with Gaussian processes about the parts of
a step (fit/include/gpucast/fit/components), after a fit that chose the form itself."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gpucast import _core
from gpucast.model.engine import SEED, Engine, Measured, Times
from gpucast.model.facts import Fitted
from gpucast.model.intervals import Array, Factors, shares_of, step_factors
from gpucast.model.joint import DRAWS, joint_draws, shuffled

STEPS_ALONE = (
    "transfers and launches that were timed alone do not describe the steps (of another machine, "
    "path or memory?): left out"
)
"""Remark that a mixture uses only steps although more was measured."""


class AveragedParts(Engine):
    """Forecasts with the core's mixture of a model."""

    draw_count = DRAWS

    def __init__(self, fitted: Fitted) -> None:
        assert fitted.mixture is not None
        self._fitted, self._mixture = fitted, fitted.mixture
        self._seed = zlib.crc32(np.array(self._mixture.visits.seconds).tobytes())
        forms: list[Any] = [
            (
                form.terms.core(fitted.machine, fitted.workload, form.integer),
                form.weight,
                *map(np.array, form.columns),
            )
            for form in self._mixture.forms
        ]
        self._core = _core.Components(*self._mixture.columns(), forms)

    def forecast(
        self,
        n: Array,
        gpus: Array,
        common: Array | None = None,
        visits: Array | None = None,
        variance: Array | None = None,
    ) -> Times:
        """Forecast pairs of n and gpus on the fitted machine.

        Args:
            common: variance of ln T that another time or machine adds.
            visits: number of visits over which a measured time is the mean; by default one.
            variance: additional variance of its logarithm.
        """
        zero = np.zeros(n.size)
        common = zero if common is None else common
        own = zero if variance is None else variance
        number = np.ones(n.size) if visits is None else visits
        times = Times(*self._core.forecast(n, gpus, number, own, common), common)
        # Noise fills the gap between forms that are far apart, which can move an end inwards.
        return replace(
            times,
            low=np.minimum(times.low, times.mean_low),
            high=np.maximum(times.high, times.mean_high),
        )

    def _usual(
        self,
        n: Array,
        gpus: Array,
        common: Array | None = None,
        measured: Measured | None = None,
    ) -> Times:
        """Forecast times that are measured in this way; None: in visits like the fitted ones, with
        as many samples."""
        if measured is None:
            own = np.full(n.size, self._sampling_variance(self._samples_of_visit))
            return self.forecast(n, gpus, common, variance=own)
        samples = [self._sampling_variance(count) for count in measured.repetitions]
        return self.forecast(n, gpus, common, measured.visits, measured.rounding + samples)

    def times(
        self, n: Array, gpus: Array, factors: Factors, measured: Measured | None = None
    ) -> Times:
        now = self._usual(n, gpus, measured=measured)
        common = factors.variance(shares_of(now.parts))
        # Uncertainty that all steps share must widen intervals without moving the forecast. The
        # median of a wider mixture of disagreeing forms may move; its interval is then extended to
        # include the forecast.
        wider = self._usual(n, gpus, common, measured) if common.any() else now
        mean_low = np.minimum(wider.mean_low, now.seconds)
        mean_high = np.maximum(wider.mean_high, now.seconds)
        # Parts are scaled so that they add up to the step.
        parts = now.parts * factors.median
        factor = parts.sum(axis=1) / now.parts.sum(axis=1)
        beyond = 0.0 if self._beyond is None else self._beyond.variance(gpus, _steepest(gpus))
        return Times(
            seconds=now.seconds * factor,
            low=np.minimum(wider.low, mean_low) * factor,
            high=np.maximum(wider.high, mean_high) * factor,
            mean_low=mean_low * factor,
            mean_high=mean_high * factor,
            spread=np.sqrt(np.square(wider.spread) + beyond),
            parts=parts,
            common=common,
        )

    @cached_property
    def _beyond(self) -> _core.Beyond | None:
        return beyond_measured(self._fitted)

    def seconds(self, n: Array, gpus: Array, factors: Array) -> Array:
        times = self._usual(n, gpus)
        return times.seconds * (shares_of(times.parts) @ factors)

    def computing(self, n: Array, gpus: Array) -> tuple[Array, Array]:
        """Return T_gpu and T_cpu (s) in columns, and the variances of their logarithms, whatever
        the communication."""
        mean, variance = self._core.computing(n, gpus)
        # A form without host work has no deviation of it.
        return np.exp(mean), np.where(np.isfinite(mean), variance, 0.0)

    def draws(self, n: Array, gpus: Array, factors: Array) -> Array:
        count = len(factors)

        def drawn(at_n: Array, at_gpus: Array) -> Array:
            return shuffled(self._core.draws(at_n, at_gpus, count, SEED), self._seed)

        times = joint_draws(drawn, lambda a, b: self.forecast(a, b).seconds, n, gpus)
        if (factors == factors[:, :1]).all():
            # All parts have the same factor, and so has the step.
            times = times * factors[:, :1]
        else:
            shares = shares_of(self.forecast(n, gpus).parts)
            times = times * step_factors(shares, factors, np.exp(self._fitted.log_factors))
        return with_breaks(times, self._beyond, gpus)

    def alone(self) -> Iterator[tuple[str, float, Engine]]:
        for form in self._mixture.forms:
            mixture = replace(self._mixture, forms=[replace(form, weight=1.0)])
            integer = "" if form.integer is None else f", k = {form.integer}"
            alone = AveragedParts(replace(self._fitted, mixture=mixture))
            yield f"{form.terms}{integer}", form.weight, alone

    @property
    def _samples_of_visit(self) -> int:
        """Mean number of samples of each fitted visit."""
        observations = self._fitted.observations
        samples = 1 if observations is None else observations.step_samples
        return max(1, round(samples / len(self._mixture.visits.variance)))

    def _sampling_variance(self, samples: int) -> float:
        """Return the variance of ln of a median of ``samples`` around the time of its visits, from
        the scatter of samples within the mixture's visits.

        Each sample is ln t = ln T + v + e, with the deviation v of its visit and its own e. The
        median of R samples from V visits then has variance Var v / V + M(R) Var e around ln T,
        where M(R) is the variance of a median of R normal values. Var v is the mixture's noise of a
        visit. The file holds M(r) Var e of the fitted visits, which are medians of r samples; their
        median is taken, since a few visits may be disturbed.
        """
        visit_variance = float(np.median(self._mixture.visits.variance))
        relative = _core.median_variance(samples) / _core.median_variance(self._samples_of_visit)
        return visit_variance * relative


def beyond_measured(fitted: Fitted) -> _core.Beyond | None:
    """Return the model of breaks beyond the measured GPU counts; None if nothing was measured."""
    return None if fitted.observations is None else _core.Beyond(*map(float, fitted.domain.gpus))


def with_breaks(draws: Array, beyond: _core.Beyond | None, gpus: Array) -> Array:
    """Add possible breaks beyond the measured GPU counts to draws of times."""
    if beyond is None:
        return draws
    return draws * np.exp(beyond.draws(gpus, _steepest(gpus), len(draws), SEED))


def _steepest(gpus: Array) -> Array:
    """Return slopes of ln T in ln N such that breaks only lengthen steps: our programs' limits are
    known."""
    return np.full(gpus.size, -1.0)
