"""A model of a program that is known by its step times alone: several forms, averaged."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data.selection import FIELDS, StepSelection
from gpucast.errors import InputError
from gpucast.model import lone_count
from gpucast.model.content import TimedCells
from gpucast.model.forecaster import (
    SCHEMA,
    USUAL_GPUS,
    Array,
    Forecaster,
    Forecasts,
    Numbers,
    checked_counts,
    checked_sizes,
    outer,
    running_argmin,
)
from gpucast.model.intervals import (
    OF_TOTAL,
    Z90,
    CommonFactors,
    Interval,
    interval_named,
    shares_of,
)
from gpucast.model.joint import COUNTS_DRAWN, DRAWS, between, joint_draws, nodes_of, shuffled
from gpucast.model.scaling_content import FittedScaling

if TYPE_CHECKING:
    import pandas

# Draws of one size on more counts are interpolated, too; so many counts at a time, for memory.
_MOST_COUNTS_DRAWN = 128
_COUNTS_TOGETHER = 4096

# Times of one size on more counts than this are interpolated where they hardly bend; not those of
# the first few counts, between which forms jump.
_MOST_ASKED = 512
_FEW_COUNTS = 64

# Parts of a step are alike within so much of ln n and ln N, and a form's own count like a measured
# cell so much.
_PARTS_LENGTH = 0.5
_PARTS_ELSEWHERE = 0.02
# Those of simulated steps are all that is known of a path: between them they are interpolated,
# beyond them they are the nearest one's.
_SIMULATED_LENGTH = 0.25
_LEAST_WEIGHT = 1e-30

# A part below this share of a step is as good as none.
_LEAST_SHARE = 1e-4

_PARTS = ("t_gpu", "t_cpu", "t_com")
_UNKNOWN = ("ns_per_day", "measured")
"""Columns of forecasts that may be empty."""

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
        lines += [
            f"  {100 * (candidate.weight or 0):3.0f} %  {candidate.model}"
            for candidate in self.candidates
        ]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    @property
    def selection(self) -> StepSelection:
        fitted = {name: getattr(self.data, name) for name in FIELDS}
        return StepSelection(**{**fitted, "path": self.data.forecast_path})

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

    @property
    def timed(self) -> TimedCells | None:
        if self.machine_factors is not None:
            return self.machine_factors.cells
        return None if self.simulated is not None else self.scaling.cells

    @property
    def fitted_cells(self) -> TimedCells | None:
        return self.scaling.cells

    @property
    def common_factors(self) -> CommonFactors:
        # Its parts are a guess: all of them share one factor.
        if self.simulated is None:
            return OF_TOTAL
        return replace(OF_TOTAL, unknown=np.diag([0.0, 0.0, self.simulated.com**2]))

    def _shares(self, n: Array, gpus: Array) -> Array:
        """Shares of a step's parts, (cells, 3), where factors on them differ; else any."""
        if self.simulated is None:
            return np.full((n.size, 3), 1 / 3)
        measured = self.scaling.parts
        if measured is None:
            return np.tile([0.0, 0.0, 1.0], (n.size, 1))
        timed = np.array([measured.t_gpu, measured.t_cpu, measured.t_com]).T
        weight = np.exp(-self._distances(n, gpus) / _SIMULATED_LENGTH)
        weight = np.maximum(weight, _LEAST_WEIGHT)
        return np.asarray(weight @ shares_of(timed) / weight.sum(axis=1, keepdims=True))

    def _moved(self, n: Array, gpus: Array) -> Array:
        """By how much ln of factors on the parts moves ln T of cells, (cells, 3): their shares, and
        of simulated cells what their draws say."""
        shares = self._shares(n, gpus)
        known = None if self.simulated is None else self.simulated.cells
        if not known or self.simulated is None or self.machine_factors is not None:
            return shares
        own = np.array([[cell.n, cell.gpus, cell.sd] for cell in known])
        weight = np.exp(-_apart(n, gpus, own[:, 0], own[:, 1]) / _SIMULATED_LENGTH)
        weight = np.maximum(weight, _LEAST_WEIGHT)
        # Interpolated is by how much T_com moves, which is a property of the calls.
        of_com = own[:, 2] / np.maximum(self._shares(own[:, 0], own[:, 1])[:, 2], _LEAST_SHARE)
        sd = np.exp(weight @ np.log(of_com) / weight.sum(axis=1))
        return np.column_stack([shares[:, :2], shares[:, 2] * sd / self.simulated.com])

    def _factor(self, n: Array, gpus: Array) -> Array:
        """The factor on times of cells that the machine that is forecast has."""
        return np.asarray(self._shares(n, gpus) @ np.exp(self.log_factors), dtype=np.float64)

    def _visit_variance(self, n: Array, gpus: Array) -> Array:
        """Variance of the logarithm of a single measurement about the expected time."""
        simulated = self.simulated
        if simulated is None:
            return np.full(n.size, (self.noise.pure_error or 0.0) ** 2)
        if simulated.kernels is None:
            return np.full(n.size, simulated.visit**2)
        kernels = self._shares(n, gpus)[:, 0]
        of_both = np.hypot(simulated.visit * np.sqrt(1 - kernels), simulated.kernels * kernels)
        return np.asarray(np.square(of_both), dtype=np.float64)

    @property
    def timed_parts(self) -> bool:
        return self.scaling.parts is not None

    @property
    def knows_parts(self) -> bool:
        # Its parts are those of forms that describe the sum; no phase was timed.
        return False

    @property
    def usual_counts(self) -> list[int]:
        """From the fewest to the most measured: all up to 8, beyond them powers of two and those
        measured; where a single count was measured the usual ones, or, of work that is not shared
        out, that count alone."""
        measured = set(self.scaling.cells.gpus)
        least, most = min(measured), max(measured)
        if self.unshared is not None:
            return [most]
        if least == most:
            return super().usual_counts
        usual = {2**power for power in range(most.bit_length())} | set(range(1, USUAL_GPUS + 1))
        return sorted(measured | {count for count in usual if least <= count <= most})

    @cached_property
    def core(self) -> _core.Scaling:
        """The core's mixture."""
        cells = self.scaling.cells
        components = [
            (
                component.terms,
                component.growth,
                component.overlap,
                component.deviates,
                component.coefficients,
                component.weight,
            )
            for component in self.scaling.components
        ]
        return _core.Scaling(
            n=np.array(cells.n, dtype=np.float64),
            gpus=np.array(cells.gpus, dtype=np.float64),
            nodes=np.array(cells.nodes, dtype=np.float64),
            seconds=np.array(cells.seconds, dtype=np.float64),
            variance=np.array(cells.variance, dtype=np.float64),
            local=np.array(cells.local, dtype=np.float64),
            components=components,
            slope_error=self.scaling.slope_error,
        )

    def forecasts(
        self,
        n: Sequence[float] | Array,
        gpus: Sequence[float] | Array,
        interval: Interval = Interval.now,
    ) -> Forecasts:
        n, gpus = checked_sizes(n), checked_counts(gpus)
        lone = self.lone_gpus
        if lone is not None and (gpus != lone).any():
            return self._of_other_counts(n, gpus, lone, interval)
        return self._forecasts(n, gpus, interval, np.zeros(n.size))

    def _of_other_counts(self, n: Array, gpus: Array, lone: int, interval: Interval) -> Forecasts:
        known = self._traced_on(gpus)
        own = self._forecasts(n, known, interval, np.zeros(n.size))
        wide = self._forecasts(n, known, interval, lone_count.variance(gpus, lone, self._law))
        longer = lone_count.factor(gpus, lone, self._law)
        low, high, mean_low, mean_high = (
            longer * end for end in (wide.low, wide.high, wide.mean_low, wide.mean_high)
        )
        low, high = lone_count.within_division(low, high, gpus, lone, (own.low, own.high))
        mean_low, mean_high = lone_count.within_division(
            mean_low, mean_high, gpus, lone, (own.mean_low, own.mean_high)
        )
        return replace(
            wide,
            gpus=gpus,
            seconds=longer * own.seconds,
            low=low,
            high=high,
            mean_low=mean_low,
            mean_high=mean_high,
            t_gpu=longer * own.t_gpu,
            t_cpu=longer * own.t_cpu,
            t_com=longer * own.t_com,
            extrapolated=self.extrapolates(n, gpus),
        )

    def _forecasts(self, n: Array, gpus: Array, interval: Interval, more: Array) -> Forecasts:
        """``more``: variance of ln T beyond what is known of these cells."""
        within = self._visit_variance(n, gpus)
        common = self._common(n, gpus, interval) + more
        nodes = self.nodes_of(gpus)
        *times, spread, parts = self.core.forecast(n, gpus, nodes, within)
        if common.any():
            # The forecast itself, the median of a mixture, stays where it is.
            apart = self._as_known * (within + common)
            _, *times[1:3] = self.core.forecast(n, gpus, nodes, apart)[:3]
        factor = self._factor(n, gpus)
        seconds, low, high, mean_low, mean_high = (factor * end for end in times)
        parts = np.exp(self.log_factors) * self._measured_parts(n, gpus, parts)
        if common.any():
            # The core's interval of the expected time holds no variance but its own.
            mean_low, mean_high = (
                seconds * np.exp(sign * np.hypot(np.log(end / seconds), Z90 * np.sqrt(common)))
                for sign, end in ((-1, mean_low), (1, mean_high))
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
            spread=np.sqrt(spread**2 + common),
            common=common,
            interval=interval,
        ).checked(self.name)

    @cached_property
    def _parts_off(self) -> Array:
        """Logarithms of measured parts' shares over the forms', a row a cell of ``parts``."""
        measured = self.scaling.parts
        assert measured is not None
        n, gpus = np.array(measured.n), np.array(measured.gpus, dtype=np.float64)
        form = self.core.forecast(n, gpus, self.nodes_of(gpus), np.zeros(n.size))[-1]
        timed = np.array([measured.t_gpu, measured.t_cpu, measured.t_com]).T
        return np.asarray(np.log(_shares(timed) / _shares(form)), dtype=np.float64)

    def _distances(self, n: Array, gpus: Array) -> Array:
        """From cells to those whose parts are known, in the logarithms, (cells, known)."""
        measured = self.scaling.parts
        assert measured is not None
        return _apart(n, gpus, np.array(measured.n), np.array(measured.gpus, dtype=np.float64))

    def _measured_parts(self, n: Array, gpus: Array, parts: Array) -> Array:
        """Parts of forecasts (s, columns GPU, host, communication) as the forms say, moved by how
        measured parts differ from the forms' in cells about them; far from these not at all."""
        if self.scaling.parts is None or not n.size:
            return parts
        if self.simulated is not None:
            return np.asarray(parts.sum(axis=1, keepdims=True) * self._shares(n, gpus))
        weight = np.exp(-self._distances(n, gpus) / _PARTS_LENGTH)
        moved = weight @ self._parts_off / (weight.sum(axis=1, keepdims=True) + _PARTS_ELSEWHERE)
        shares = _shares(parts) * np.exp(moved)
        total = parts.sum(axis=1, keepdims=True)
        return np.asarray(total * shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)

    def seconds(self, n: Array, gpus: Array) -> Array:
        lone = self.lone_gpus
        if lone is not None:
            longer = lone_count.factor(gpus, lone, self._law)
            return np.asarray(longer * self._seconds(n, self._traced_on(gpus)), dtype=np.float64)
        return self._seconds(n, gpus)

    def _seconds(self, n: Array, gpus: Array) -> Array:
        times = self.core.medians(n, gpus, self.nodes_of(gpus))
        return np.asarray(self._factor(n, gpus) * times, dtype=np.float64)

    def refuted(self, n: Array) -> Array:
        # The mixture follows its cells, and one that is unlike all others deviates alone.
        return np.zeros(np.shape(n))

    def trusted(self, n: Array, gpus: Array) -> Array:
        known = self._known(n, gpus)
        return np.where(np.isnan(known), self.seconds(n, gpus), known)

    def believed(self, forecasts: Forecasts, known: Array) -> Array:
        if self.lone_gpus is not None:
            known = self._known(forecasts.n, forecasts.gpus)
        return np.where(np.isnan(known), forecasts.seconds, known)

    def _known(self, n: Array, gpus: Array) -> Array:
        """Measured times (s) of cells; where one count alone is known, of other counts those of
        that. NaN where there are none."""
        lone = self.lone_gpus
        known = self.measured(n, self._traced_on(gpus))
        return known if lone is None else known * lone_count.factor(gpus, lone, self._law)

    def draws(self, n: Array, gpus: Array, count: int, interval: Interval = Interval.now) -> Array:
        times = joint_draws(lambda a, b: self._drawn(a, b, count), self.seconds, n, gpus)
        factors = self._drawn_common(n, self._traced_on(gpus), count, interval)
        return np.asarray(times * factors, dtype=np.float64)

    def _common(self, n: Array, gpus: Array, interval: Interval) -> Array:
        """Variance of ln T by factors that cells share."""
        covariance = self.common_factors.covariance(interval, self.machine_factors, self.t90)
        moved = self._moved(n, gpus)
        return np.asarray(np.einsum("ci,ij,cj->c", moved, covariance, moved), dtype=np.float64)

    def _drawn_common(self, n: Array, gpus: Array, count: int, interval: Interval) -> Array:
        """Draws of what factors that cells share do to their times, (count, cells)."""
        drawn = self.drawn_factors(count, interval)
        shares, moved = self._shares(n, gpus), self._moved(n, gpus)
        if np.array_equal(shares, moved):
            return np.asarray(drawn @ shares.T, dtype=np.float64)
        return np.asarray(np.exp(np.log(drawn) @ moved.T), dtype=np.float64)

    @property
    def _as_known(self) -> float:
        """On variances that the core takes for estimated (Student's t) and that are simulated, so
        that their intervals are a normal distribution's."""
        return 1.0 if self.simulated is None else (Z90 / self.t90) ** 2

    def _drawn(self, n: Array, gpus: Array, count: int) -> Array:
        seed = zlib.crc32(np.array(self.scaling.cells.seconds).tobytes())
        lone = self.lone_gpus
        if lone is None:
            return shuffled(self.core.draws(n, gpus, self.nodes_of(gpus), count, _SEED), seed)
        sizes, at = np.unique(n, return_inverse=True)
        traced = np.full(sizes.size, float(lone))
        times = self.core.draws(sizes, traced, self.nodes_of(traced), count, _SEED)
        # Another path's draws do not go with these.
        seed_of_path = zlib.crc32(str(self.data).encode())
        other = lone_count.drawn(gpus, lone, self._law, count, seed_of_path)
        return np.asarray(shuffled(times, seed)[:, at] * other, dtype=np.float64)

    def forecast(self, n: Numbers, gpus: Numbers, interval: str = Interval.now) -> pandas.DataFrame:
        """Forecasts of every n with every GPU count, a row each.

        Columns: model, n, gpus, seconds, low, high, measured (s), steps_per_second, ns_per_day,
        efficiency and its reference_gpus (``model.rates``), extrapolated; then those that every
        model has besides, but no parts of the time where nobody measured them. Without what is not
        known of any row.
        """
        import pandas

        from gpucast.model.rates import columns

        forecasts = self.forecasts(*outer(n, gpus), interval_named(interval))
        known, more = forecasts.columns(), columns(self, forecasts)
        first = ("n", "gpus", "seconds", "low", "high")
        shown = {name: known[name] for name in first}
        shown |= {"measured": more.pop("measured"), **more, "extrapolated": known["extrapolated"]}
        if not self.timed_parts:
            known = {name: part for name, part in known.items() if name not in _PARTS}
        frame = pandas.DataFrame({**shown, **{k: v for k, v in known.items() if k not in shown}})
        frame.insert(0, "model", self.name)
        unknown = [name for name in _UNKNOWN if frame[name].isna().all()]
        return frame.drop(columns=unknown)

    def cell_intervals(
        self,
        forecasts: Forecasts,
        repetitions: Sequence[int],
        rounding: Array,
        visits: Sequence[int] | None = None,
    ) -> tuple[Array, Array]:
        of_median = np.array([_core.median_variance(count) for count in repetitions])
        if self.simulated is not None:
            # What a visit differs by, its repetitions share.
            of_median = 1 / np.array(visits or [1] * len(repetitions))
        visit = self._visit_variance(forecasts.n, self._traced_on(forecasts.gpus))
        variance = self._as_known * (visit * of_median + rounding + forecasts.common)
        gpus = self._traced_on(forecasts.gpus)
        ends = self.core.forecast(forecasts.n, gpus, self.nodes_of(gpus), variance)
        factor = self._factor(forecasts.n, gpus)
        return factor * ends[1], factor * ends[2]

    def times(self, n: Array, gpus: Array) -> tuple[Array, Array]:
        if gpus.size <= _MOST_ASKED:
            return super().times(n, gpus)
        known = self._known(*outer(n, gpus)).reshape(n.size, gpus.size)
        forecast = np.exp([self._logs(size, gpus) for size in n])
        return forecast, np.where(np.isnan(known), forecast, known)

    def _logs(self, n: float, gpus: Array) -> Array:
        """Logarithms of the step times (s) of one size on many GPU counts, in rising order."""
        if gpus.size <= _MOST_ASKED:
            return np.log(self.seconds(np.full(gpus.size, n), gpus))
        measured = np.array(self.scaling.cells.gpus, dtype=np.float64)
        # What is a cell's alone ends next to it.
        near = np.isin(gpus, [measured - 1, measured, measured + 1])

        def of(logs: Array) -> Array:
            # Counts, but for rounding.
            counts = np.rint(np.exp(logs))
            return np.log(self.seconds(np.full(counts.size, n), counts))

        return between(of, np.log(gpus), near | (gpus <= _FEW_COUNTS))

    @property
    def unshared(self) -> str | None:
        return self.scaling.unshared

    def best_shares(self, n: Array, gpus: Array, interval: Interval = Interval.now) -> Array:
        return np.array([self.shares_about(size, gpus, np.ones(gpus.size)) for size in n])

    def shares_about(
        self,
        n: float,
        gpus: Array,
        factors: Array,
        apart: Array | None = None,
        interval: Interval = Interval.now,
    ) -> Array:
        fastest = np.empty(0, dtype=np.intp)
        for part in self._fastest_by_parts(n, gpus, factors):
            fastest = part[:, -1]
        return np.bincount(fastest, minlength=gpus.size) / fastest.size

    def _fastest(
        self, n: float, gpus: Array, factors: Array, apart: Array | None, interval: Interval
    ) -> NDArray[np.intp]:
        return np.hstack(list(self._fastest_by_parts(n, gpus, factors)))

    def _fastest_by_parts(
        self, n: float, gpus: Array, factors: Array
    ) -> Iterator[NDArray[np.intp]]:
        """``_fastest``, some counts at a time."""
        # A factor on all times leaves the fastest count as it is: of any interval it is the same.
        # Nothing refutes these models, so that no count lies ``apart``.
        if gpus.size <= _MOST_COUNTS_DRAWN:
            yield super()._fastest(n, gpus, factors, None, Interval.now)
            return
        logs = self._logs(n, gpus)
        axis = nodes_of(gpus, COUNTS_DRAWN)
        at = outer([n], np.exp(axis))
        ratio = np.log(self._drawn(*at, DRAWS) / self.seconds(*at))
        least, fastest = np.full((DRAWS, 1), np.inf), np.zeros((DRAWS, 1), dtype=np.intp)
        for first in range(0, gpus.size, _COUNTS_TOGETHER):
            some = slice(first, first + _COUNTS_TOGETHER)
            drawn = logs[some] + np.log(factors[some]) + ratio @ _hats(axis, np.log(gpus[some]))
            time = np.minimum.accumulate(drawn, axis=1)
            part = np.where(time < least, first + running_argmin(drawn), fastest)
            yield part
            fastest, least = part[:, -1:], np.minimum(time[:, -1:], least)

    def _traced_on(self, gpus: Array) -> Array:
        """The counts whose times forecasts for these are made of.

        Raises:
            InputError: GPUs do not share its work out, and one of them was not measured.
        """
        measured = self.domain.gpus[0]
        if self.unshared is not None and (gpus != measured).any():
            other = gpus[gpus != measured][0]
            raise InputError(
                f"{self.unshared} is no work that GPUs share out: other sizes are forecast on the "
                f"{measured:g} GPUs measured, nothing on {other:g}; measure it there",
                file=self.name,
                field="gpus",
            )
        lone = self.lone_gpus
        return gpus if lone is None else np.full(gpus.size, float(lone))

    @property
    def lone_gpus(self) -> int | None:
        """The only GPU count that was timed (``lone_count``); None: there are several."""
        counts = set(self.scaling.cells.gpus)
        return counts.pop() if len(counts) == 1 else None

    @property
    def _law(self) -> lone_count.Law:
        return lone_count.TRACED if self.scaling.traced else lone_count.PUBLISHED

    def nodes_of(self, gpus: Array) -> Array:
        """How many nodes so many GPUs are in; 0 where nodes are not known."""
        per_node = self.gpus_per_node
        return np.zeros(gpus.size) if per_node is None else np.ceil(gpus / per_node)

    @property
    def gpus_per_node(self) -> float | None:
        cells = self.scaling.cells
        nodes = np.array(cells.nodes)
        if not nodes.size or not (nodes > 0).all():
            return None
        return float(np.max(np.array(cells.gpus) / nodes))

    def to_json(self) -> str:
        content = {"schema": SCHEMA, **self.content}
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _hats(axis: Array, values: Array) -> Array:
    """Weights of linear interpolation between the axis' nodes: a row a node, a column a value."""
    return np.array([np.interp(values, axis, row) for row in np.eye(axis.size)])


def _apart(n: Array, gpus: Array, known_n: Array, known_gpus: Array) -> Array:
    """Distances of cells from others in the logarithms, (cells, others)."""
    return np.abs(np.log(n[:, None] / known_n)) + np.abs(np.log(gpus[:, None] / known_gpus))


def _shares(parts: Array) -> Array:
    """Shares of each row's sum, none quite 0."""
    shares = np.maximum(parts / parts.sum(axis=1, keepdims=True), _LEAST_SHARE)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)
