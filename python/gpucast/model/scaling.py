"""A model of a program that is known by its step times alone: several forms, averaged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gpucast import _core
from gpucast.data.selection import FIELDS, StepSelection
from gpucast.model.content import FittedScaling
from gpucast.model.forecaster import (
    SCHEMA,
    Array,
    Forecaster,
    Forecasts,
    checked_counts,
    checked_sizes,
    outer,
)
from gpucast.util.typed_json import to_json

DRAWS = 400
"""Draws behind a probability: known to 2.5 % at worst."""

# Draws repeat, so that a model's answers do.
_SEED = 1


@dataclass(kw_only=True, eq=False, repr=False)
class ScalingModel(FittedScaling, Forecaster):
    """Forecasts from what step times say, by forms that the field's programs follow
    (``gpucast.model.content``).

    Attributes:
        name: for tables and files: the file's name, or the program fitted.
    """

    name: str = field(default="", metadata={"key": None})

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.form}"]
        lines += [f"  {100 * (each.weight or 0):3.0f} %  {each.model}" for each in self.candidates]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    @property
    def content(self) -> dict[str, Any]:
        return dict(to_json(self))

    @property
    def selection(self) -> StepSelection:
        return StepSelection(**{name: getattr(self.data, name) for name in FIELDS})

    @property
    def form(self) -> str:
        return self.chosen or "scaling"

    @property
    def draw_count(self) -> int:
        return DRAWS

    @property
    def unit(self) -> str | None:
        """What n counts."""
        return self.scaling.unit

    @property
    def timestep(self) -> float | None:
        """Simulated time (s) that a step advances."""
        return self.scaling.timestep

    @cached_property
    def core(self) -> _core.Scaling:
        """The core's mixture."""
        cells = self.scaling.cells
        columns = (cells.n, cells.gpus, cells.nodes, cells.seconds, cells.variance, cells.local)
        return _core.Scaling(
            *(np.array(column, dtype=np.float64) for column in columns),
            [
                (
                    each.terms,
                    each.growth,
                    each.overlap,
                    each.deviates,
                    each.coefficients,
                    each.weight,
                )
                for each in self.scaling.components
            ],
        )

    def forecasts(self, n: Sequence[float] | Array, gpus: Sequence[float] | Array) -> Forecasts:
        n, gpus = checked_sizes(n), checked_counts(gpus)
        within = self.noise.pure_error or 0.0
        variance = np.full(n.size, within**2)
        seconds, low, high, mean_low, mean_high, spread, parts = self.core.forecast(
            n, gpus, self.nodes_of(gpus), variance
        )
        return Forecasts(
            n=n,
            gpus=gpus,
            seconds=seconds,
            low=low,
            high=high,
            mean_low=mean_low,
            mean_high=mean_high,
            t_gpu=parts[:, 0],
            t_cpu=parts[:, 1],
            t_com=parts[:, 2],
            extrapolated=self.extrapolates(n, gpus),
            spread=spread,
        )

    def seconds(self, n: Array, gpus: Array) -> Array:
        return self.core.forecast(n, gpus, self.nodes_of(gpus), np.zeros(n.size))[0]

    def draws(self, n: Array, gpus: Array, count: int) -> Array:
        return self.core.draws(n, gpus, self.nodes_of(gpus), count, _SEED)

    def cell_intervals(
        self, found: Forecasts, repetitions: Sequence[int], rounding: Array
    ) -> tuple[Array, Array]:
        within = self.noise.pure_error or 0.0
        of_median = np.array([_core.median_variance(count) for count in repetitions])
        variance = within**2 * of_median + rounding
        interval = self.core.forecast(found.n, found.gpus, self.nodes_of(found.gpus), variance)
        return interval[1], interval[2]

    def best_shares(self, n: Array, gpus: Array) -> Array:
        shares = np.empty((n.size, gpus.size))
        for row, size in enumerate(n):
            drawn = self.draws(*outer([size], gpus), DRAWS)
            fastest = np.bincount(np.argmin(drawn, axis=1), minlength=gpus.size)
            shares[row] = fastest / DRAWS
        return shares

    def measured(self, n: Array, gpus: Array) -> Array:
        cells = self.scaling.cells
        known = {
            (size, count): seconds
            for size, count, seconds in zip(cells.n, cells.gpus, cells.seconds, strict=True)
        }
        pairs = zip(np.ravel(n).tolist(), np.ravel(gpus).tolist(), strict=True)
        return np.array([known.get(pair, np.nan) for pair in pairs]).reshape(np.shape(n))

    def nodes_of(self, gpus: Array) -> Array:
        """How many nodes so many GPUs are in, by the most GPUs a node that were measured; 0 where
        nodes are not known."""
        cells = self.scaling.cells
        nodes = np.array(cells.nodes)
        if not nodes.size or not (nodes > 0).all():
            return np.zeros(gpus.size)
        per_node = float(np.max(np.array(cells.gpus) / nodes))
        return np.ceil(gpus / per_node)

    def to_json(self) -> str:
        content = {"schema": SCHEMA, **self.content}
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"
