"""Forecasts of GPU counts other than the only timed one (``lone_count``)."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np

from gpucast.errors import InputError
from gpucast.model import lone_count
from gpucast.model.engine import Engine, Measured, Times
from gpucast.model.facts import Fitted
from gpucast.model.intervals import Array, Factors


class OneCount(Engine):
    """An engine for the only timed GPU count, and a law for other counts.

    Args:
        engine: forecasts the timed count.
        fitted: the model.
        gpus: the timed count.
    """

    def __init__(self, engine: Engine, fitted: Fitted, gpus: int) -> None:
        assert fitted.scaling is not None
        self._engine, self._fitted, self._lone = engine, fitted, gpus
        self._law = lone_count.TRACED if fitted.scaling.traced else lone_count.PUBLISHED

    @property
    def draw_count(self) -> int:
        return self._engine.draw_count

    def timed(self, gpus: Array) -> Array:
        """Return the timed count for each of some counts.

        Raises:
            InputError: the work is not divided among GPUs, and one of the counts was not measured.
        """
        unshared = self._fitted.unshared
        if unshared is not None and (gpus != self._lone).any():
            other = gpus[gpus != self._lone][0]
            raise InputError(
                f"{unshared} is not divided among GPUs: other sizes are forecast on the "
                f"{self._lone} GPUs measured, nothing on {other:g}; measure it there",
                file=self._fitted.name,
                field="gpus",
            )
        return np.full(gpus.size, float(self._lone))

    def longer(self, gpus: Array) -> Array:
        """Return the factor on the time of the timed count."""
        return lone_count.factor(gpus, self._lone, self._law)

    def times(
        self, n: Array, gpus: Array, factors: Factors, measured: Measured | None = None
    ) -> Times:
        timed, longer = self.timed(gpus), self.longer(gpus)
        unknown = lone_count.variance(gpus, self._lone, self._law)
        own = self._engine.times(n, timed, factors, measured)
        if (gpus == timed).all():
            return own
        wide = self._engine.times(n, timed, replace(factors, more=unknown), measured)
        low, high = self._divided(gpus, (wide.low, wide.high), (own.low, own.high))
        mean_low, mean_high = self._divided(
            gpus, (wide.mean_low, wide.mean_high), (own.mean_low, own.mean_high)
        )
        seconds, parts = longer * own.seconds, longer[:, np.newaxis] * own.parts
        return Times(seconds, low, high, mean_low, mean_high, wide.spread, parts, wide.common)

    def seconds(self, n: Array, gpus: Array, factors: Array) -> Array:
        return self.longer(gpus) * self._engine.seconds(n, self.timed(gpus), factors)

    def draws(self, n: Array, gpus: Array, factors: Array) -> Array:
        sizes, at = np.unique(n, return_inverse=True)
        timed = self._engine.draws(sizes, self.timed(gpus)[: sizes.size], factors)
        # Draws must be independent of another path's.
        seed = zlib.crc32(str(self._fitted.data).encode())
        return np.asarray(timed[:, at]) * lone_count.drawn(
            gpus, self._lone, self._law, len(factors), seed
        )

    def _divided(
        self, gpus: Array, wide: tuple[Array, Array], own: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Return the ends of intervals, from those of the timed count with and without the
        uncertainty of other counts."""
        longer = self.longer(gpus)
        return lone_count.within_division(longer * wide[0], longer * wide[1], gpus, self._lone, own)
