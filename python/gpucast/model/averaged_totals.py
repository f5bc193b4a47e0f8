"""Forecasts of a program that is known by its step times only, by a mixture over forms of the total
step time (fit/include/gpucast/fit/scaling)."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from gpucast import _core
from gpucast.model.engine import SEED, Engine, Measured, Times
from gpucast.model.facts import Fitted
from gpucast.model.intervals import Z90, Array, Factors, shares_of, step_factors
from gpucast.model.joint import DRAWS, joint_draws, shuffled
from gpucast.model.mixtures import columns_of

# Correlation length of parts' deviations in ln n and ln N, and the weight of no deviation.
_PARTS_LENGTH = 0.5
_PARTS_ELSEWHERE = 0.02
# Parts of simulated steps are interpolated over this length, and beyond are those of the nearest
# cell.
_SIMULATED_LENGTH = 0.25
_LEAST_WEIGHT = 1e-30

# Factor on n, up and down, over which growth with n is taken.
_NEAR = 1.1

# Least share of a part in a step.
_LEAST_SHARE = 1e-4


class AveragedTotals(Engine):
    """Forecasts with the core's mixture of a model, with parts that a program printed or a
    simulation gave."""

    draw_count = DRAWS

    def __init__(self, fitted: Fitted) -> None:
        assert fitted.scaling is not None
        self._fitted, self._parts = fitted, fitted.scaling.parts
        self._simulated, self._per_node = fitted.simulated, fitted.gpus_per_node
        columns = {
            name: np.array(column, dtype=np.float64)
            for name, column in vars(fitted.scaling.cells).items()
        }
        self._seed = zlib.crc32(columns["seconds"].tobytes())
        components = [tuple(vars(component).values()) for component in fitted.scaling.components]
        self.core = _core.Scaling(
            **columns,
            components=components,
            slope_error=fitted.scaling.slope_error,
            size_error=fitted.scaling.size_error,
            network=columns_of(fitted.scaling.network),
        )

    def _nodes_of(self, gpus: Array) -> Array:
        """Return the number of nodes for these GPU counts; 0 if nodes are not known."""
        return np.zeros(gpus.size) if self._per_node is None else np.ceil(gpus / self._per_node)

    def times(
        self, n: Array, gpus: Array, factors: Factors, measured: Measured | None = None
    ) -> Times:
        within = self._visit_variance(n, gpus)
        if measured is not None:
            # Repetitions share the deviation of a visit to a simulated path.
            simulated = self._simulated is not None
            within = within * (1 / measured.visits if simulated else measured.of_median)
            within += measured.rounding
        common = factors.variance(self._moved(n, gpus))
        nodes = self._nodes_of(gpus)
        *times, spread, parts = self.core.forecast(n, gpus, nodes, within)
        if common.any():
            # The forecast itself, the median of the mixture, is not moved.
            apart = self._as_known * (within + common)
            _, *times[1:3] = self.core.forecast(n, gpus, nodes, apart)[:3]
        factor = self._shares(n, gpus) @ factors.median
        seconds, low, high, mean_low, mean_high = (factor * end for end in times)
        if common.any():
            # The core's interval of the expected time does not include the common variance.
            mean_low, mean_high = (
                seconds * np.exp(sign * np.hypot(np.log(end / seconds), Z90 * np.sqrt(common)))
                for sign, end in ((-1, mean_low), (1, mean_high))
            )
        spread = np.sqrt(spread**2 + common)
        parts = factors.median * self._measured_parts(n, gpus, parts)
        parts *= (seconds / parts.sum(axis=1))[:, np.newaxis]
        return Times(seconds, low, high, mean_low, mean_high, spread, parts, common)

    def seconds(self, n: Array, gpus: Array, factors: Array) -> Array:
        return (self._shares(n, gpus) @ factors) * self._seconds(n, gpus)

    def _seconds(self, n: Array, gpus: Array) -> Array:
        return self.core.medians(n, gpus, self._nodes_of(gpus))

    def draws(self, n: Array, gpus: Array, factors: Array) -> Array:
        def drawn(at_n: Array, at_gpus: Array) -> Array:
            nodes = self._nodes_of(at_gpus)
            return shuffled(self.core.draws(at_n, at_gpus, nodes, len(factors), SEED), self._seed)

        shares, median = self._shares(n, gpus), np.exp(self._fitted.log_factors)
        cell_factors = step_factors(shares, factors, median, self._moved(n, gpus))
        return joint_draws(drawn, self._seconds, n, gpus) * cell_factors

    def alone(self) -> Iterator[tuple[str, float, Engine]]:
        scaling = self._fitted.scaling
        assert scaling is not None
        members = defaultdict(list)
        for name, component in zip(self.core.forms, scaling.components, strict=True):
            members[name].append(component)
        for name, members_of_form in members.items():
            weight = sum(component.weight for component in members_of_form)
            components = [
                replace(component, weight=component.weight / weight)
                for component in members_of_form
            ]
            only = replace(scaling, components=components)
            yield name, weight, AveragedTotals(replace(self._fitted, scaling=only))

    @property
    def _as_known(self) -> float:
        """Factor on variances of simulated steps, which are known, that undoes the core's Student's
        t for estimated ones."""
        return 1.0 if self._simulated is None else (Z90 / self._fitted.t90) ** 2

    def _visit_variance(self, n: Array, gpus: Array) -> Array:
        """Return the variance of ln of a single measurement around the expected time."""
        simulated = self._simulated
        if simulated is None:
            return np.full(n.size, (self._fitted.noise.pure_error or 0.0) ** 2)
        if simulated.kernels is None:
            return np.full(n.size, simulated.visit**2)
        kernels = self._shares(n, gpus)[:, 0]
        return simulated.visit**2 * (1 - kernels) + np.square(simulated.kernels * kernels)

    # ---- parts ----

    def _shares(self, n: Array, gpus: Array) -> Array:
        """Return the shares of a step's parts, (cells, 3); arbitrary if all parts have one
        factor."""
        if self._simulated is None:
            factors = self._fitted.machine_factors
            if factors is not None and factors.kind is not None:
                return self.kind_shares(n, gpus)
            return np.full((n.size, 3), 1 / 3)
        if self._parts is None:
            return np.tile([0.0, 0.0, 1.0], (n.size, 1))
        return self._timed_shares(n, gpus)

    def _timed_shares(self, n: Array, gpus: Array) -> Array:
        """Return the shares of measured parts, (cells, 3), of the cells nearby."""
        weight = _weights(self._distances(n, gpus))
        return shares_of(weight @ shares_of(self._timed_parts))

    def kind_shares(self, n: Array, gpus: Array) -> Array:
        """Return shares of a step, (cells, 3), on which another kind of GPU may act differently:
        those of measured parts, if there are any.

        Otherwise the GPUs' share, the first, is d ln T / d ln n relative to where it is largest
        among the fitted cells. What does not grow with n is work of the host, launches or
        communication.
        """
        if self._parts is not None:
            return self._timed_shares(n, gpus)

        def growth(n: Array, gpus: Array) -> Array:
            more, less = (self._seconds(n * factor, gpus) for factor in (_NEAR, 1 / _NEAR))
            return np.asarray(np.log(more / less))

        cells = self._fitted.scaling.cells  # type: ignore[union-attr]
        most = growth(np.array(cells.n), np.array(cells.gpus, dtype=np.float64)).max()
        shared = np.clip(growth(n, gpus) / most, 0, 1) if most > 0 else np.ones(n.size)
        return np.column_stack([shared, 1 - shared, np.zeros(n.size)])

    def _moved(self, n: Array, gpus: Array) -> Array:
        """Return the derivatives of ln T by ln of the factors on the parts, (cells, 3): their
        shares, adjusted by the sensitivity of simulated cells."""
        shares, simulated = self._shares(n, gpus), self._simulated
        if simulated is None or not simulated.cells or self._fitted.machine_factors is not None:
            return shares
        own_n, own_gpus, sd = np.array([[cell.n, cell.gpus, cell.sd] for cell in simulated.cells]).T
        weight = _weights(_apart(n, gpus, own_n, own_gpus))
        # The sensitivity of T_com is interpolated, which is a property of the calls.
        com_sd = sd / np.maximum(self._shares(own_n, own_gpus)[:, 2], _LEAST_SHARE)
        moved = np.exp(weight @ np.log(com_sd) / weight.sum(axis=1))
        return np.column_stack([shares[:, :2], shares[:, 2] * moved / simulated.com])

    @cached_property
    def _timed_parts(self) -> Array:
        """Measured parts (s), one row per cell."""
        assert self._parts is not None
        return np.array([self._parts.t_gpu, self._parts.t_cpu, self._parts.t_com]).T

    @cached_property
    def _parts_off(self) -> Array:
        """Logarithms of measured over fitted shares of the parts, one row per cell of ``parts``."""
        assert self._parts is not None
        n, gpus = np.array(self._parts.n), np.array(self._parts.gpus, dtype=np.float64)
        form = self.core.forecast(n, gpus, self._nodes_of(gpus), np.zeros(n.size))[-1]
        return np.log(_some_shares(self._timed_parts) / _some_shares(form))

    def _distances(self, n: Array, gpus: Array) -> Array:
        """Return logarithmic distances from cells to those with known parts, (cells, known)."""
        assert self._parts is not None
        return _apart(n, gpus, np.array(self._parts.n), np.array(self._parts.gpus, np.float64))

    def _measured_parts(self, n: Array, gpus: Array, parts: Array) -> Array:
        """Return the forms' parts of forecasts (s; GPU, host, communication), corrected by the
        deviation of measured parts in nearby cells."""
        if self._parts is None or not n.size:
            return parts
        total = parts.sum(axis=1, keepdims=True)
        if self._simulated is not None:
            return np.asarray(total * self._shares(n, gpus), dtype=np.float64)
        weight = np.exp(-self._distances(n, gpus) / _PARTS_LENGTH)
        moved = weight @ self._parts_off / (weight.sum(axis=1, keepdims=True) + _PARTS_ELSEWHERE)
        shares = shares_of(_some_shares(parts) * np.exp(moved))
        return np.asarray(total * shares, dtype=np.float64)


def _weights(distances: Array) -> Array:
    """Return weights of simulated cells at these distances."""
    return np.maximum(np.exp(-distances / _SIMULATED_LENGTH), _LEAST_WEIGHT)


def _apart(n: Array, gpus: Array, known_n: Array, known_gpus: Array) -> Array:
    """Return logarithmic distances of cells from others, (cells, others)."""
    return np.abs(np.log(n[:, None] / known_n)) + np.abs(np.log(gpus[:, None] / known_gpus))


def _some_shares(parts: Array) -> Array:
    """Return shares of each row's sum, none of them 0."""
    return shares_of(np.maximum(shares_of(parts), _LEAST_SHARE))
