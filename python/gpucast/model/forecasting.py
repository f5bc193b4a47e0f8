"""Forecasts of a fitted model, compared with measurements."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpucast.model.asked import checked_counts, checked_sizes
from gpucast.model.averaged_parts import AveragedParts
from gpucast.model.averaged_totals import AveragedTotals
from gpucast.model.engine import Engine, Measured, interval_width
from gpucast.model.facts import MORE_PER_GPU, Fitted
from gpucast.model.forecasts import Forecasts, missed
from gpucast.model.intervals import Z90, Array, Factors, Interval, drawn
from gpucast.model.one_count import OneCount
from gpucast.model.one_form import OneForm
from gpucast.model.other_path import OnOtherPath


class Forecasting(Fitted):
    """A fitted model that forecasts: its engine, and factors on the parts of all cells at another
    time or on another machine."""

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

    def factors(self, interval: Interval, t90: float) -> Factors:
        """Return the factors that all cells of the forecast time and machine share; ``t90`` is the
        half-width, in standard deviations, of the intervals for which their covariance is used."""
        covariance = self.common_factors.covariance(interval, self.machine_factors, t90)
        return Factors(self.log_factors, covariance)

    def drawn_factors(self, count: int, interval: Interval) -> Array:
        """Draw the factors on T_gpu, T_cpu, T_com that all cells share, (count, 3)."""
        # They are normal, whatever the distribution of the intervals.
        factors = self.factors(interval, Z90)
        # Each model has its own draws: two models are of two paths, usually of two hosts.
        kind = self.machine_factors.kind if self.machine_factors else None
        seed = zlib.crc32(f"{self.data}{kind or ''}".encode())
        return drawn(factors.means, factors.covariance, count, seed)

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
        times = self.engine.times(n, gpus, self.factors(interval, self.t90))
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
        return self.engine.seconds(n, gpus, np.exp(self.log_factors))

    def draws(self, n: Array, gpus: Array, count: int, interval: Interval = Interval.now) -> Array:
        """Draw expected times (s) jointly for pairs of any n > 0 and N > 0, shape (count,
        pairs)."""
        return self.engine.draws(n, gpus, self.drawn_factors(count, interval))

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
        factors = self.factors(forecasts.interval, self.t90)
        times = self.engine.times(n, gpus, factors, measured)
        return times.low, times.high

    # ---- comparison with measurements ----

    def extrapolates(self, n: Array, gpus: Array) -> NDArray[np.bool_]:
        """Whether a cell lies outside the fitted n or GPU counts, or gives a GPU more than any
        measured one had."""
        domain = self.domain
        inside_n = (domain.n[0] <= n) & (n <= domain.n[1])
        inside_gpus = (domain.gpus[0] <= gpus) & (gpus <= domain.gpus[1])
        return np.asarray(~(inside_n & inside_gpus) | self.overfills(n, gpus), dtype=np.bool_)

    def overfills(self, n: Array, gpus: Array) -> NDArray[np.bool_]:
        """Whether a cell gives a GPU more than any measured one had, so that it may not fit into
        memory."""
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
