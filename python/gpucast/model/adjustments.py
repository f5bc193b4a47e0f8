"""Adjustments of a fitted model, as model files hold them: to another machine, to another path, for
simulated steps, for several instances on one GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from gpucast.model.size_features import size_features
from gpucast.model.values import (
    Count,
    LogFactor,
    LogOdds,
    NotNegative,
    Origin,
    Positive,
    Size,
    TimedCells,
)
from gpucast.util.typed_json import Bounds

# Eigenvalues of a singular covariance may be negative by rounding, but not below this.
_ROUNDING = 1e-9


@dataclass(kw_only=True, eq=False, match_args=False)
class SizeEffect:
    """A deviation of ln T on another kind of GPU that depends on n alone, as far as cells tell it:
    the sum of ``gpucast.model.size_features``, each multiplied by a variable.

    Attributes:
        sizes: the sizes of the cells.
        means: means of the variables, of which there is one more than sizes.
        covariance: their covariance with the logarithms of the factors on T_gpu, T_cpu, T_com, and
            with one another: a row for each variable, the factors' columns first.
    """

    sizes: list[Size]
    means: list[LogFactor]
    covariance: list[list[LogFactor]]

    def __post_init__(self) -> None:
        count = len(self.sizes) + 1
        rows = [len(row) for row in self.covariance]
        if len(self.means) != count or rows != [3 + count] * count:
            raise ValueError(
                "of_size has a mean and a row of covariances for each size, and one more"
            )


@dataclass(kw_only=True, eq=False, match_args=False)
class MachineFactors:
    """Factors by which steps on another machine, or at another time, differ from the fitted ones,
    estimated from cells timed there (``gpucast.model.intervals``).

    Attributes:
        machine: the machine where the cells were timed; the data's name if these do not state one.
        kind: the kind of GPU, if bundled timings of other programs give its factors
            (``gpucast.model.kinds``); then there may be no cells.
        data: the dataset of the cells.
        cells: the cells.
        means, covariance: mean and covariance of the logarithms of the factors on T_gpu, T_cpu,
            T_com.
        own: sd of a deviation of ln T that depends on n on another kind of GPU; the covariance
            includes it only while there are no cells.
        of_size: that deviation, as far as the cells tell it; None: there are no cells, or the model
            file is older.
        memory: memory of a GPU relative to that of the fitted GPUs, if smaller.
        created: when the model was updated.
    """

    machine: str
    data: Origin
    cells: TimedCells
    means: list[LogFactor]
    covariance: list[list[LogFactor]]
    created: str | None = None
    kind: str | None = field(default=None, metadata={"omit": True})
    own: NotNegative = field(default=0.0, metadata={"omit": True})
    of_size: SizeEffect | None = field(default=None, metadata={"omit": True})
    memory: NotNegative = field(default=1.0, metadata={"omit": True})

    def __post_init__(self) -> None:
        if not self.cells.n and self.kind is None:
            raise ValueError("machine_factors have at least one cell")
        if [len(row) for row in [self.means, *self.covariance]] != [3] * 4:
            raise ValueError("machine_factors have 3 means and a covariance of 3 x 3")
        covariance = self.joint[1]
        if np.linalg.eigvalsh((covariance + covariance.T) / 2).min() < -_ROUNDING:
            raise ValueError("the covariance of machine_factors is not positive semidefinite")

    @property
    def joint(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and covariance of the factors' logarithms and, behind them, ``of_size``'s
        variables."""
        means = np.array(self.means, dtype=np.float64)
        covariance = np.array(self.covariance, dtype=np.float64)
        if self.of_size is None:
            return means, covariance
        below = np.array(self.of_size.covariance)
        top = np.hstack([covariance, below[:, :3].T])
        return np.concatenate([means, self.of_size.means]), np.vstack([top, below])

    def size_features(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the features of sizes, one for each variable that ``joint`` has of them."""
        if self.of_size is None:
            return np.zeros((n.size, 0))
        return size_features(n, np.array(self.of_size.sizes), self.own)

    @property
    def words(self) -> str:
        """A text such as ``updated by 3 cells of MACHINE``."""
        count = len(self.cells.n)
        if not count:
            return f"on {self.kind}, by timings of other programs"
        return f"updated by {count} cell{'s' * (count > 1)} of {self.machine}"


@dataclass(kw_only=True, eq=False, match_args=False)
class OtherPath:
    """The communication S of a what-if's path, and its uncertainty (``gpucast.model.other_path``).

    Attributes:
        n, gpus, wait: cells of the skeletons; ``wait`` is the time for which each GPU was busy (s).
            Empty without skeletons.
        deviation: measured deviation of ln S from its form in each cell.
        variance: variance of each deviation by noise.
        along_n, along_gpus: amplitudes of the Gaussian process of these deviations.
        beyond: sd of ln S of steps around that of skeletons, or of transfers and launches.
        host: sd of ln of the host's own work around that on the path of the timed steps.
        computing: sd of ln of the GPUs' and the host's work around their form.
        visit: sd of ln S from visit to visit.
        known_gpus: the largest GPU count with measured communication.
        sleeps: whether threads that poll for messages sleep after a while without any.
        most_inline: size of the largest copy that is sent within its message (bytes); larger ones
            use separate connections. None: all are sent in the same way.
    """

    n: list[Size] = field(default_factory=list)
    gpus: list[Count] = field(default_factory=list)
    wait: list[Positive] = field(default_factory=list)
    deviation: list[float] = field(default_factory=list)
    variance: list[NotNegative] = field(default_factory=list)
    along_n: NotNegative
    along_gpus: NotNegative
    beyond: NotNegative
    host: NotNegative
    computing: NotNegative
    visit: NotNegative
    known_gpus: Count
    sleeps: bool
    most_inline: NotNegative | None = None

    def __post_init__(self) -> None:
        if (
            not len(self.n)
            == len(self.gpus)
            == len(self.wait)
            == len(self.deviation)
            == len(self.variance)
        ):
            raise ValueError("skeletons have as many n as gpus, waits, deviations and variances")


@dataclass(kw_only=True, eq=False, match_args=False)
class SimulatedCell:
    """A simulated cell; ``sd`` is that of ln T due to the error of call times on the path."""

    n: Positive
    gpus: Count
    sd: NotNegative


@dataclass(kw_only=True, eq=False, match_args=False)
class SimulatedSteps:
    """Uncertainty of steps that were simulated on a path instead of measured.

    Attributes:
        com: sd of the logarithm of the factor on T_com that all cells share, due to the error of
            call times on the path; more cells do not reduce it.
        visit: sd of ln T of a measurement around the expected step, without kernel time.
        kernels: the same for kernel time; None: as for the rest.
        cells: sensitivity of each simulated cell to call times; ``com`` is their common factor.
            Empty: equal in all cells.
    """

    com: NotNegative
    visit: NotNegative
    kernels: NotNegative | None = field(default=None, metadata={"omit": True})
    cells: list[SimulatedCell] = field(default_factory=list)


@dataclass(kw_only=True, eq=False, match_args=False)
class Sharing:
    """The slowdown of several instances that share one GPU (``model/sharing.h``).

    Attributes:
        mps: whether they used NVIDIA's Multi-Process Service.
        reference: the n of ``busy``.
        n, instances, ratio: the fitted cells; ``ratio`` is step time over that of one instance
            alone.
        scatter: sd of ln of a measured ratio around the form's.
        read: whether the GPU's utilization was measured.
        busy: draws of the log odds of the share of a step in which the GPU works; ``slope``: their
            slope in ln n; ``switching``, ``waiting``: draws of the form's parameters; ``turning``,
            ``crowding``: draws of its parameters in seconds per step at every size; empty: none.
    """

    mps: bool = False
    reference: Size
    n: list[Size]
    instances: list[Positive]
    ratio: list[Positive]
    scatter: NotNegative
    read: bool = field(default=False, metadata={"omit": True})
    busy: list[LogOdds]
    slope: list[LogOdds]
    switching: list[NotNegative]
    waiting: list[Annotated[float, Bounds(least=0, most=1)]]
    turning: list[NotNegative] = field(default_factory=list)
    crowding: list[NotNegative] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not len(self.n) == len(self.instances) == len(self.ratio) >= 1:
            raise ValueError("cells that share a GPU have as many n as instances and ratios")
        self.turning = self.turning or [0.0] * len(self.busy)
        self.crowding = self.crowding or [0.0] * len(self.busy)
        drawn = (self.busy, self.slope, self.switching, self.waiting, self.turning, self.crowding)
        draws = {len(column) for column in drawn}
        if len(draws) != 1 or draws == {0}:
            raise ValueError("draws of sharing must have equally many values of each parameter")

    @property
    def most(self) -> float:
        """Most instances that were measured."""
        return max(self.instances)
