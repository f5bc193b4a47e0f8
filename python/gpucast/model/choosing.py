"""The fastest GPU count, and the probability that it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gpucast.errors import InputError
from gpucast.model.asked import checked_counts, checked_sizes, outer
from gpucast.model.engine import WIDEST
from gpucast.model.forecasting import Forecasting
from gpucast.model.forecasts import Best
from gpucast.model.intervals import Array, Interval
from gpucast.model.joint import COUNTS_DRAWN, between, nodes_of
from gpucast.util.units import plain

# With more counts, draws of one size are interpolated; the counts are processed in groups to limit
# memory.
_MOST_COUNTS_DRAWN = 128
_COUNTS_TOGETHER = 4096

# With more counts, times of one size are interpolated where they are smooth, but not on the first
# few counts, between which forms jump.
_MOST_ASKED = 512
_FEW_COUNTS = 64


class Choosing(Forecasting):
    """A fitted model that finds the best GPU count by ``believed`` times."""

    def best_counts(
        self, n: Sequence[float], gpus: Sequence[float], interval: Interval = Interval.now
    ) -> list[Best]:
        """Return the fastest GPU count for each n by ``believed`` times: if a measurement
        contradicts the model, the choice follows the measurement, and the probabilities of other
        counts of that size allow for an error of the same magnitude. ``interval`` selects what
        probabilities are about."""
        self.check_shared_out()
        counts = checked_counts(sorted(set(gpus)))
        sizes = checked_sizes(n)
        if not counts.size:
            raise InputError("needs at least one GPU count to choose from", field="gpus")
        seconds, share = self.believed_shares(sizes, counts, interval)
        fastest = np.argmin(seconds, axis=1)
        outside = self.extrapolates(sizes, counts[fastest])
        measured = seconds[np.arange(sizes.size), fastest] == self.measured(sizes, counts[fastest])
        result: list[Best] = []
        for row, size in enumerate(sizes):
            best = int(fastest[row])
            close = counts[seconds[row] <= 1.02 * seconds[row, best]]
            result.append(
                {
                    "model": self.name,
                    "n": plain(size),
                    "gpus": int(counts[best]),
                    "seconds": float(seconds[row, best]),
                    # Rounding errors of the sum of shares are removed.
                    "probability": round(float(share[row, best]), 9) if self.draw_count else None,
                    "within_2_percent": [int(count) for count in close],
                    "extrapolated": bool(outside[row]),
                    "measured": bool(measured[row]),
                }
            )
        return result

    def believed_shares(
        self,
        n: Array,
        gpus: Array,
        interval: Interval = Interval.now,
        times: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]:
        """Return ``believed`` step times (s) of every n with every GPU count (ascending), and the
        probability that each count is the fastest. All statements about the certainty of a best
        count use this function. ``times`` are the times of these cells, if known."""
        forecast, seconds = times or self.times(n, gpus)
        share = self.best_shares(n, gpus, interval)
        if not self.draw_count:
            return seconds, share
        # If the model agrees with the measurements, its own probabilities hold.
        off = self.refuted(n)
        other = np.argmin(seconds, axis=1) != np.argmin(forecast, axis=1)
        for row in np.flatnonzero(other | (off > 0)).tolist():
            about = self._about(float(n[row]), gpus, seconds[row] / forecast[row], float(off[row]))
            share[row] = self.shares_about(float(n[row]), gpus, *about, interval)
        return seconds, share

    def believed_shares_of_first(
        self, n: Array, gpus: Array, times: tuple[Array, Array], interval: Interval = Interval.now
    ) -> Iterator[Array]:
        """Yield for each n the probabilities of ``believed_shares`` among the first 1, 2, ...
        counts, one row each. All rows use the same draws, so that many choices take hardly longer
        than one. ``times`` are forecast and believed times, as from ``times``. The model's
        uncertainty must be known (``draw_count``).
        """
        columns = (n.tolist(), *times, self.refuted(n).tolist())
        for size, forecast, seconds, off in zip(*columns, strict=True):
            other = running_argmin(seconds) != running_argmin(forecast)
            believed = other | (off > 0)
            shares = np.empty((gpus.size, gpus.size))
            if not believed.all():
                plain = self._fastest(size, gpus, np.ones(gpus.size), None, interval)
                shares[~believed] = _shares(plain)[~believed]
            if believed.any():
                about = self._about(size, gpus, seconds / forecast, off)
                shares[believed] = _shares(self._fastest(size, gpus, *about, interval))[believed]
            yield shares

    def _about(
        self, n: float, gpus: Array, factors: Array, off: float
    ) -> tuple[Array, Array | None]:
        """Return arguments of ``shares_about`` for a size whose cells contradict the model by
        ``off``."""
        if off == 0:
            return factors, None
        known = self.measured(np.full(gpus.size, n), gpus)
        return factors, np.where(np.isnan(known), off, 0.0)

    def times(self, n: Array, gpus: Array) -> tuple[Array, Array]:
        """Return step times (s) of every n with every GPU count (ascending), one row per n:
        forecast, and ``believed``.
        """
        shape = (n.size, gpus.size)
        if self.own_program or gpus.size <= _MOST_ASKED:
            forecasts = self.forecasts(*outer(n, gpus))
            return forecasts.seconds.reshape(shape), self.believed(forecasts).reshape(shape)
        forecast = np.exp([self._logs(size, gpus) for size in n])
        return forecast, self._trusted(*outer(n, gpus), forecast.ravel()).reshape(shape)

    def _logs(self, n: float, gpus: Array) -> Array:
        """Return logarithms of the step times (s) of one size on many GPU counts (ascending)."""
        if gpus.size <= _MOST_ASKED:
            return np.log(self.seconds(np.full(gpus.size, n), gpus))
        cells = self.fitted_cells
        measured = np.array([] if cells is None else cells.gpus, dtype=np.float64)
        # Deviations of single cells end next to them.
        near = np.isin(gpus, [measured - 1, measured, measured + 1])

        def logs_at(logs: Array) -> Array:
            # Undo rounding errors of counts.
            counts = np.rint(np.exp(logs))
            return np.log(self.seconds(np.full(counts.size, n), counts))

        return between(logs_at, np.log(gpus), near | (gpus <= _FEW_COUNTS))

    def best_shares(self, n: Array, gpus: Array, interval: Interval = Interval.now) -> Array:
        """Return the probability that each GPU count is the fastest, (n, gpus); NaN if the model's
        uncertainty is not known."""
        if not self.draw_count:
            return np.full((n.size, gpus.size), np.nan)
        plain = interval == Interval.now and self.machine_factors is None
        if self.one_form is not None and plain:
            return self.one_form.fastest_shares(n, gpus)
        one = np.ones(gpus.size)
        return np.array([self.shares_about(size, gpus, one, interval=interval) for size in n])

    def shares_about(
        self,
        n: float,
        gpus: Array,
        factors: Array,
        apart: Array | None = None,
        interval: Interval = Interval.now,
    ) -> Array:
        """Return the probability that each count is the fastest if times are the model's,
        multiplied by ``factors``. ``apart`` is an additional, independent standard deviation of the
        logarithm of each.
        """
        fastest = np.empty(0, dtype=np.intp)
        for part in self._fastest(n, gpus, factors, apart, interval):
            fastest = part[:, -1]
        return np.bincount(fastest, minlength=gpus.size) / fastest.size

    def _fastest(
        self, n: float, gpus: Array, factors: Array, apart: Array | None, interval: Interval
    ) -> Iterator[NDArray[np.intp]]:
        """Yield the position of the fastest among the first 1, 2, ... counts in each draw, (draws,
        gpus), for some counts at a time."""
        if self.own_program or gpus.size <= _MOST_COUNTS_DRAWN:
            times = self.draws(*outer([n], gpus), self.draw_count, interval) * factors
            if apart is not None:
                times = times * deviations(times.shape[0], apart)
            yield running_argmin(times)
            return
        # No measurement contradicts a model of totals, so that ``apart`` is None.
        logs = self._logs(n, gpus)
        axis = nodes_of(gpus, COUNTS_DRAWN)
        at = outer([n], np.exp(axis))
        ratio = np.log(self.draws(*at, self.draw_count, interval) / self.seconds(*at))
        least = np.full((self.draw_count, 1), np.inf)
        fastest = np.zeros((self.draw_count, 1), dtype=np.intp)
        for first in range(0, gpus.size, _COUNTS_TOGETHER):
            some = slice(first, first + _COUNTS_TOGETHER)
            drawn = logs[some] + np.log(factors[some]) + ratio @ _hats(axis, np.log(gpus[some]))
            time = np.minimum.accumulate(drawn, axis=1)
            part = np.where(time < least, first + running_argmin(drawn), fastest)
            yield part
            fastest, least = part[:, -1:], np.minimum(time[:, -1:], least)


def _hats(axis: Array, values: Array) -> Array:
    """Return weights of linear interpolation: one row per node of the axis, one column per
    value."""
    return np.array([np.interp(values, axis, row) for row in np.eye(axis.size)])


def running_argmin(values: Array) -> NDArray[np.intp]:
    """Return the position of the first minimum among the first 1, 2, ... values of the last
    axis."""
    least = np.minimum.accumulate(values, axis=-1)
    new = np.ones(values.shape, dtype=np.bool_)
    new[..., 1:] = least[..., 1:] < least[..., :-1]
    at = np.where(new, np.arange(values.shape[-1]), 0)
    return np.asarray(np.maximum.accumulate(at, axis=-1), dtype=np.intp)


def _shares(parts: Iterator[NDArray[np.intp]]) -> Array:
    """Return how often each position occurs in each column, (columns, positions)."""
    fastest = np.hstack(list(parts))
    draws, count = fastest.shape
    counted = [np.bincount(column, minlength=count) for column in fastest.T]
    return np.asarray(np.array(counted) / draws, dtype=np.float64)


def deviations(count: int, spread: Array) -> Array:
    """Draw factors whose logarithms have these standard deviations, (count, *spread.shape)."""
    draws = np.random.default_rng(0).standard_normal((count, *spread.shape))
    return np.asarray(np.exp(np.clip(draws * spread, -WIDEST, WIDEST)), dtype=np.float64)
