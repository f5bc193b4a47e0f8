"""What a forecast is of: a measurement now, later on this machine, or on another of its kind.

What a model was fitted to was measured within minutes on one machine. At another time, or on
another machine, all cells share factors e^d on T_gpu, T_cpu and T_com, so that with the parts'
shares s_X = T_X / T

    ln T' = ln T + s_gpu d_gpu + s_cpu d_cpu + s_com d_com + noise,     d ~ N(0, C),

and the variance of ln T grows by s^T C s. Cells timed there say what d is: T' is linear in d but
for terms of second order, so that d and its covariance follow from Bayes' rule (``learnt``).
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
"""Degrees of freedom of what is known of machines: three were compared with one another."""

Z90 = 1.6448536269514722
"""Half-width of a normal distribution's 90 % interval."""

T90 = 1.8595480375228424
"""The same of Student's t with 8 degrees of freedom."""

SURE = 0.9
"""Probability of being in time that a job must have, where nobody says."""

_LARGEST_EXPONENT = 300.0
_TOLERANCE = 1e-12
_MOST_STEPS = 50


class Interval(StrEnum):
    """What an interval is of.

    Attributes:
        now: a measurement in the minutes of those that were fitted, on their machine (after an
            update: on the machine that it was by).
        later: one at another time on that machine.
        machine: one on another machine of the kind, of which nothing was timed.
    """

    now = "now"
    later = "later"
    machine = "machine"


def at_most(log_width: Array, probability: float) -> Array:
    """How many times as long as its forecast a time is at most, with a probability.

    Args:
        log_width: half-width of the 90 % interval of its logarithm.
    """
    from scipy.special import ndtri

    exponent = np.minimum(log_width * (ndtri(probability) / Z90), _LARGEST_EXPONENT)
    return np.asarray(np.exp(exponent), dtype=np.float64)


@dataclass(frozen=True)
class CommonFactors:
    """Covariances of the logarithms of the factors on (T_gpu, T_cpu, T_com) that all cells share.

    Attributes:
        later: of another time on the same machine.
        machine: of another machine against this one, beyond that.
        visit: of a cell's own noise between visits, where the model's noise does not hold it.
        cell: of what on another machine is a cell's own, beside the common factors and that noise.
        unknown: of what was simulated where nothing was timed; until something is.
    """

    later: Array
    machine: Array
    visit: Array
    cell: Array
    unknown: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def prior(self, same_machine: bool) -> Array:
        """Covariance of the factors of cells that were timed later, here or elsewhere."""
        known = self.later if same_machine else self.later + self.machine
        return np.asarray(known + self.unknown)

    def covariance(
        self, interval: Interval, factors: MachineFactors | None = None, t90: float = Z90
    ) -> Array:
        """Covariance by which an interval is wider than what the fit knows.

        What is known of machines alone is widened from the quantile of the interval that it is part
        of to that of Student's t: with the machines' degrees of freedom, and one more for each cell
        timed.

        Args:
            factors: what cells timed on the machine that is forecast have said.
            t90: half-width of the whole interval in standard deviations.
        """
        total = np.zeros((3, 3))
        if factors is None:
            total += self.unknown
        else:
            # What is known of kinds was calibrated as it is.
            count = len(factors.cells.n)
            degrees = np.inf if factors.kind else MACHINES_DEGREES + count
            total += _widened(np.array(factors.covariance), degrees, t90) + self.cell
            if count:
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
        means, covariance: of their logarithms.
        more: variance of ln T beyond, of each cell.
    """

    means: Array
    covariance: Array
    more: Array | float = 0.0

    @property
    def median(self) -> Array:
        """The factors as they are expected."""
        return np.exp(self.means)

    def variance(self, shares: Array) -> Array:
        """Variance of ln T of cells; ``shares``: of the parts in each, (cells, 3)."""
        variance = np.einsum("ci,ij,cj->c", shares, self.covariance, shares)
        return np.asarray(variance + self.more, dtype=np.float64)


def _independent(gpu: float, cpu: float, com: float) -> Array:
    return np.diag(np.square([gpu, cpu, com]))


OF_PARTS = CommonFactors(
    # Rounds of visits minutes apart, h200-x2: host work 8 %, communication 6 %, kernels none.
    later=_independent(0.0, 0.08, 0.06),
    # h200-x2 against two of h200-x4-mixed's machines: host work -28 and -15 %, communication -6 to
    # -14 %, kernels 0.1 %. h200-x4, measured since, is nearer (-10, -3 %): its four machines alone
    # would say 0.15 and 0.07 with three degrees of freedom, with h200-x2-other's 0.24 and 0.10 with
    # four, which makes intervals about as wide as these.
    machine=_independent(0.003, 0.22, 0.10),
    # Visits of a cell minutes apart, 18 groups of h200-x2. Repetitions within a visit, by which our
    # own programs' noise is estimated, do not show it.
    visit=_independent(0.0035, 0.15, 0.08),
    # Ratios of host work, h200-x4 and h200-x4-mixed to h200-x2, over the cells of 36 series: 10 and
    # 6 % are left beside their mean and the noise of visits.
    cell=_independent(0.0, 0.08, 0.0),
)
"""Factors of programs whose parts are known, from h200-x2, h200-x4 and h200-x4-mixed alone;
h200-x2-other, for which they are tried (docs/explanation/another-machine.md), turned out +23 %,
+10 % and 0.1 %."""

OF_TOTAL = CommonFactors(
    # Means over all cells of a visit of openmm-h200 and ddp-h200, three visits each: 1.9, 1.7, 1.8
    # and (ResNet-50, whose input is made on the host) 5.9 %; root mean square 3.3 %.
    later=np.full((3, 3), 0.033**2),
    # No table of other programs has two machines of one kind. Totals of the same cells of our own
    # programs on h200-x4 and h200-x4-mixed against h200-x2, 696 cells of 36 series: root mean
    # square 6.5 %; of a series 2.2 to 8.4 % (quartiles), least where GPUs take most of the time.
    machine=np.full((3, 3), 0.065**2),
    visit=np.zeros((3, 3)),
    # The same cells about their series' mean: 3.1 % in the median series, of which the rest is laid
    # to noise.
    cell=np.full((3, 3), 0.02**2),
)
"""Programs known by their step times alone have one factor, on the whole of a step."""


def interval_named(name: str) -> Interval:
    """The interval of a name, or itself.

    Raises:
        InputError: there is none of this name.
    """
    try:
        return Interval(name)
    except ValueError:
        known = ", ".join(Interval)
        raise InputError(f"{name!r} is no interval; known are {known}", field="interval") from None


def step_factors(shares: Array, drawn: Array, median: Array, moved: Array | None = None) -> Array:
    """Draws of factors on whole steps, (draws, cells), as intervals have them: about what the
    median factors make of each step, with ln T moved by the logarithms times the shares.

    Args:
        shares: of the parts in each step, (cells, 3).
        drawn: factors on the parts, (draws, 3); ``median``: of these.
        moved: what moves ln T in place of the shares, (cells, 3).
    """
    by = shares if moved is None else moved
    return np.asarray((shares @ median) * np.exp(np.log(drawn / median) @ by.T))


def common_variance(parts: Array, covariance: Array) -> Array:
    """Variance of ln T that common factors add.

    Args:
        parts: T_gpu, T_cpu, T_com of each cell, (cells, 3); s.
        covariance: of the logarithms of their factors, (3, 3).
    """
    return Factors(np.zeros(3), covariance).variance(shares_of(parts))


def shares_of(parts: Array) -> Array:
    """Shares of a step's parts, (cells, 3)."""
    return np.asarray(parts / parts.sum(axis=1, keepdims=True), dtype=np.float64)


def learnt(prior: Array, parts: Array, seconds: Array, variance: Array) -> tuple[Array, Array]:
    """What cells timed elsewhere say of the logarithms of the factors there: mean and covariance.

    ln T of each cell is taken as linear in them about their mean, which is found by iteration
    (Gauss and Newton's).

    Args:
        prior: their covariance before, (3, 3); may be singular.
        parts: forecasts of T_gpu, T_cpu, T_com here, (cells, 3); s.
        seconds: measured there.
        variance: of the difference of the two in ln T, where both are of one machine and time.
    """
    mean = np.zeros(3)
    for _ in range(_MOST_STEPS):
        moved = parts * np.exp(mean)
        shares = shares_of(moved)
        off = np.log(seconds / moved.sum(axis=1)) + shares @ mean
        before, (mean, covariance) = mean, linear_update(prior, shares, off, variance)
        if np.abs(mean - before).max() < _TOLERANCE:
            break
    return mean, covariance


def linear_update(
    prior: Array, design: Array, deviations: Array, variance: Array
) -> tuple[Array, Array]:
    """Mean and covariance of x ~ N(0, prior) after design x + noise was found.

    Args:
        design: a row an observation.
        variance: of each observation's noise, above 0; independent of one another.
    """
    across = design @ prior
    gain = np.linalg.solve(across @ design.T + np.diag(variance), across).T
    covariance = prior - gain @ across
    return gain @ deviations, (covariance + covariance.T) / 2


def drawn(mean: Array, covariance: Array, count: int, seed: int) -> Array:
    """So many draws of factors (not their logarithms) on the three parts, (count, 3); the first of
    more draws are those of fewer."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.default_rng(seed).standard_normal((count, 3))
    return np.asarray(np.exp(mean + normal @ root.T), dtype=np.float64)


def _widened(covariance: Array, degrees: float, t90: float) -> Array:
    """A covariance with which an interval of ``t90`` standard deviations is as wide as that of
    Student's t with ``degrees`` degrees of freedom, and never narrower than it is."""
    from scipy.special import stdtrit

    factor = max(1.0, float(stdtrit(degrees, 0.95)) / t90)
    return np.asarray(covariance * factor**2, dtype=np.float64)
