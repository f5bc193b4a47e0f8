"""By what forecasts differ from those of the steps fitted, as model files hold it: another machine,
another path, what was simulated, several instances on one GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

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

# A covariance's eigenvalues are 0 where factors go together, and this far below by rounding.
_ROUNDING = 1e-9


@dataclass(kw_only=True, eq=False, match_args=False)
class MachineFactors:
    """By what factors steps on another machine, or at another time, differ from those fitted, as
    cells timed there say (``gpucast.model.intervals``).

    Attributes:
        machine: where they were timed; the data's name where these do not say.
        kind: the kind of GPU, where the bundled timings of other programs say what it changes
            (``gpucast.model.kinds``); then there may be no cells.
        data: the dataset that they are of.
        cells: they themselves.
        means, covariance: of the logarithms of the factors on T_gpu, T_cpu, T_com.
        own: sd of ln T that is each size's own on another kind of GPU; the covariance holds it only
            while there are no cells.
        memory: a GPU's over that of the GPUs fitted, where that is less.
        created: when they were taken into account.
    """

    machine: str
    data: Origin
    cells: TimedCells
    means: list[LogFactor]
    covariance: list[list[LogFactor]]
    created: str | None = None
    kind: str | None = field(default=None, metadata={"omit": True})
    own: NotNegative = field(default=0.0, metadata={"omit": True})
    memory: NotNegative = field(default=1.0, metadata={"omit": True})

    def __post_init__(self) -> None:
        if not self.cells.n and self.kind is None:
            raise ValueError("machine_factors have at least one cell")
        if [len(row) for row in [self.means, *self.covariance]] != [3] * 4:
            raise ValueError("machine_factors have 3 means and a covariance of 3 x 3")
        covariance = np.array(self.covariance)
        if np.linalg.eigvalsh((covariance + covariance.T) / 2).min() < -_ROUNDING:
            raise ValueError("the covariance of machine_factors is of nothing that varies")

    @property
    def words(self) -> str:
        """``updated by 3 cells of MACHINE``."""
        count = len(self.cells.n)
        if not count:
            return f"on {self.kind}, by timings of other programs"
        return f"updated by {count} cell{'s' * (count > 1)} of {self.machine}"


@dataclass(kw_only=True, eq=False, match_args=False)
class OtherPath:
    """What a what-if knows of its path's communication S (``gpucast.model.other_path``).

    Attributes:
        n, gpus, wait: cells of skeletons, wait being how long each GPU was busy, s; empty where
            there were none.
        deviation: of ln S from its form, as measured in each.
        variance: of each deviation, by noise alone.
        along_n, along_gpus: amplitudes of the process of these deviations.
        beyond: sd of ln S of steps around that of skeletons, or of transfers and launches.
        host: sd of ln of the host's own work around that on the path whose steps were timed.
        computing: sd of ln of the GPUs' and the host's work around their form.
        visit: sd of ln S from visit to visit.
        known_gpus: the largest GPU count at which communication was measured.
        sleeps: threads that look for messages there sleep when none has come for a while.
        most_inline: bytes of the largest copy that goes with its message, larger ones over
            connections of their own; None: all go one way.
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
    """A cell that was simulated; ``sd``: of ln T by what the path's calls cost."""

    n: Positive
    gpus: Count
    sd: NotNegative


@dataclass(kw_only=True, eq=False, match_args=False)
class SimulatedSteps:
    """What steps are uncertain by that were simulated on a path, not measured there.

    Attributes:
        com: sd of the logarithm of the factor on T_com that all cells have in common: what the
            path's calls cost. More cells do not tell it.
        visit: sd of ln T of a measurement about the expected step, of what is not kernels' time.
        kernels: the same of kernels' time; None: as of all else.
        cells: by how much the path's costs move each cell that was simulated; the factor is that of
            all of them together. Empty: alike.
    """

    com: NotNegative
    visit: NotNegative
    kernels: NotNegative | None = field(default=None, metadata={"omit": True})
    cells: list[SimulatedCell] = field(default_factory=list)


@dataclass(kw_only=True, eq=False, match_args=False)
class Sharing:
    """What several instances at once on one GPU cost one another (``model/sharing.h``).

    Attributes:
        mps: whether they were under NVIDIA's Multi-Process Service.
        reference: the n at which ``busy`` is.
        n, instances, ratio: the cells fitted: step time over that of one alone.
        scatter: sd of ln of a measured ratio about the form's.
        read: whether it was read how busy the GPU was.
        busy: log odds of the share of a step in which the GPU works, a draw each; ``slope``: what
            they gain with ln n; ``switching``, ``waiting``: the form's; ``turning``, ``crowding``:
            the form's in seconds a step, of every size; empty: none.
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
            raise ValueError("draws of what sharing costs have as many values of each")

    @property
    def most(self) -> float:
        """Instances that were measured at most."""
        return max(self.instances)
