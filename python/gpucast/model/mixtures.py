"""The mixtures that models forecast with, as model files hold them: of forms of the parts of a step
(our own programs), and of forms of the whole of it (any program)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from gpucast.model.intervals import Array
from gpucast.model.values import (
    Count,
    Integer,
    NotNegative,
    Positive,
    Size,
    Terms,
    TimedCells,
)
from gpucast.util.typed_json import Bounds

DISPUTED = 0.3
"""Standard deviation of ln T from which on repetitions leave a cell's time open."""


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class TimedVisits:
    """Visits of cells, an entry a visit.

    Attributes:
        cell: which of the cells.
        seconds: median of the samples of a step.
        variance: of its logarithm, by samples and rounding.
        cpu, cpu_variance: the same of the host's part; None: not timed.
    """

    cell: list[Annotated[int, Bounds(least=0)]]
    seconds: list[Positive]
    variance: list[NotNegative]
    cpu: list[Positive | None]
    cpu_variance: list[NotNegative]


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class MixtureForm:
    """A form that forecasts are averaged over, and the processes about its parts
    (fit/include/gpucast/fit/components).

    Attributes:
        terms: of the catalogue.
        integer: the structural integer of the GPU term; None: it has none.
        weight: share in the forecast.
        z: logarithms of the parameters' linear coordinates, then of what events add to a kernel.
        median, sd: their priors'.
        amplitudes: logarithms, in the order of ``_core.AMPLITUDES``.
        step, cpu: variance that each visit got because the rest did not expect it.
        kernel: the same of each cell's kernel.
    """

    terms: Terms
    integer: Integer | None = field(default=None, metadata={"omit": True})
    weight: Positive
    z: list[float]
    median: list[float]
    sd: list[Positive]
    amplitudes: list[float]
    step: list[NotNegative]
    cpu: list[NotNegative]
    kernel: list[NotNegative]

    @property
    def columns(self) -> tuple[list[float], ...]:
        """z and all that follows."""
        return self.z, self.median, self.sd, self.amplitudes, self.step, self.cpu, self.kernel


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class VisitedCells:
    """What was measured of steps whose parts were timed, too.

    Attributes:
        n, gpus: of each cell.
        kernel, kernel_variance: seconds of its kernel alone (None: not timed), and variance of the
            logarithm.
        visits: of these cells.
    """

    n: list[Size]
    gpus: list[Count]
    kernel: list[Positive | None]
    kernel_variance: list[NotNegative]
    visits: TimedVisits

    def columns(self) -> tuple[Array, Array, Array, Array, Array]:
        """In the core's order; of visits a row each."""
        visits = np.column_stack([_numbers(column) for column in vars(self.visits).values()])
        kernel, variance = _numbers(self.kernel), _numbers(self.kernel_variance)
        return _numbers(self.n), _numbers(self.gpus), kernel, variance, visits


def _numbers(values: Sequence[float | None]) -> Array:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class PartsMixture(VisitedCells):
    """What a model that chose its form forecasts with.

    Attributes:
        forms: the largest weight first.
        steps_alone: whether transfers and launches were left out since they do not describe the
            steps.
    """

    forms: list[MixtureForm]
    steps_alone: bool = field(default=False, metadata={"omit": True})

    def __post_init__(self) -> None:
        cells, visits = len(self.n), len(self.visits.cell)
        columns = (self.gpus, self.kernel, self.kernel_variance)
        of_visits = (self.visits.seconds, self.visits.variance, self.visits.cpu,
                     self.visits.cpu_variance)  # fmt: skip
        of_forms = [(form.step, form.cpu) for form in self.forms]
        if not (
            self.forms
            and all(len(column) == cells for column in columns)
            and all(len(column) == visits for column in of_visits)
            and all(len(column) == visits for pair in of_forms for column in pair)
            and all(len(form.kernel) == cells for form in self.forms)
        ):
            raise ValueError("a mixture has as many entries for each cell and each visit")
        if set(self.visits.cell) != set(range(cells)):
            raise ValueError("a mixture's visits are of its cells, and each cell has one")


@dataclass(kw_only=True, eq=False, match_args=False)
class MeasuredCells(TimedCells):
    """What a scaling model was fitted to, an entry a cell.

    Attributes:
        nodes: machines that the GPUs were in; 0: not known.
        variance: of its logarithm, as repetitions and rounding leave it.
        local: variance of what is the cell's alone; above 0 where it is unlike all others.
    """

    nodes: list[NotNegative]
    variance: list[NotNegative]
    local: list[NotNegative]


@dataclass(kw_only=True, eq=False, match_args=False)
class ScalingComponent:
    """One of the forms that are averaged.

    Attributes:
        terms: names of scaling terms (``_core.SCALING_TERMS``).
        growth: how work grows with n.
        overlap: what overlaps; empty: nothing.
        deviates: of noise and processes, in standard deviations of their priors.
        coefficients: of the terms, seconds a unit of their shapes; last, where the growth is n^p,
            e to the power of p - 2.
        weight: share in the forecast.
    """

    terms: list[str]
    growth: str
    overlap: str
    deviates: list[float]
    coefficients: list[Positive]
    weight: Positive


@dataclass(kw_only=True, eq=False, match_args=False)
class MeasuredParts:
    """What programs printed of where their steps' time went (s), an entry a cell: on GPUs, on the
    host, and in communication. Time that was in none of the three is not counted."""

    n: list[Size]
    gpus: list[Count]
    t_gpu: list[NotNegative]
    t_cpu: list[NotNegative]
    t_com: list[NotNegative]


@dataclass(kw_only=True, eq=False, match_args=False)
class Scaling:
    """What a scaling model forecasts with.

    Attributes:
        unit: what n counts; None: not said.
        timestep: s of simulated time a step advances; None: not said.
        traced: whether the steps are of traces, of programs that may be any: their forms do not say
            how time changes with N.
        unshared: name of a workload, such as a collective, that GPUs do not share out: there is no
            forecast of other N, and no best count; None: they do.
        doubts: what is to be said beside each forecast; one line each.
        slope_error: sd of d ln T / d ln N beyond the GPU counts measured, by which the fit without
            the largest was further off than it said.
        per_node: GPUs of a node that times make suspect and nobody stated; None: none.
    """

    unit: str | None = None
    timestep: Positive | None = None
    traced: bool = field(default=False, metadata={"omit": True})
    unshared: str | None = field(default=None, metadata={"omit": True})
    doubts: list[str] = field(default_factory=list, metadata={"omit": True})
    slope_error: NotNegative = 0.0
    per_node: Count | None = field(default=None, metadata={"omit": True})
    cells: MeasuredCells
    parts: MeasuredParts | None = field(default=None, metadata={"omit": True})
    components: list[ScalingComponent]
