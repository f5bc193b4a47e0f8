"""What every model of step times can be asked, whatever it was fitted with."""

from __future__ import annotations

import dataclasses
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from gpucast.data.loading import Source, dataset_of
from gpucast.data.selection import ANY, SelectionArguments, StepSelection
from gpucast.data.steps import samples_of
from gpucast.data.workload import LARGEST_GPUS, LARGEST_N, SMALLEST_N
from gpucast.errors import InputError
from gpucast.model.content import (
    Domain,
    FittedSteps,
    Gpu,
    MachineFactors,
    Noise,
    Observed,
    Quality,
    Sharing,
    TimedCells,
    Tried,
)
from gpucast.model.intervals import (
    Z90,
    CommonFactors,
    Interval,
    common_variance,
    drawn,
    interval_named,
)
from gpucast.model.shown import forecasts_html, forecasts_text, model_html, model_text
from gpucast.model.update import machine_factors, steps_of_kind
from gpucast.util import files
from gpucast.util.remarks import Kind, Remark, remark, texts_of
from gpucast.util.typed_json import to_json
from gpucast.util.units import EXACT, plain

if TYPE_CHECKING:
    import pandas

    from gpucast.data.dataset import Dataset

Array = NDArray[np.float64]
Numbers = float | Iterable[float]

SCHEMA = "gpucast.model/1"

USUAL_GPUS = 8
"""GPU counts up to this one are usual."""

MORE_PER_GPU = 1.1
"""A GPU may get this many times the most that one had; nobody tried more."""

# Half-width of an interval of log time; a factor of 1e43 either way says that nothing is known.
_WIDEST = 100.0


@dataclass(frozen=True, repr=False)
class Forecasts:
    """Forecasts of cells, as arrays of one length.

    ``low`` and ``high``: 90 % prediction interval of a single undisturbed measurement: one sample,
    or, where the fit chose the form, the median of a visit like those that were fitted;
    ``mean_low`` and ``mean_high``: 90 % interval of the expected time. Seconds.
    ``interval``: what they are of: a time now, later or on another machine. ``spread``: standard
    deviation of the log of the expected time; ``common``: its variance by factors that all cells
    of that time and machine share.
    """

    n: Array
    gpus: Array
    seconds: Array
    low: Array
    high: Array
    mean_low: Array
    mean_high: Array
    t_gpu: Array
    t_cpu: Array
    t_com: Array
    extrapolated: NDArray[np.bool_]
    spread: Array = field(repr=False)
    common: Array = field(repr=False)
    interval: Interval = Interval.now

    def __repr__(self) -> str:
        return forecasts_text(self)

    def _repr_html_(self) -> str:
        return forecasts_html(self)

    def checked(self, model: str) -> Self:
        """These, once all times and ends of intervals are finite and above 0.

        Raises:
            InputError: one is not: the numbers in the file of the model, which is named, are not
                those of a fit.
        """
        for times in (self.seconds, self.low, self.high, self.mean_low, self.mean_high):
            if not (np.isfinite(times) & (times > 0)).all():
                raise InputError("gives no finite time; fit it again", file=model)
        return self

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """What tables show: all up to the spread; whole numbers as such, n where all of it is."""
        shown = {column.name: getattr(self, column.name) for column in fields(self)[:_SHOWN]}
        return {**shown, "n": whole_numbers(self.n), "gpus": self.gpus.astype(np.int64)}


_SHOWN = [column.name for column in fields(Forecasts)].index("spread")


class Best(TypedDict):
    """The fastest GPU count for an n.

    ``seconds``: of a step with it; as measured where the model misses that.
    ``probability``: share of the models that may as well be right (draws from the mixture, or
    bootstrap replicates) in which it is the fastest; None without any.
    ``within_2_percent``: all counts at most 2 % slower. ``extrapolated``: whether n with this count
    is outside what was fitted. ``measured``: whether ``seconds`` are.
    """

    model: str
    n: float
    gpus: int
    seconds: float
    probability: float | None
    within_2_percent: list[int]
    extrapolated: bool
    measured: bool


class Forecaster(ABC):
    """A fitted model of step times.

    Attributes:
        name: for tables and files: the file's name, or the path fitted.
        data: the steps that were fitted.
        machine: the GPUs that they ran on.
        domain: least and greatest n and GPU count of them.
        observations: how many they are; None: the model was not fitted.
        quality: how well the model describes them; None: the model was not fitted.
        candidates: forms that were tried, and ``chosen`` among them.
        noise: relative noise of step times.
        created: when it was fitted; None where the file does not say.
        machine_factors: what cells timed on the machine that it forecasts have said of it; None:
            it forecasts the machine that it was fitted to.
        sharing: what several instances on one GPU cost one another; None: nobody measured it.
        remarks: what one must know to use it; notes: what changes no answer, one line each.
    """

    name: str
    data: FittedSteps
    machine: Gpu
    domain: Domain
    observations: Observed | None
    quality: Quality | None
    candidates: list[Tried]
    chosen: str | None
    noise: Noise
    created: str | None
    machine_factors: MachineFactors | None
    sharing: list[Sharing] | None
    remarks: list[Remark]
    notes: list[str]

    def __getstate__(self) -> dict[str, object]:
        """What was fitted, without what is made of it when asked for: the core's objects do not
        leave their process."""
        made = {
            name
            for kind in type(self).__mro__
            for name, each in vars(kind).items()
            if isinstance(each, cached_property)
        }
        return {name: value for name, value in vars(self).items() if name not in made}

    def __repr__(self) -> str:
        return model_text(self)

    def _repr_html_(self) -> str:
        return model_html(self)

    @property
    def warnings(self) -> list[str]:
        """The text of each remark."""
        return texts_of(self.remarks)

    @property
    def content(self) -> dict[str, Any]:
        """What was fitted, as JSON values: what ``fit --json`` prints."""
        return {**to_json(self), "warnings": self.warnings}

    @property
    @abstractmethod
    def selection(self) -> StepSelection:
        """The steps that it forecasts; of any machine."""

    @property
    @abstractmethod
    def form(self) -> str:
        """The terms of the model, in a line."""

    @property
    @abstractmethod
    def draw_count(self) -> int:
        """How many draws of the whole model there are; 0: its uncertainty is not known."""

    @property
    @abstractmethod
    def timed(self) -> TimedCells | None:
        """The cells that it was fitted to; None where the file does not say, or where it forecasts
        another path than theirs."""

    @property
    @abstractmethod
    def fitted_cells(self) -> TimedCells | None:
        """The cells of the steps that were fitted, whatever it forecasts; None where the file does
        not say."""

    @cached_property
    def most_per_gpu(self) -> float | None:
        """The largest n / N that ran; None where the file does not say."""
        shares = [
            size / count
            for cells in (self.fitted_cells, self.timed)
            if cells is not None
            for size, count in zip(cells.n, cells.gpus, strict=True)
        ]
        return max(shares, default=None)

    @property
    def timed_parts(self) -> bool:
        """Whether parts of the time rest on what a program timed itself, beyond the sum."""
        return False

    @property
    @abstractmethod
    def knows_parts(self) -> bool:
        """Whether the data tell T_gpu, T_cpu and T_com apart, so that they can be shown."""

    @property
    def unit(self) -> str | None:
        """What n counts; None: not said."""
        return None

    @property
    def timestep(self) -> float | None:
        """Simulated time (s) that a step advances; None: not said."""
        return None

    @property
    def usual_counts(self) -> list[int]:
        """GPU counts to choose from where nobody names any."""
        return list(range(1, USUAL_GPUS + 1))

    @property
    def gpus_per_node(self) -> float | None:
        """The most GPUs of a node that were measured; None where nodes are not known."""
        return None

    @property
    def unshared(self) -> str | None:
        """Name of the workload that GPUs do not share out, for which no count is best; None: they
        do."""
        return None

    def check_shared_out(self) -> None:
        """Raise InputError where no GPU count is better than another."""
        if self.unshared is not None:
            raise InputError(
                f"{self.unshared} is no work that GPUs share out: no count is best for it; gpucast "
                "predict forecasts its times on the count measured",
                file=self.name,
            )

    @property
    @abstractmethod
    def common_factors(self) -> CommonFactors:
        """By how much the parts of a step differ at another time, and on another machine."""

    @property
    def log_factors(self) -> Array:
        """Logarithms of the factors on T_gpu, T_cpu, T_com of the machine that is forecast."""
        factors = self.machine_factors
        return np.zeros(3) if factors is None else np.array(factors.means)

    @property
    def between_cells(self) -> float:
        """Spread of ln T of true cell times around the model, beyond that of its forecasts."""
        return self.noise.between_cells

    @property
    def t90(self) -> float:
        """The half-width of a 90 % interval, in spreads."""
        return self.noise.t90

    def log_width(self, spread: Array) -> Array:
        """Half-width of the 90 % interval of the logarithm of an expected time.

        Args:
            spread: standard deviation of it, as far as the model's draws know it.
        """
        return interval_width(self.t90 * np.hypot(spread, self.between_cells))

    def common_variance(self, parts: Array, interval: Interval) -> Array:
        """Variance of ln T that an interval has beyond what the fit knows; see
        ``gpucast.model.intervals``.

        Args:
            parts: T_gpu, T_cpu, T_com of each cell, (cells, 3); s.
        """
        covariance = self.common_factors.covariance(interval, self.machine_factors, self.t90)
        return common_variance(parts, covariance) if covariance.any() else np.zeros(len(parts))

    def drawn_factors(self, count: int, interval: Interval) -> Array:
        """Draws of the factors on T_gpu, T_cpu, T_com that all cells share, (count, 3)."""
        # They are normal, whatever the intervals are.
        covariance = self.common_factors.covariance(interval, self.machine_factors, Z90)
        # Each model has draws of its own: two models are of two paths, mostly of two hosts.
        seed = zlib.crc32(str(self.data).encode())
        return drawn(self.log_factors, covariance, count, seed)

    @abstractmethod
    def forecasts(
        self,
        n: Sequence[float] | Array,
        gpus: Sequence[float] | Array,
        interval: Interval = Interval.now,
    ) -> Forecasts:
        """Forecasts for pairs of ``n`` and ``gpus`` (one length).

        ``interval``: whether times are to be measured now, later, or on another machine.

        Raises:
            InputError: an n or a GPU count out of range, or a GPU count whose communication cost
                the data cannot know.
        """

    @abstractmethod
    def seconds(self, n: Array, gpus: Array) -> Array:
        """Step times (s) of pairs of any n > 0 and any N > 0."""

    @abstractmethod
    def draws(self, n: Array, gpus: Array, count: int, interval: Interval = Interval.now) -> Array:
        """So many draws of the expected times (s) of pairs of any n > 0 and N > 0, shape (count,
        pairs): each row might as well be the truth for all of them together."""

    @abstractmethod
    def cell_intervals(
        self,
        forecasts: Forecasts,
        repetitions: Sequence[int],
        rounding: Array,
        visits: Sequence[int] | None = None,
    ) -> tuple[Array, Array]:
        """90 % intervals (s) of medians of ``repetitions`` in the cells forecast;
        ``rounding``: relative variance of each; ``visits``: in how many visits each cell's
        repetitions were measured, one if not said."""

    @abstractmethod
    def best_shares(self, n: Array, gpus: Array, interval: Interval = Interval.now) -> Array:
        """Probability that each GPU count is the fastest of them, shape (n, gpus); NaN where the
        model's uncertainty is not known."""

    @abstractmethod
    def to_json(self) -> str:
        """The content of the model file."""

    def measured(self, n: Array, gpus: Array) -> Array:
        """Measured times (s) of pairs of n and gpus (any one shape), NaN where none is known."""
        cells = self.timed
        if cells is None:
            return np.full(np.shape(n), np.nan)
        rows = zip(cells.n, cells.gpus, cells.seconds, strict=True)
        known = {(float(size), float(count)): seconds for size, count, seconds in rows}
        pairs = zip(np.ravel(n).tolist(), np.ravel(gpus).tolist(), strict=True)
        times = [known.get((float(size), float(count)), np.nan) for size, count in pairs]
        return np.array(times, dtype=np.float64).reshape(np.shape(n))

    def refuted(self, n: Array) -> Array:
        """By how much measurements of sizes refute the model: root mean square of the logarithms of
        measured over forecast times, of a size with a cell outside its 90 % interval; else 0."""
        cells = self.timed
        if cells is None or not np.isin(n, cells.n).any():
            return np.zeros(np.shape(n))
        off = [self._refuted.get(size, 0.0) for size in np.ravel(n).tolist()]
        return np.reshape(np.array(off, dtype=np.float64), np.shape(n))

    @cached_property
    def _refuted(self) -> dict[float, float]:
        """``refuted`` by the sizes that are."""
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
        """Step times (s) of pairs of any n > 0 and any N > 0 (flat): of sizes where measurements
        refute the model those measured, where there are any."""
        known = self.measured(n, gpus)
        return np.where((self.refuted(n) > 0) & ~np.isnan(known), known, self.seconds(n, gpus))

    def believed(self, forecasts: Forecasts, known: Array) -> Array:
        """``trusted`` of forecasts that are there already, beside the times measured."""
        of_cells = (self.refuted(forecasts.n) > 0) & ~np.isnan(known)
        return np.where(of_cells, known, forecasts.seconds)

    def extrapolates(self, n: Array, gpus: Array) -> NDArray[np.bool_]:
        """Whether a cell lies outside the n or the GPU counts that were fitted, or gives a GPU more
        than any had."""
        domain = self.domain
        inside_n = (domain.n[0] <= n) & (n <= domain.n[1])
        inside_gpus = (domain.gpus[0] <= gpus) & (gpus <= domain.gpus[1])
        return np.asarray(~(inside_n & inside_gpus) | self.overfills(n, gpus), dtype=np.bool_)

    def overfills(self, n: Array, gpus: Array) -> NDArray[np.bool_]:
        """Whether a cell gives a GPU more than any had that was measured, so that nobody knows
        whether its memory holds it."""
        most = self.most_per_gpu
        if most is None:
            return np.zeros(np.broadcast_shapes(np.shape(n), np.shape(gpus)), dtype=np.bool_)
        return np.asarray(n / gpus > MORE_PER_GPU * most, dtype=np.bool_)

    def forecast(self, n: Numbers, gpus: Numbers, interval: str = Interval.now) -> pandas.DataFrame:
        """Forecasts of every n with every GPU count, a row each.

        ``interval``: what low and high are of: a measurement now, later on this machine, or on
        another machine of the kind.

        Columns: model, n, gpus, seconds, low, high (90 % prediction interval of one measurement),
        mean_low, mean_high (90 % interval of the expected time), t_gpu, t_cpu, t_com, extrapolated.
        """
        import pandas

        forecasts = self.forecasts(*outer(n, gpus), interval_named(interval))
        frame = pandas.DataFrame(forecasts.columns())
        frame.insert(0, "model", self.name)
        return frame

    def plot(self, n: Numbers | None = None, gpus: Numbers | None = None, **how: Any) -> Any:
        """Draw how the program scales: ``gpucast.figures.scaling`` with this model."""
        import gpucast

        return gpucast.figures.scaling(self, n, gpus, **how)

    def best(
        self, n: Numbers, gpus: Numbers | None = None, interval: str = Interval.now
    ) -> pandas.DataFrame:
        """The fastest GPU count for each n, a row each: see ``best_counts``.

        ``gpus``: to choose from; the usual counts where not given. ``interval``: what the
        probability is of.
        """
        import pandas

        counts = self.usual_counts if gpus is None else as_list(gpus)
        return pandas.DataFrame(self.best_counts(as_list(n), counts, interval_named(interval)))

    def best_counts(
        self, n: Sequence[float], gpus: Sequence[float], interval: Interval = Interval.now
    ) -> list[Best]:
        """The fastest GPU count for each n, by the times that are ``believed``: a model that misses
        what was measured does not choose by it, and is no surer of other counts of that size than
        by how much it was off. ``interval``: what probabilities are of."""
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
            at = int(fastest[row])
            close = counts[seconds[row] <= 1.02 * seconds[row, at]]
            result.append(
                {
                    "model": self.name,
                    "n": plain(size),
                    "gpus": int(counts[at]),
                    "seconds": float(seconds[row, at]),
                    # Sums of shares miss 1 by rounding.
                    "probability": round(float(share[row, at]), 9) if self.draw_count else None,
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
        """Step times (s) that are ``believed``, of every n with every GPU count (these rise), and
        the probability that each count is the fastest, as ``best_counts`` states them: all that
        says how sure a best count is asks here. ``times``: of these cells, where known."""
        forecast, seconds = times or self.times(n, gpus)
        share = self.best_shares(n, gpus, interval)
        if not self.draw_count:
            return seconds, share
        # Where what was measured is within what the model says, so are its probabilities.
        off = self.refuted(n)
        other = np.argmin(seconds, axis=1) != np.argmin(forecast, axis=1)
        for at in np.flatnonzero(other | (off > 0)).tolist():
            about = self._about(float(n[at]), gpus, seconds[at] / forecast[at], float(off[at]))
            share[at] = self.shares_about(float(n[at]), gpus, *about, interval)
        return seconds, share

    def believed_shares_of_first(
        self, n: Array, gpus: Array, times: tuple[Array, Array], interval: Interval = Interval.now
    ) -> Iterator[Array]:
        """The probabilities of ``believed_shares``, of the first 1, 2, ... counts a row each, for
        each n: all rows are of the same draws, so that many choices take hardly longer than one.

        ``times``: forecast and believed, as of ``times``. The model's uncertainty is known
        (``draw_count``).
        """
        columns = (n.tolist(), *times, self.refuted(n).tolist())
        for size, forecast, seconds, of_size in zip(*columns, strict=True):
            other = running_argmin(seconds) != running_argmin(forecast)
            believed = other | (of_size > 0)
            shares = np.empty((gpus.size, gpus.size))
            if not believed.all():
                plain = self._fastest(size, gpus, np.ones(gpus.size), None, interval)
                shares[~believed] = _shares(plain)[~believed]
            if believed.any():
                about = self._about(size, gpus, seconds / forecast, of_size)
                shares[believed] = _shares(self._fastest(size, gpus, *about, interval))[believed]
            yield shares

    def _about(
        self, n: float, gpus: Array, factors: Array, off: float
    ) -> tuple[Array, Array | None]:
        """What ``shares_about`` takes of a size whose cells refute the model by ``off``."""
        if off == 0:
            return factors, None
        known = self.measured(np.full(gpus.size, n), gpus)
        return factors, np.where(np.isnan(known), off, 0.0)

    def times(self, n: Array, gpus: Array) -> tuple[Array, Array]:
        """Step times (s) of every n with every GPU count, a row an n: forecast, and ``believed``.

        GPU counts rise.
        """
        forecasts = self.forecasts(*outer(n, gpus))
        believed = self.believed(forecasts, self.measured(forecasts.n, forecasts.gpus))
        shape = (n.size, gpus.size)
        return forecasts.seconds.reshape(shape), believed.reshape(shape)

    def shares_about(
        self,
        n: float,
        gpus: Array,
        factors: Array,
        apart: Array | None = None,
        interval: Interval = Interval.now,
    ) -> Array:
        """Probability that each count is the fastest where their times are the model's times a
        factor.

        ``apart``: standard deviation of the logarithm of each beyond the model's, for each alone.
        """
        fastest = self._fastest(n, gpus, factors, apart, interval)[:, -1]
        counted = np.bincount(fastest, minlength=gpus.size)
        return np.asarray(counted / fastest.size, dtype=np.float64)

    def _fastest(
        self, n: float, gpus: Array, factors: Array, apart: Array | None, interval: Interval
    ) -> NDArray[np.intp]:
        """Position of the fastest among the first 1, 2, ... counts in each draw, (draws, gpus)."""
        times = self.draws(*outer([n], gpus), self.draw_count, interval) * factors
        if apart is not None:
            times = times * deviations(times.shape[0], apart)
        return running_argmin(times)

    def updated(
        self,
        data: Dataset | Source,
        selection: StepSelection = ANY,
        **choice: Unpack[SelectionArguments],
    ) -> Self:
        """The model for the machine (or the time) that some cells were timed on: see
        ``gpucast.model.update``.

        Raises:
            InputError: the steps are not of what the model forecasts, or of several machines; or
                the model is an updated one itself.
        """
        if self.machine_factors is not None:
            raise InputError(
                f"is {self.machine_factors.words} already; update the model that was fitted, by "
                "all cells together",
                file=self.name,
            )
        data = dataset_of(data)
        steps = steps_of_kind(self.selection, data, dataclasses.replace(selection, **choice))
        cells = samples_of(steps)
        forecasts = self.forecasts([n for n, _ in cells], [gpus for _, gpus in cells])
        repetitions = [len(cell.seconds) for cell in cells.values()]
        rounding = np.array([cell.rounding for cell in cells.values()])
        visits = [cell.visits for cell in cells.values()]
        low, high = self.cell_intervals(forecasts, repetitions, rounding, visits)
        parts = np.column_stack([forecasts.t_gpu, forecasts.t_cpu, forecasts.t_com])
        # Parts of averaged forms sum up to their mean, the forecast is their median.
        parts *= (forecasts.seconds / parts.sum(axis=1))[:, np.newaxis]
        factors, other_kind = machine_factors(
            data,
            steps,
            self.machine,
            self.common_factors,
            parts,
            np.square(np.log(high / low) / (2 * Z90)),
        )
        remarks = [*self.remarks, *([remark(Kind.UNLIKE, other_kind)] if other_kind else [])]
        return dataclasses.replace(  # type: ignore[type-var]
            self, machine_factors=factors, remarks=remarks
        )

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model file; whole or not at all."""
        files.write_text(path, self.to_json(), force=force)


def missed(forecasts: Forecasts, known: Array) -> NDArray[np.bool_]:
    """Whether measured times are outside the 90 % interval of their forecasts; not where NaN."""
    return np.asarray((known < forecasts.low) | (known > forecasts.high), dtype=np.bool_)


def running_argmin(values: Array) -> NDArray[np.intp]:
    """Position of the least of the first 1, 2, ... values (the last axis); of equals the first."""
    least = np.minimum.accumulate(values, axis=-1)
    new = np.ones(values.shape, dtype=np.bool_)
    new[..., 1:] = least[..., 1:] < least[..., :-1]
    at = np.where(new, np.arange(values.shape[-1]), 0)
    return np.asarray(np.maximum.accumulate(at, axis=-1), dtype=np.intp)


def _shares(fastest: NDArray[np.intp]) -> Array:
    """How often each position is in each column, (columns, positions)."""
    draws, count = fastest.shape
    counted = [np.bincount(column, minlength=count) for column in fastest.T]
    return np.asarray(np.array(counted) / draws, dtype=np.float64)


def deviations(count: int, spread: Array) -> Array:
    """Draws of factors whose logarithms have these standard deviations, (count, *spread.shape)."""
    draws = np.random.default_rng(0).standard_normal((count, *spread.shape))
    return np.asarray(np.exp(np.clip(draws * spread, -_WIDEST, _WIDEST)), dtype=np.float64)


def interval_width(log_width: Array) -> Array:
    """Half-width of an interval of log time, kept within what ``exp`` can hold."""
    return np.minimum(log_width, _WIDEST)


def as_list(values: Numbers) -> list[float]:
    """One number or several, as a list.

    Raises:
        InputError: something that is no number; text, too, even of digits.
    """
    several = values if isinstance(values, Iterable) else (values,)
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        return [float(value) for value in several]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{values!r} is no number or list of numbers") from error


def outer(n: Numbers | Array, gpus: Numbers | Array) -> tuple[Array, Array]:
    """Every n with every GPU count: two flat arrays, GPU counts running fastest."""
    sizes = np.array(as_list(n))
    counts = np.array(as_list(gpus))
    return np.repeat(sizes, counts.size), np.tile(counts, sizes.size)


def whole_numbers(n: Array) -> NDArray[np.generic]:
    """Sizes as tables show them: as integers where all of them are."""
    whole = bool(np.all((n == np.floor(n)) & (n < EXACT)))
    return n.astype(np.int64) if whole else n


def grain_of(*sizes: float) -> float:
    """How far apart sizes between these are looked at: 1 where all are whole numbers.

    Else a millionth of the least: so much nobody measures.
    """
    return 1.0 if all(float(n).is_integer() for n in sizes) else 1e-6 * min(sizes)


def rounded(n: Array, grain: float) -> Array:
    """Sizes as multiples of a grain."""
    return np.round(n) if grain == 1 else np.round(n / grain) * grain


def spaced(low: float, high: float, count: int) -> Array:
    """Sizes spread evenly in the logarithm; whole numbers between such, so perhaps fewer."""
    between = rounded(np.geomspace(low, high, count), grain_of(low, high))
    return np.unique(np.clip(between, low, high))


SAME_SIZE = 1e-12
"""Sizes that differ relatively by no more are one: floats hold larger ones hardly finer."""


def checked_sizes(values: Sequence[float] | Array) -> Array:
    """Sizes n as an array.

    Raises:
        InputError: one that is no number greater than 0, or too large.
    """
    array = np.array(values, dtype=np.float64)
    wrong = array[~((array >= SMALLEST_N) & (array <= LARGEST_N))]
    if wrong.size:
        raise InputError(
            f"{wrong[0]:.12g} is no size greater than 0 and up to {LARGEST_N:.12g}", field="n"
        )
    return array


def checked_counts(values: Sequence[float] | Array) -> Array:
    """GPU counts as an array.

    Raises:
        InputError: one that is no whole number from 1 to the largest.
    """
    array = np.array(values, dtype=np.float64)
    wrong = array[~((array >= 1) & (array <= LARGEST_GPUS) & (array == np.floor(array)))]
    if wrong.size:
        raise InputError(
            f"{wrong[0]:.12g} is no whole number from 1 to {LARGEST_GPUS:.12g}", field="gpus"
        )
    return array


USUAL_SIZES = (216.0, 1e6)
"""Particles, least and greatest, where no size was measured."""


def sizes_to_show(model: Forecaster) -> tuple[float, float]:
    """Least and greatest n to show of a model: those fitted, of a reconstruction the usual ones."""
    return model.domain.n if model.observations is not None else USUAL_SIZES
