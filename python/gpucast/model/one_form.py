"""Forecasts by one form of the parts of a step, with uncertainty from bootstrap replicates."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gpucast import _core
from gpucast.errors import InputError
from gpucast.model.engine import Engine, Measured, Times, about, interval_width
from gpucast.model.facts import Fitted
from gpucast.model.intervals import Array, Factors, shares_of

# A grid of forecasts evaluates every replicate in every cell. Beyond this number of evaluations,
# fewer replicates are used; forty still give the spread to 11 %.
_EVALUATIONS = 20_000_000
_FEWEST_REPLICATES = 40

# For fewer forecasts, starting threads takes longer than it saves.
_WORTH_THREADS = 20_000


class OneForm(Engine):
    """The terms of one of our own programs with their parameters, and replicates of these."""

    def __init__(self, fitted: Fitted) -> None:
        self._fitted = fitted
        self._core, self._values = fitted.core, fitted.values

    @property
    def draw_count(self) -> int:
        return len(self._fitted.integers)

    def times(
        self, n: Array, gpus: Array, factors: Factors, measured: Measured | None = None
    ) -> Times:
        self._refuse_unobserved(n, gpus)
        parts, spread, own = self._known(n, gpus, measured)
        parts = parts * factors.median
        seconds = parts.sum(axis=1)
        common = factors.variance(shares_of(parts))
        spread = np.sqrt(spread**2 + common)
        noise = self._fitted.noise
        mean = interval_width(noise.t90 * np.hypot(spread, noise.between_cells))
        single = interval_width(noise.t90 * np.sqrt(spread**2 + own))
        return Times(seconds, *about(seconds, single), *about(seconds, mean), spread, parts, common)

    def _known(
        self, n: Array, gpus: Array, measured: Measured | None
    ) -> tuple[Array, Array, Array]:
        """Return T_gpu, T_cpu and T_com in columns, the spread of ln T, and the variance of a
        measurement around it."""
        t_gpu, t_cpu, t_com, spread = self._forecast(n, gpus)
        noise = self._fitted.noise
        own = np.full(n.size, noise.sample**2)
        if measured is not None:
            within = noise.sample if noise.pure_error is None else noise.pure_error
            own = noise.between_cells**2 + within**2 * measured.of_median + measured.rounding
        return np.column_stack([t_gpu, t_cpu, t_com]), spread, own

    def _forecast(self, n: Array, gpus: Array) -> tuple[Array, Array, Array, Array]:
        used = max(_FEWEST_REPLICATES, _EVALUATIONS // max(1, n.size))
        replicates, integers = self._fitted.replicates[:used], self._fitted.integers[:used]
        return _core.forecast(self._core, self._values, replicates, integers, n, gpus)

    def seconds(self, n: Array, gpus: Array, factors: Array) -> Array:
        return evaluated(self._core, self._values, n, gpus, factors)

    def draws(self, n: Array, gpus: Array, factors: Array) -> Array:
        return np.array([self.draw(at, n, gpus, row) for at, row in enumerate(factors)])

    def draw(self, at: int, n: Array, gpus: Array, factors: Array) -> Array:
        """Return times (s) by draw ``at``, which is a set of parameters for any n and N."""
        at %= self.draw_count
        core = self._cores[self._fitted.integers[at]]
        return evaluated(core, self._fitted.replicates[at], n, gpus, factors)

    @cached_property
    def _cores(self) -> dict[int, _core.Model]:
        """The core's models for each structural integer of the replicates."""
        return {k: self._core.with_integer(k) for k in set(self._fitted.integers)}

    def fastest_shares(self, n: Array, gpus: Array) -> Array:
        """Return the share of draws in which each GPU count is the fastest, (n, gpus)."""
        fitted = self._fitted
        return _core.best_probability(self._core, fitted.replicates, fitted.integers, n, gpus)

    def _refuse_unobserved(self, n: Array, gpus: Array) -> None:
        """Refuse more GPUs than fitted if their time depends on parameters that no data depend
        on."""
        parameters, path = self._fitted.parameters, self._fitted.other_path
        unseen = [name for name, parameter in parameters.items() if not parameter.observed]
        most = self._fitted.domain.gpus[1]
        if path is not None:
            most = min(most, path.known_gpus)
        if not unseen or not gpus.size or gpus.max() <= most:
            return
        other = self._values.copy()
        other[[name in unseen for name, _, _ in self._core.parameters]] *= 2
        as_fitted, changed = (
            evaluated(self._core, values, n, gpus, np.ones(3)) for values in (self._values, other)
        )
        if np.array_equal(as_fitted, changed):
            return
        raise InputError(
            f"nothing measured depends on {', '.join(unseen)}, so {int(gpus.max())} GPUs "
            f"cannot be forecast; measure steps with more than {most} GPU(s) or transfers on "
            "that route",
            field="gpus",
        )


def evaluated(core: _core.Model, values: Array, n: Array, gpus: Array, factors: Array) -> Array:
    """Return step times (s) of pairs of n and gpus by a core's model, with its three parts
    multiplied by ``factors``."""
    none = np.empty((0, values.size))
    threads = 1 if n.size < _WORTH_THREADS else 0
    t_gpu, t_cpu, t_com, _ = _core.forecast(core, values, none, [], n, gpus, threads)
    return np.asarray(factors[0] * t_gpu + factors[1] * t_cpu + factors[2] * t_com)
