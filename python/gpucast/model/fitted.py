"""A model of our own programs: terms of the catalogue, their parameters, and their uncertainty."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gpucast import _core
from gpucast.data import workload
from gpucast.data.selection import FIELDS, StepSelection
from gpucast.errors import InputError
from gpucast.model.content import Fitted, TimedCells
from gpucast.model.forecaster import (
    SCHEMA,
    Array,
    Forecaster,
    Forecasts,
    checked_counts,
    checked_sizes,
    interval_width,
)
from gpucast.model.intervals import OF_PARTS, OF_TOTAL, CommonFactors, Interval, shares_of
from gpucast.model.joint import DRAWS
from gpucast.model.mixed import Mixed, Times
from gpucast.model.other_path import T90, Elsewhere

# A grid of forecasts evaluates every replicate in every cell. Beyond this many evaluations fewer
# replicates are used; forty still give the spread to 11 %.
_EVALUATIONS = 20_000_000
_FEWEST_REPLICATES = 40

# Draws repeat, so that a model's answers do.
_SEED = 1

# Starting threads for fewer forecasts takes longer than they save.
_WORTH_THREADS = 20_000


def _no_values() -> Array:
    return np.empty((0, 0))


@dataclass(kw_only=True, eq=False, repr=False)
class Model(Fitted, Forecaster):
    """A fitted model: what the fit found (``gpucast.model.content``), and replicates for intervals.

    Attributes:
        name: for tables and files: the file's name, or the path fitted.
        replicates: parameter values of each bootstrap replicate, shape (B, parameters).
        integers: structural integer k of each replicate, length B.
    """

    name: str = field(default="", metadata={"key": None})
    replicates: Array = field(default_factory=_no_values, metadata={"key": None}, repr=False)
    integers: list[int] = field(default_factory=list, metadata={"key": None}, repr=False)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.chosen or self.terms}{self.integer_in_words()}"]
        width = max(map(len, self.parameters), default=0)
        lines += [f"  {name:{width}}  {each}" for name, each in self.parameters.items()]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    @property
    def core(self) -> _core.Model:
        """The core's model, with terms, structural integer and curves."""
        return self.core_with(self.breakpoints)

    def core_with(self, curves: dict[str, list[float]], com: str | None = None) -> _core.Model:
        """The same with other transfer curves, breakpoints in bytes by route, and perhaps another
        communication term."""
        return _core.Model(
            self.terms.gpu,
            self.terms.cpu,
            com or self.terms.com,
            cores=self.machine.cores,
            sms=self.machine.sms,
            block=self.machine.block,
            integer=self.k or 1,
            curves=curves,
            workload=self.workload,
        )

    @property
    def workload(self) -> _core.Workload:
        """What the steps do: work, bytes and operations as functions of n and N."""
        return workload.of(self.stated_workload)

    @property
    def values(self) -> Array:
        """Parameter values in the core's order."""
        names = [name for name, _, _ in self.core.parameters]
        return np.array([self.parameters[name].value for name in names], dtype=np.float64)

    @property
    def selection(self) -> StepSelection:
        """The steps that it forecasts: those fitted, on the path of a what-if; of any machine."""
        fitted = {name: getattr(self.data, name) for name in FIELDS}
        block = int(self.machine.block) or None
        return StepSelection(**{**fitted, "path": self.data.forecast_path, "block": block})

    @property
    def form(self) -> str:
        return (self.chosen or str(self.terms)) + self.integer_in_words()

    @property
    def draw_count(self) -> int:
        return len(self.integers) if self.mixed is None else DRAWS

    @property
    def exact(self) -> bool:
        """Whether each draw is a set of parameters of one form, for any n and N."""
        return self.mixture is None and self.other_path is None

    @property
    def timed(self) -> TimedCells | None:
        if self.machine_factors is not None:
            return self.machine_factors.cells
        return None if self.data.what_if is not None else self.cells

    @property
    def fitted_cells(self) -> TimedCells | None:
        return self.cells

    @property
    def knows_parts(self) -> bool:
        # A program that states no schedule only resembles ours: nobody timed its parts.
        return self.data.schedule is not None

    @property
    def common_factors(self) -> CommonFactors:
        if not self.knows_parts:
            return OF_TOTAL
        # A mixture's intervals hold the noise of visits.
        return OF_PARTS if self.mixture is None else replace(OF_PARTS, visit=np.zeros((3, 3)))

    @property
    def between_cells(self) -> float:
        # Draws and spreads of a mixture hold it already.
        return self.noise.between_cells if self.mixture is None else 0.0

    @property
    def t90(self) -> float:
        return self.noise.t90 if self.mixture is None else T90

    @property
    def unit(self) -> str | None:
        return self.stated_unit

    @property
    def timestep(self) -> float | None:
        return self.stated_timestep

    def parameter(self, name: str) -> float:
        """Value of a parameter in SI units."""
        return float(self.parameters[name].value)

    def forecasts(
        self,
        n: Sequence[float] | Array,
        gpus: Sequence[float] | Array,
        interval: Interval = Interval.now,
    ) -> Forecasts:
        n = checked_sizes(n)
        gpus = checked_counts(gpus)
        if self.mixed is not None:
            return self._mixed_forecasts(self.mixed, n, gpus, interval)
        self._refuse_unobserved(n, gpus)
        wanted = max(_FEWEST_REPLICATES, _EVALUATIONS // max(1, n.size))
        used = min(len(self.integers), wanted)
        t_gpu, t_cpu, t_com, spread = _core.forecast(
            self.core, self.values, self.replicates[:used], self.integers[:used], n, gpus
        )
        if self.elsewhere is not None:
            parts, spread, visit = self._there(self.elsewhere, n, gpus, spread)
        else:
            parts = np.column_stack([t_gpu, t_cpu, t_com])
            visit = np.full(n.size, self.noise.sample)
        parts = parts * np.exp(self.log_factors)
        seconds = parts.sum(axis=1)
        common = self.common_variance(parts, interval)
        spread = np.sqrt(spread**2 + common)
        noise = self.noise
        mean = interval_width(noise.t90 * np.hypot(spread, noise.between_cells))
        single = interval_width(noise.t90 * np.hypot(spread, visit))
        return Forecasts(
            n=n,
            gpus=gpus,
            seconds=seconds,
            low=seconds * np.exp(-single),
            high=seconds * np.exp(single),
            mean_low=seconds * np.exp(-mean),
            mean_high=seconds * np.exp(mean),
            t_gpu=parts[:, 0],
            t_cpu=parts[:, 1],
            t_com=parts[:, 2],
            extrapolated=self.extrapolates(n, gpus),
            spread=spread,
            common=common,
            interval=interval,
        ).checked(self.name)

    @cached_property
    def _steps(self) -> Mixed | None:
        """What the fitted steps say, where the fit chose its form."""
        if self.mixture is None:
            return None
        return Mixed(self.mixture, self.machine, self.workload)

    @property
    def mixed(self) -> Mixed | None:
        """What the model forecasts with where the fit chose its form; else the form alone does."""
        return self._steps if self.other_path is None else None

    def _mixed_forecasts(
        self, mixed: Mixed, n: Array, gpus: Array, interval: Interval
    ) -> Forecasts:
        now = self._mixed_times(mixed, n, gpus)
        common = self.common_variance(now.parts, interval)
        # What is common to all steps widens what is said of a time and does not move it: the median
        # of a wider mixture of forms that disagree may, and its interval then reaches back to it.
        wider = self._mixed_times(mixed, n, gpus, common) if common.any() else now
        mean_low = np.minimum(wider.mean_low, now.seconds)
        mean_high = np.maximum(wider.mean_high, now.seconds)
        # Beside one another, all parts of a step are as long as it is.
        parts = now.parts * np.exp(self.log_factors)
        factor = parts.sum(axis=1) / now.parts.sum(axis=1)
        return Forecasts(
            n=n,
            gpus=gpus,
            seconds=now.seconds * factor,
            low=np.minimum(wider.low, mean_low) * factor,
            high=np.maximum(wider.high, mean_high) * factor,
            mean_low=mean_low * factor,
            mean_high=mean_high * factor,
            t_gpu=parts[:, 0],
            t_cpu=parts[:, 1],
            t_com=parts[:, 2],
            extrapolated=self.extrapolates(n, gpus),
            spread=self._with_breaks(wider.spread, gpus),
            common=common,
            interval=interval,
        ).checked(self.name)

    def _with_breaks(self, spread: Array, gpus: Array) -> Array:
        """Spreads with what may come beyond the measured GPU counts."""
        if self._beyond is None:
            return spread
        return np.sqrt(np.square(spread) + self._beyond.variance(gpus, _steepest(gpus)))

    @cached_property
    def _beyond(self) -> _core.Beyond | None:
        """What may come beyond the GPU counts measured; None where nothing was measured, or a form
        is taken that the user named."""
        if self.observations is None or self.exact:
            return None
        return _core.Beyond(*map(float, self.domain.gpus))

    def _mixed_times(
        self, mixed: Mixed, n: Array, gpus: Array, common: Array | None = None
    ) -> Times:
        """Times measured in visits like those that were fitted, with as many samples."""
        own = np.full(n.size, self._sampling_variance(self._samples_of_visit))
        return mixed.times(n, gpus, common, variance=own)

    @property
    def _samples_of_visit(self) -> int:
        """How many samples of a step each fitted visit has; their mean."""
        if self.mixture is None or self.observations is None:
            return 1
        return max(1, round(self.observations.step_samples / len(self.mixture.visits.variance)))

    def _sampling_variance(self, samples: int) -> float:
        """Variance of the logarithm of a median of ``samples`` about the time of its visits, by how
        samples scatter within the mixture's visits.

        With ln t = ln T + v + e for each sample, v its visit's deviation and e its own, the median
        of R samples from V visits is about ln T with Var v / V + M(R) Var e, where M(R) is the
        variance of a median of R normal values. Var v is the mixture's noise of a visit. The
        file holds M(r) Var e of the fitted visits, medians of r samples; their median is taken,
        since a few visits may be disturbed.
        """
        if self.mixture is None:
            return 0.0
        of_visit = float(np.median(self.mixture.visits.variance))
        relative = _core.median_variance(samples) / _core.median_variance(self._samples_of_visit)
        return of_visit * relative

    def _factors(self, times: Times) -> Array:
        """By how much the machine that is forecast makes each cell longer."""
        total = times.parts.sum(axis=1)
        return np.asarray(times.parts @ np.exp(self.log_factors) / total, dtype=np.float64)

    @property
    def elsewhere(self) -> Elsewhere | None:
        """What is known of a what-if's path; None for other models."""
        known = self.other_path
        if known is None:
            return None
        return Elsewhere(known, self.terms.com, self.workload, self._steps)

    def _there(
        self, elsewhere: Elsewhere, n: Array, gpus: Array, fitted: Array
    ) -> tuple[Array, Array, Array]:
        """T_gpu, T_cpu and T_com on the other path, spread of ln T, and sd of a visit around it."""
        parts = elsewhere.parts(self.core, self.values, n, gpus)
        spread = np.sqrt(elsewhere.variance(parts, n, gpus, fitted**2))
        t_com = parts.hidden + parts.moved + parts.woken
        columns = np.column_stack([parts.gpu - parts.hidden, parts.cpu, t_com])
        visit = elsewhere.visit_variance(parts.gpu, parts.cpu, parts.moved + parts.woken)
        return columns, spread, np.sqrt(visit)

    def seconds(self, n: Array, gpus: Array) -> Array:
        if self.mixed is not None:
            times = self._mixed_times(self.mixed, n, gpus)
            return times.seconds * self._factors(times)
        if self.elsewhere is not None:
            return self.elsewhere.parts(self.core, self.values, n, gpus).seconds
        return self.evaluated(self.core, self.values, n, gpus, np.exp(self.log_factors))

    def draws(self, n: Array, gpus: Array, count: int, interval: Interval = Interval.now) -> Array:
        drawn = self._drawn(n, gpus, count, interval)
        if self._beyond is None or gpus.max(initial=0.0) <= self.domain.gpus[1]:
            return drawn
        return drawn * np.exp(self._beyond.draws(gpus, _steepest(gpus), count, _SEED))

    def _drawn(self, n: Array, gpus: Array, count: int, interval: Interval) -> Array:
        """Draws of times whose law goes on beyond the measured GPU counts as it was."""
        if self.mixed is not None:
            times, factors = self.mixed.draws(n, gpus, count), self.drawn_factors(count, interval)
            if (factors == factors[:, :1]).all():
                # All parts have the same factor, and so has the step.
                return np.asarray(times * factors[:, :1], dtype=np.float64)
            shares = shares_of(self.mixed.times(n, gpus).parts)
            return np.asarray(times * (factors @ shares.T), dtype=np.float64)
        core = self.core
        cores = {integer: core.with_integer(integer) for integer in set(self.integers)}
        factors = self.drawn_factors(count, interval)
        rows = [b % self.draw_count for b in range(count)]
        if self.elsewhere is not None:
            drawn = ((cores[self.integers[b]], self.replicates[b]) for b in rows)
            return self.elsewhere.drawn(drawn, n, gpus, np.random.default_rng(0))
        return np.array(
            [
                self.evaluated(cores[self.integers[b]], self.replicates[b], n, gpus, of_row)
                for b, of_row in zip(rows, factors, strict=True)
            ]
        )

    @staticmethod
    def evaluated(core: _core.Model, values: Array, n: Array, gpus: Array, factors: Array) -> Array:
        """Step times (s) of pairs of n and gpus by a core's model with some parameters, its three
        parts multiplied by ``factors``."""
        none = np.empty((0, values.size))
        threads = 1 if n.size < _WORTH_THREADS else 0
        t_gpu, t_cpu, t_com, _ = _core.forecast(core, values, none, [], n, gpus, threads)
        total = factors[0] * t_gpu + factors[1] * t_cpu + factors[2] * t_com
        return np.asarray(total, dtype=np.float64)

    def cell_intervals(
        self,
        forecasts: Forecasts,
        repetitions: Sequence[int],
        rounding: Array,
        visits: Sequence[int] | None = None,
    ) -> tuple[Array, Array]:
        noise = self.noise
        if self.mixed is not None:
            of_cell = np.ones(forecasts.n.size) if visits is None else np.array(visits, np.float64)
            own = rounding + np.array([self._sampling_variance(count) for count in repetitions])
            times = self.mixed.times(forecasts.n, forecasts.gpus, forecasts.common, of_cell, own)
            factor = self._factors(times)
            return times.low * factor, times.high * factor
        if self.elsewhere is not None:
            # Repetitions of one visit share its noise.
            of_cell = np.ones(forecasts.n.size) if visits is None else np.array(visits)
            _, _, visit = self._there(self.elsewhere, forecasts.n, forecasts.gpus, forecasts.spread)
            width = noise.t90 * np.sqrt(forecasts.spread**2 + visit**2 / of_cell + rounding)
            return forecasts.seconds * np.exp(-width), forecasts.seconds * np.exp(width)
        within = noise.sample if noise.pure_error is None else noise.pure_error
        of_median = np.array([_core.median_variance(count) for count in repetitions])
        width = noise.t90 * np.sqrt(
            forecasts.spread**2 + noise.between_cells**2 + rounding + within**2 * of_median
        )
        return forecasts.seconds * np.exp(-width), forecasts.seconds * np.exp(width)

    def best_shares(self, n: Array, gpus: Array, interval: Interval = Interval.now) -> Array:
        if not self.draw_count:
            return np.full((n.size, gpus.size), np.nan)
        plain = interval is Interval.now and self.machine_factors is None
        if not self.exact or not plain:
            return np.array(
                [self.shares_about(size, gpus, np.ones(gpus.size), interval=interval) for size in n]
            )
        return _core.best_probability(self.core, self.replicates, self.integers, n, gpus)

    def to_json(self) -> str:
        """The content of the model file."""
        names = [name for name, _, _ in self.core.parameters]
        content = {
            "schema": SCHEMA,
            **self.content,
            "bootstrap": {
                "parameters": names,
                "integers": self.integers,
                "values": [[float(f"{x:.9g}") for x in row] for row in self.replicates.tolist()],
            },
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"

    def integer_in_words(self) -> str:
        """``, k = 4``; empty for a model without structural integer."""
        return "" if self.k is None else f", k = {self.k}"

    def _refuse_unobserved(self, n: Array, gpus: Array) -> None:
        """Refuse more GPUs than fitted where their time depends on what no data depended on."""
        unseen = [name for name, each in self.parameters.items() if not each.observed]
        most = self.domain.gpus[1]
        if self.other_path is not None:
            most = min(most, self.other_path.known_gpus)
        if not unseen or not gpus.size or gpus.max() <= most:
            return
        core, values = self.core, self.values
        other = values.copy()
        other[[name in unseen for name, _, _ in core.parameters]] *= 2
        none = np.empty((0, values.size))
        before, after = (
            _core.forecast(core, parameter_values, none, [], n, gpus)[:3]
            for parameter_values in (values, other)
        )
        if np.array_equal(before, after):
            return
        raise InputError(
            f"nothing measured depends on {', '.join(unseen)}, so {int(gpus.max())} GPUs "
            f"cannot be forecast; measure steps with more than {most} GPU(s) or transfers on "
            "that route",
            field="gpus",
        )


def _steepest(gpus: Array) -> Array:
    """Slopes of ln T in ln N with which breaks only lengthen steps: what holds ours up is known."""
    return np.full(gpus.size, -1.0)


def own(model: Forecaster, why: str) -> Model:
    """The model of one of our own programs that this is.

    Args:
        why: what needs one, and what to do instead; for the message.

    Raises:
        InputError: it is of a program that is known by its step times alone.
    """
    if not isinstance(model, Model):
        raise InputError(f"is of a program known by its step times alone: {why}", file=model.name)
    return model
