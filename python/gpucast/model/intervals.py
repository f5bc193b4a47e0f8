"""Intervals of forecasts: of a measurement now, later on this machine, or on another of its kind.

The data of a model were measured within minutes on one machine. At another time, or on another
machine, all cells share factors e^d on T_gpu, T_cpu and T_com. With the parts' shares s_X = T_X /
T,

    ln T' = ln T + s_gpu d_gpu + s_cpu d_cpu + s_com d_com + noise,     d ~ N(0, C),

and the variance of ln T grows by s^T C s. Cells timed there determine d: T' is linear in d up to
second-order terms, so that d and its covariance follow from Bayes' rule (``learnt``).

On another kind of GPU, ln T also has a deviation that depends on n alone: the ratio of two kinds'
times is similar for similar sizes. It is linear in a few normal variables
(``gpucast.model.size_features``), which cells timed there determine together with d.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpucast.errors import InputError

if TYPE_CHECKING:
    from gpucast.model.adjustments import MachineFactors

Array = NDArray[np.float64]

MACHINES_DEGREES = 2
"""Degrees of freedom of the scatter between machines: three were compared with one another."""

Z90 = 1.6448536269514722
"""Half-width of a normal distribution's 90 % interval."""

T90 = 1.8595480375228424
"""Half-width of the 90 % interval of Student's t with 8 degrees of freedom."""

SURE = 0.9
"""Default probability with which a job must be in time."""

_LARGEST_EXPONENT = 300.0
_TOLERANCE = 1e-12
_MOST_STEPS = 50


class Interval(StrEnum):
    """The measurement that an interval is about.

    Attributes:
        now: a measurement within minutes of the fitted ones, on their machine (after an update, on
            the machine of the update).
        later: a measurement at another time on that machine.
        machine: a measurement on another machine of the same kind, on which nothing was timed.
    """

    now = "now"
    later = "later"
    machine = "machine"


def at_most(log_width: Array, probability: float) -> Array:
    """Return the ratio to its forecast that a time does not exceed with a given probability.

    Args:
        log_width: half-width of the 90 % interval of ln of the time.
    """
    from scipy.special import ndtri

    exponent = np.minimum(log_width * (ndtri(probability) / Z90), _LARGEST_EXPONENT)
    return np.asarray(np.exp(exponent), dtype=np.float64)


@dataclass(frozen=True)
class CommonFactors:
    """Covariances of the logarithms of the factors on (T_gpu, T_cpu, T_com) that all cells share.

    Attributes:
        later: covariance of another time on the same machine.
        machine: additional covariance of another machine.
        visit: covariance of a cell's own noise between visits, if the model's noise lacks it.
        cell: covariance of a cell's own deviation on another machine, without common factors and
            noise.
        unknown: covariance of simulated steps until something is timed.
    """

    later: Array
    machine: Array
    visit: Array
    cell: Array
    unknown: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def prior(self, same_machine: bool) -> Array:
        """Return the covariance of the factors of cells timed later, here or on another machine."""
        known = self.later if same_machine else self.later + self.machine
        return np.asarray(known + self.unknown)

    def covariance(
        self, interval: Interval, factors: MachineFactors | None = None, t90: float = Z90
    ) -> Array:
        """Return the covariance that an interval adds to the fit's own.

        The covariance between machines is widened from the quantile of the whole interval to that
        of Student's t with the machines' degrees of freedom, plus one for each timed cell.

        Args:
            factors: factors estimated from cells timed on the forecast machine.
            t90: half-width of the whole interval in standard deviations.
        """
        total = np.zeros((3, 3))
        if factors is None:
            total += self.unknown
        else:
            # The covariance of kinds is calibrated and needs no widening.
            count = len(factors.cells.n)
            degrees = np.inf if factors.kind else MACHINES_DEGREES + count
            total += _widened(np.array(factors.covariance), degrees, t90) + self.cell
            if count and factors.of_size is None:
                total += factors.own**2
        if interval != Interval.now:
            total += self.later
        if interval == Interval.machine:
            total += _widened(self.machine, MACHINES_DEGREES, t90) + self.cell
        return total


@dataclass(frozen=True)
class Factors:
    """The factors on T_gpu, T_cpu and T_com that all cells share.

    Attributes:
        means, covariance: mean and covariance of their logarithms; the covariance has further rows
            and columns for the variables of ``size_features``, if ln T depends on them.
        more: additional variance of ln T of each cell.
        features: ``size_features`` of each cell, if ln T depends on them.
    """

    means: Array
    covariance: Array
    more: Array | float = 0.0
    features: Array | None = None

    @property
    def median(self) -> Array:
        """The medians of the factors."""
        return np.exp(self.means)

    def variance(self, shares: Array) -> Array:
        """Return the variance of ln T of cells, given the shares of their parts, (cells, 3)."""
        design = shares if self.features is None else np.hstack([shares, self.features])
        variance = np.einsum("ci,ij,cj->c", design, self.covariance, design)
        return np.asarray(variance + self.more, dtype=np.float64)


def _independent(gpu: float, cpu: float, com: float) -> Array:
    return np.diag(np.square([gpu, cpu, com]))


OF_PARTS = CommonFactors(
    # Rounds of visits minutes apart, h200-x2: host work 8 %, communication 6 %, kernels 0.
    later=_independent(0.0, 0.08, 0.06),
    # h200-x2 against two of h200-x4-mixed's machines: host work -28 and -15 %, communication -6 to
    # -14 %, kernels 0.1 %. h200-x4, measured since, is nearer (-10, -3 %). Its four machines alone
    # give 0.15 and 0.07 with three degrees of freedom; with h200-x2-other, they give 0.24 and 0.10
    # with four, and intervals about as wide as these.
    machine=_independent(0.003, 0.22, 0.10),
    # Visits of a cell minutes apart, 18 groups of h200-x2. Repetitions within a visit, from which
    # our own programs' noise is estimated, do not show this scatter.
    visit=_independent(0.0035, 0.15, 0.08),
    # Ratios of host work, h200-x4 and h200-x4-mixed to h200-x2, over the cells of 36 series: 10 and
    # 6 % remain without their mean and the noise of visits.
    cell=_independent(0.0, 0.08, 0.0),
)
"""Factors of programs with known parts, from h200-x2, h200-x4 and h200-x4-mixed alone. On
h200-x2-other, where they are validated (docs/explanation/another-machine.md), the factors were +23
%, +10 % and 0.1 %."""

OF_TOTAL = CommonFactors(
    # Means over all cells of a visit of openmm-h200 and ddp-h200, three visits each: 1.9, 1.7, 1.8
    # and (ResNet-50, whose input is made on the host) 5.9 %; root mean square 3.3 %.
    later=np.full((3, 3), 0.033**2),
    # No table of other programs has two machines of one kind. These are totals of the same cells of
    # our own programs on h200-x4 and h200-x4-mixed against h200-x2, 696 cells of 36 series: root
    # mean square 6.5 %; per series 2.2 to 8.4 % (quartiles), and least if GPU time dominates.
    machine=np.full((3, 3), 0.065**2),
    visit=np.zeros((3, 3)),
    # The same cells around their series' mean: 3.1 % in the median series, part of which is noise.
    cell=np.full((3, 3), 0.02**2),
)
"""Factors of programs that are known by their step times only: one factor on the whole step."""


def interval_named(name: str) -> Interval:
    """Return the interval with this name.

    Raises:
        InputError: no interval has this name.
    """
    try:
        return Interval(name)
    except ValueError:
        known = ", ".join(Interval)
        raise InputError(f"{name!r} is no interval; known are {known}", field="interval") from None


def step_factors(shares: Array, drawn: Array, median: Array, moved: Array | None = None) -> Array:
    """Return draws of factors on whole steps, (draws, cells), in the approximation of the
    intervals: around the median factors' effect on each step, ln T is linear in the logarithms of
    the factors.

    Args:
        shares: shares of the parts in each step, (cells, 3).
        drawn: factors on the parts, (draws, 3); ``median``: their medians.
        moved: derivatives of ln T that replace the shares, (cells, 3).
    """
    by = shares if moved is None else moved
    return np.asarray((shares @ median) * np.exp(np.log(drawn / median) @ by.T))


def common_variance(parts: Array, covariance: Array) -> Array:
    """Return the variance of ln T that common factors add.

    Args:
        parts: T_gpu, T_cpu, T_com of each cell, (cells, 3); s.
        covariance: covariance of the logarithms of their factors, (3, 3).
    """
    return Factors(np.zeros(3), covariance).variance(shares_of(parts))


def shares_of(parts: Array) -> Array:
    """Return the shares of a step's parts, (cells, 3)."""
    return np.asarray(parts / parts.sum(axis=1, keepdims=True), dtype=np.float64)


def learnt(
    prior: Array,
    parts: Array,
    seconds: Array,
    variance: Array,
    features: Array | None = None,
) -> tuple[Array, Array]:
    """Return mean and covariance of ln of another machine's factors, given cells timed there.

    ln T of each cell is linearized around their mean, which is found by Gauss-Newton iteration.

    Args:
        prior: their prior covariance, (3, 3), or with the features' variables, which then follow
            in the results; may be singular.
        parts: forecasts of T_gpu, T_cpu, T_com on the model's machine, (cells, 3); s.
        seconds: times measured on the other machine (s).
        variance: variance of the difference in ln T if both were of one machine and time.
        features: what ln T also depends on linearly, (cells, variables).
    """
    mean = np.zeros(len(prior))
    for _ in range(_MOST_STEPS):
        moved = parts * np.exp(mean[:3])
        shares = shares_of(moved)
        off = np.log(seconds / moved.sum(axis=1)) + shares @ mean[:3]
        design = shares if features is None else np.hstack([shares, features])
        before, (mean, covariance) = mean, linear_update(prior, design, off, variance)
        if np.abs(mean - before).max() < _TOLERANCE:
            break
    return mean, covariance


def linear_update(
    prior: Array, design: Array, deviations: Array, variance: Array
) -> tuple[Array, Array]:
    """Return mean and covariance of x ~ N(0, prior) given observations of design x + noise.

    Args:
        design: one row per observation.
        variance: variance of each observation's independent noise, above 0.
    """
    across = design @ prior
    gain = np.linalg.solve(across @ design.T + np.diag(variance), across).T
    covariance = prior - gain @ across
    return gain @ deviations, (covariance + covariance.T) / 2


@dataclass(frozen=True)
class DrawnFactors:
    """Draws of the factors that cells share.

    Attributes:
        parts: factors on the three parts, (draws, 3).
        variables: variables of ``size_features``, (draws, variables).
    """

    parts: Array
    variables: Array

    def one(self, at: int) -> DrawnFactors:
        """Return one of the draws."""
        rows = slice(at, at + 1)
        return DrawnFactors(self.parts[rows], self.variables[rows])

    def of_sizes(self, features: Array) -> Array:
        """Return the factors of cells with these ``size_features``, (draws, cells)."""
        return np.asarray(np.exp(self.variables @ features.T))


def drawn(mean: Array, covariance: Array, count: int, seed: int) -> DrawnFactors:
    """Draw factors from the mean and covariance of their logarithms. The first draws do not depend
    on their number."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.default_rng(seed).standard_normal((count, mean.size))
    logs = np.asarray(mean + normal @ root.T, dtype=np.float64)
    return DrawnFactors(np.exp(logs[:, :3]), logs[:, 3:])


def _widened(covariance: Array, degrees: float, t90: float) -> Array:
    """Widen a covariance so that an interval of ``t90`` standard deviations is as wide as that of
    Student's t with ``degrees`` degrees of freedom; never narrow it."""
    from scipy.special import stdtrit

    factor = max(1.0, float(stdtrit(degrees, 0.95)) / t90)
    return np.asarray(covariance * factor**2, dtype=np.float64)
