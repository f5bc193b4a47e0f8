"""Forecasts of our own programs by a mixture over forms, with processes about the parts of a step
(fit/include/gpucast/fit/components): what a fit that chose the form itself forecasts with."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpucast import _core
from gpucast.model.content import Gpu, MixtureForm, PartsMixture
from gpucast.model.forecaster import Array
from gpucast.model.joint import joint_draws, shuffled

STEPS_ALONE = (
    "transfers and launches that were timed alone do not describe the steps (of another machine, "
    "path or memory?): left out"
)
"""That a mixture knows nothing but the steps, though more was measured."""

_SEED = 1


@dataclass(frozen=True)
class Times:
    """What a mixture says of some cells (s): medians, 90 % intervals of the mean of some visits and
    of the expected time, standard deviation of its logarithm, and parts, (cells, 3)."""

    seconds: Array
    low: Array
    high: Array
    mean_low: Array
    mean_high: Array
    spread: Array
    parts: Array


class Mixed:
    """The core's mixture of a model.

    Args:
        mixture: as the model's file holds it.
        machine: the fitted GPU.
        work: what the steps do.
    """

    def __init__(self, mixture: PartsMixture, machine: Gpu, work: _core.Workload) -> None:
        visits = mixture.visits
        self._seed = zlib.crc32(np.array(visits.seconds).tobytes())
        self._core = _core.Components(
            n=np.array(mixture.n, dtype=np.float64),
            gpus=np.array(mixture.gpus, dtype=np.float64),
            kernel=_or_nan(mixture.kernel),
            kernel_variance=np.array(mixture.kernel_variance, dtype=np.float64),
            visits=np.column_stack(
                [
                    np.array(visits.cell, dtype=np.float64),
                    np.array(visits.seconds),
                    np.array(visits.variance),
                    _or_nan(visits.cpu),
                    np.array(visits.cpu_variance),
                ]
            ),
            components=[_component(form, machine, work) for form in mixture.forms],
        )

    def times(
        self,
        n: Array,
        gpus: Array,
        common: Array | None = None,
        visits: Array | None = None,
        variance: Array | None = None,
    ) -> Times:
        """Times of pairs of n and gpus.

        Args:
            common: variance of ln T that another time or machine adds.
            visits: that a measured time is the mean of; one if not said.
            variance: of its logarithm beyond.
        """
        zero = np.zeros(n.size)
        times = Times(
            *self._core.forecast(
                n,
                gpus,
                np.ones(n.size) if visits is None else visits,
                zero if variance is None else variance,
                zero if common is None else common,
            )
        )
        # Noise smooths what lies between forms that are far apart, which can draw an end inwards.
        return replace(
            times,
            low=np.minimum(times.low, times.mean_low),
            high=np.maximum(times.high, times.mean_high),
        )

    def computing(self, n: Array, gpus: Array) -> tuple[Array, Array]:
        """T_gpu and T_cpu (s) in columns, and variances of their logarithms, whatever steps
        communicate."""
        mean, variance = self._core.computing(n, gpus)
        # A form without host work has none to deviate.
        return np.exp(mean), np.where(np.isfinite(mean), variance, 0.0)

    def draws(self, n: Array, gpus: Array, count: int) -> Array:
        """So many draws of the expected times (s), (count, cells)."""

        def drawn(at_n: Array, at_gpus: Array) -> Array:
            return shuffled(self._core.draws(at_n, at_gpus, count, _SEED), self._seed)

        return joint_draws(drawn, lambda a, b: self.times(a, b).seconds, n, gpus)


def _component(
    form: MixtureForm, machine: Gpu, work: _core.Workload
) -> tuple[_core.Model, float, Array, Array, Array, Array, Array, Array, Array]:
    """A form as the core takes it."""
    core = _core.Model(
        form.terms.gpu,
        form.terms.cpu,
        form.terms.com,
        cores=machine.cores,
        sms=machine.sms,
        block=machine.block,
        integer=form.integer or 1,
        workload=work,
    )
    return (
        core,
        form.weight,
        np.array(form.z),
        np.array(form.median),
        np.array(form.sd),
        np.array(form.amplitudes),
        np.array(form.step),
        np.array(form.cpu),
        np.array(form.kernel),
    )


def _or_nan(values: Sequence[float | None]) -> Array:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
