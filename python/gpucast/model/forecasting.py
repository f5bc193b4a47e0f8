"""Forecasts of a fitted model, compared with measurements, and the best GPU counts by them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpucast.errors import InputError
from gpucast.model.asked import checked_counts, checked_sizes, outer
from gpucast.model.averaged_parts import AveragedParts
from gpucast.model.averaged_totals import AveragedTotals
from gpucast.model.engine import WIDEST, Engine, Measured, Times, interval_width
from gpucast.model.facts import MORE_PER_GPU, Fitted
from gpucast.model.forecasts import Best, Forecasts, missed
from gpucast.model.intervals import Z90, Array, DrawnFactors, Factors, Interval, drawn
from gpucast.model.joint import COUNTS_DRAWN, between, nodes_of
from gpucast.model.lone_count import OneCount
from gpucast.model.one_form import OneForm
from gpucast.model.other_path import OnOtherPath
from gpucast.util.units import plain

# With more counts, draws of one size are interpolated; the counts are processed in groups to limit
# memory.
_MOST_COUNTS_DRAWN = 128
_COUNTS_TOGETHER = 4096

# With more counts, times of one size are interpolated where they are smooth, but not on the first
# few counts, between which forms jump.
_MOST_ASKED = 512
_FEW_COUNTS = 64


class Forecasting(Fitted):
    """A fitted model that forecasts: its engine, factors on the parts of all cells at another time
    or on another machine, and the best GPU count by ``believed`` times."""

    @cached_property
    def engine(self) -> Engine:
        """The engine of its forecasts."""
        if self.one_form is not None:
            return self.one_form
        if self.other_path is not None:
            return OnOtherPath(self)
        if self.mixture is not None:
            return AveragedParts(self)
        return self.one_count or AveragedTotals(self)

    @cached_property
    def one_form(self) -> OneForm | None:
        """The engine of a single form, whose draws are sets of its parameters; None if forecasts
        average over several, or another path's communication has no form."""
        return None if self.weighed or self.other_path is not None else OneForm(self)

    @cached_property
    def one_count(self) -> OneCount | None:
        """The engine for other GPU counts if only one was timed; None if several were."""
        lone = self.lone_gpus
        return None if lone is None else OneCount(AveragedTotals(self), self, lone)

    @property
    def draw_count(self) -> int:
        """Number of draws of the model; 0 if its uncertainty is not known."""
        return self.engine.draw_count

    def factors(self, interval: Interval, t90: float, n: Array) -> Factors:
        """Return the factors that all cells of the forecast time and machine share, for cells of
        these sizes; ``t90`` is the half-width, in standard deviations, of the intervals for which
        their covariance is used."""
        mean, covariance = self._joint_factors(interval, t90)
        return Factors(mean[:3], covariance, features=self.size_features(n))

    def _joint_factors(self, interval: Interval, t90: float) -> tuple[Array, Array]:
        """Return mean and covariance of the factors' logarithms and, behind them, of the variables
        of ``size_features``."""
        covariance = self.common_factors.covariance(interval, self.machine_factors, t90)
        if self.machine_factors is None:
            return self.log_factors, covariance
        mean, joint = self.machine_factors.joint
        joint[:3, :3] = covariance
        return mean, joint

    def size_features(self, n: Array) -> Array:
        """Return what steps of these sizes depend on beside their parts, (cells, variables)."""
        factors = self.machine_factors
        return np.zeros((n.size, 0)) if factors is None else factors.size_features(n)

    def size_factors(self, n: Array) -> Array:
        """Return the medians of the factors on steps of sizes."""
        if self.machine_factors is None:
            return np.ones(n.size)
        return np.asarray(np.exp(self.size_features(n) @ self.machine_factors.joint[0][3:]))

    def drawn_factors(self, count: int, interval: Interval) -> DrawnFactors:
        """Draw the factors that all cells share."""
        # They are normal, whatever the distribution of the intervals.
        mean, covariance = self._joint_factors(interval, Z90)
        # Each model has its own draws: two models are of two paths, usually of two hosts.
        kind = self.machine_factors.kind if self.machine_factors else None
        seed = zlib.crc32(f"{self.data}{kind or ''}".encode())
        return drawn(mean, covariance, count, seed)

    def log_width(self, spread: Array) -> Array:
        """Return the half-width of the 90 % interval of ln of an expected time.

        Args:
            spread: its standard deviation in the model's draws.
        """
        return interval_width(self.t90 * np.hypot(spread, self.between_cells))

    def forecasts(
        self,
        n: Sequence[float] | Array,
        gpus: Sequence[float] | Array,
        interval: Interval = Interval.now,
    ) -> Forecasts:
        """Return forecasts for pairs of ``n`` and ``gpus`` (of equal length).

        ``interval`` selects a measurement now, later, or on another machine.

        Raises:
            InputError: an n or a GPU count is out of range, or the data tell nothing about the
                communication of a GPU count.
        """
        n, gpus = checked_sizes(n), checked_counts(gpus)
        times = self._times(n, gpus, interval)
        as_they_are = ("seconds", "low", "high", "mean_low", "mean_high", "spread", "common")
        t_gpu, t_cpu, t_com = times.parts.T
        return Forecasts(
            n=n,
            gpus=gpus,
            t_gpu=t_gpu,
            t_cpu=t_cpu,
            t_com=t_com,
            extrapolated=self.extrapolates(n, gpus),
            interval=interval,
            **{name: getattr(times, name) for name in as_they_are},
        ).checked(self.name)

    def seconds(self, n: Array, gpus: Array) -> Array:
        """Return step times (s) for pairs of any n > 0 and N > 0."""
        return self.size_factors(n) * self.engine.seconds(n, gpus, np.exp(self.log_factors))

    def draws(self, n: Array, gpus: Array, count: int, interval: Interval = Interval.now) -> Array:
        """Draw expected times (s) jointly for pairs of any n > 0 and N > 0, shape (count,
        pairs)."""
        factors = self.drawn_factors(count, interval)
        of_sizes = factors.of_sizes(self.size_features(n))
        return self.engine.draws(n, gpus, factors.parts) * of_sizes

    def cell_intervals(
        self,
        forecasts: Forecasts,
        repetitions: Sequence[int],
        rounding: Array,
        visits: Sequence[int] | None = None,
    ) -> tuple[Array, Array]:
        """Return 90 % intervals (s) of medians of ``repetitions`` in the forecast cells.
        ``rounding`` is the relative variance of each, ``visits`` the number of visits of each cell
        (default: one)."""
        n, gpus = forecasts.n, forecasts.gpus
        number = np.ones(n.size) if visits is None else np.array(visits, dtype=np.float64)
        measured = Measured(repetitions, number, rounding)
        times = self._times(n, gpus, forecasts.interval, measured)
        return times.low, times.high

    def _times(
        self, n: Array, gpus: Array, interval: Interval, measured: Measured | None = None
    ) -> Times:
        times = self.engine.times(n, gpus, self.factors(interval, self.t90, n), measured)
        return times.longer(self.size_factors(n))

    # ---- comparison with measurements ----

    def extrapolates(self, n: Array, gpus: Array) -> NDArray[np.bool_]:
        """Return whether a cell lies outside the fitted n or GPU counts, or gives a GPU more than
        any measured one had."""
        domain = self.domain
        inside_n = (domain.n[0] <= n) & (n <= domain.n[1])
        inside_gpus = (domain.gpus[0] <= gpus) & (gpus <= domain.gpus[1])
        return np.asarray(~(inside_n & inside_gpus) | self.overfills(n, gpus), dtype=np.bool_)

    def overfills(self, n: Array, gpus: Array) -> NDArray[np.bool_]:
        """Return whether a cell gives a GPU more than any measured one had, so that it may not fit
        into memory."""
        most = np.inf if self.most_per_gpu is None else self.most_per_gpu
        return np.asarray(n / gpus > MORE_PER_GPU * most, dtype=np.bool_)

    def measured(self, n: Array, gpus: Array) -> Array:
        """Return measured times (s) of pairs of n and gpus (any common shape); NaN if not
        measured."""
        cells = self.timed
        if cells is None:
            return np.full(np.shape(n), np.nan)
        rows = zip(cells.n, cells.gpus, cells.seconds, strict=True)
        known = {(float(size), float(count)): seconds for size, count, seconds in rows}
        pairs = zip(np.ravel(n).tolist(), np.ravel(gpus).tolist(), strict=True)
        times = [known.get((float(size), float(count)), np.nan) for size, count in pairs]
        return np.array(times, dtype=np.float64).reshape(np.shape(n))

    def refuted(self, n: Array) -> Array:
        """Return by how much measurements contradict the model at each size: the root mean square
        of ln of measured over forecast times, if a cell is outside its 90 % interval; else 0."""
        # A mixture of totals follows its cells, and an outlier among them deviates alone.
        if self.timed is None or not self.own_program or not np.isin(n, self.timed.n).any():
            return np.zeros(np.shape(n))
        off = [self._refuted.get(size, 0.0) for size in np.ravel(n).tolist()]
        return np.reshape(np.array(off, dtype=np.float64), np.shape(n))

    @cached_property
    def _refuted(self) -> dict[float, float]:
        """``refuted`` by size."""
        cells = self.timed
        assert cells is not None
        sizes, counts, seconds = (
            np.array(column, dtype=np.float64) for column in (cells.n, cells.gpus, cells.seconds)
        )
        forecasts = self.forecasts(sizes, counts)
        square = np.square(np.log(seconds / forecasts.seconds))
        return {
            size: float(np.sqrt(np.mean(square[sizes == size])))
            for size in np.unique(sizes[missed(forecasts, seconds)]).tolist()
        }

    def trusted(self, n: Array, gpus: Array) -> Array:
        """Return step times (s) for pairs of any n > 0 and N > 0 (flat): measured times, if any, at
        sizes where they contradict the model, or always if only step times of the program are
        known; else forecasts."""
        return self._trusted(n, gpus, self.seconds(n, gpus))

    def believed(self, forecasts: Forecasts) -> Array:
        """Return ``trusted`` times for existing forecasts."""
        return self._trusted(forecasts.n, forecasts.gpus, forecasts.seconds)

    def _trusted(self, n: Array, gpus: Array, forecast: Array) -> Array:
        known = self.known(n, gpus)
        replaced = ~np.isnan(known)
        if self.own_program:
            replaced &= self.refuted(n) > 0
        return np.where(replaced, known, forecast)

    def known(self, n: Array, gpus: Array) -> Array:
        """Return measured times (s) of cells; NaN if not measured. If only one GPU count was timed,
        times of other counts are derived from it."""
        if self.one_count is None:
            return self.measured(n, gpus)
        return self.measured(n, self.one_count.timed(gpus)) * self.one_count.longer(gpus)

    # ---- the fastest GPU count, and the probability that it is ----

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
