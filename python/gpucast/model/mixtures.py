"""Mixtures for forecasts, as model files hold them: over forms of the parts of a step (our own
programs), and over forms of its total (any program)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from gpucast.model.intervals import Array
from gpucast.model.values import Count, Integer, NotNegative, Positive, Size, Terms, TimedCells
from gpucast.util.typed_json import Bounds

DISPUTED = 0.3
"""Standard deviation of ln T of repetitions above which a cell's time counts as undetermined."""


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class TimedVisits:
    """Visits of cells, one entry per visit.

    Attributes:
        cell: index of the cell.
        seconds: median of a step's samples (s).
        variance: variance of its logarithm by samples and rounding.
        cpu, cpu_variance: the same for the host's part; None: not timed.
    """

    cell: list[Annotated[int, Bounds(least=0)]]
    seconds: list[Positive]
    variance: list[NotNegative]
    cpu: list[Positive | None]
    cpu_variance: list[NotNegative]


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class MixtureForm:
    """A form of the mixture, and the Gaussian processes about its parts
    (fit/include/gpucast/fit/components).

    Attributes:
        terms: terms of the catalogue.
        integer: the structural integer of the GPU term; None if it has none.
        weight: weight in the forecast.
        z: logarithms of the parameters' linear coordinates, then of the time that events add to a
            kernel.
        median, sd: medians and sds of their priors.
        amplitudes: logarithms of amplitudes, in the order of ``_core.AMPLITUDES``.
        step, cpu: additional variance of each visit that is an outlier.
        kernel: the same for each cell's kernel.
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
        """``z`` and all fields after it."""
        return self.z, self.median, self.sd, self.amplitudes, self.step, self.cpu, self.kernel


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class VisitedCells:
    """Measurements of steps with timed parts.

    Attributes:
        n, gpus: n and GPU count of each cell.
        kernel, kernel_variance: time of its kernel alone (s; None: not timed), and variance of its
            logarithm.
        visits: visits of these cells.
    """

    n: list[Size]
    gpus: list[Count]
    kernel: list[Positive | None]
    kernel_variance: list[NotNegative]
    visits: TimedVisits

    def columns(self) -> tuple[Array, Array, Array, Array, Array]:
        """Return the columns in the core's order; ``visits`` is a matrix with one row per visit."""
        visits = np.column_stack([_numbers(column) for column in vars(self.visits).values()])
        kernel, variance = _numbers(self.kernel), _numbers(self.kernel_variance)
        return _numbers(self.n), _numbers(self.gpus), kernel, variance, visits


def _numbers(values: Sequence[float | None]) -> Array:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class PartsMixture(VisitedCells):
    """The mixture of a model that chose its form.

    Attributes:
        forms: its forms, the largest weight first.
        steps_alone: whether transfers and launches were left out because they do not describe the
            steps.
    """

    forms: list[MixtureForm]
    steps_alone: bool = field(default=False, metadata={"omit": True})

    def __post_init__(self) -> None:
        cells, visits = len(self.n), len(self.visits.cell)
        columns = (self.gpus, self.kernel, self.kernel_variance)
        visit_columns = (self.visits.seconds, self.visits.variance, self.visits.cpu,
                     self.visits.cpu_variance)  # fmt: skip
        form_columns = [(form.step, form.cpu) for form in self.forms]
        if not (
            self.forms
            and all(len(column) == cells for column in columns)
            and all(len(column) == visits for column in visit_columns)
            and all(len(column) == visits for pair in form_columns for column in pair)
            and all(len(form.kernel) == cells for form in self.forms)
        ):
            raise ValueError("a mixture has as many entries for each cell and each visit")
        if set(self.visits.cell) != set(range(cells)):
            raise ValueError("a mixture's visits are of its cells, and each cell has one")


@dataclass(kw_only=True, eq=False, match_args=False)
class MeasuredCells(TimedCells):
    """The cells to which a scaling model was fitted, one entry per cell.

    Attributes:
        nodes: number of nodes; 0: not known.
        variance: variance of ln of its time by repetitions and rounding.
        local: additional variance of an outlier; else 0.
    """

    nodes: list[NotNegative]
    variance: list[NotNegative]
    local: list[NotNegative]


@dataclass(kw_only=True, eq=False, match_args=False)
class ScalingComponent:
    """One form of the mixture with one set of parameters.

    Attributes:
        terms: names of scaling terms (``_core.SCALING_TERMS``).
        growth: how work grows with n.
        overlap: which parts overlap; empty: none.
        deviates: parameters of noise and processes, in standard deviations of their priors.
        coefficients: coefficients of the terms (s per unit of their shapes); if the growth is n^p,
            the last is exp(p - 2).
        weight: weight in the forecast.
    """

    terms: list[str]
    growth: str
    overlap: str
    deviates: list[float]
    coefficients: list[Positive]
    weight: Positive


@dataclass(kw_only=True, eq=False, match_args=False)
class MeasuredParts:
    """Times (s) of the parts of steps as programs printed them, one entry per cell: GPUs, host and
    communication. Time outside of these three is not counted."""

    n: list[Size]
    gpus: list[Count]
    t_gpu: list[NotNegative]
    t_cpu: list[NotNegative]
    t_com: list[NotNegative]


@dataclass(kw_only=True, eq=False, match_args=False)
class Network:
    """A collective as it was measured on the program's network, one entry per GPU count.

    Attributes:
        program: what measured it.
        gpus: GPU counts, ascending.
        latency: time of the smallest collective (s).
        per_byte: time of the largest, divided by its bytes (s).
        bytes: bytes that the program exchanges so in a step; None: not known.
    """

    program: str
    gpus: list[Count]
    latency: list[Positive]
    per_byte: list[Positive]
    bytes: Positive | None = field(default=None, metadata={"omit": True})

    def __post_init__(self) -> None:
        if not len(self.gpus) == len(self.latency) == len(self.per_byte) > 0:
            raise ValueError("a network has one latency and one time per byte for each GPU count")
        if self.gpus != sorted(set(self.gpus)):
            raise ValueError("a network's GPU counts ascend")


def columns_of(network: Network | None) -> tuple[Array, Array, Array, float]:
    """Return a network's columns, empty if there is none, and its bytes (0: not known), in the
    core's order."""
    if network is None:
        return np.empty(0), np.empty(0), np.empty(0), 0.0
    gpus, latency, per_byte = (
        np.array(column, np.float64) for column in (network.gpus, network.latency, network.per_byte)
    )
    return gpus, latency, per_byte, network.bytes or 0.0


@dataclass(kw_only=True, eq=False, match_args=False)
class Scaling:
    """The mixture of a scaling model.

    Attributes:
        unit: what n counts; None: not stated.
        timestep: simulated time of a step (s); None: not stated.
        traced: whether the steps come from traces, so that the program may be of any kind and forms
            do not tell how time depends on N.
        unshared: name of a workload that is not divided among GPUs, such as a collective, for which
            other N are not forecast and no count is best; else None.
        doubts: lines that are shown with each forecast.
        slope_error: sd of d ln T / d ln N beyond the measured GPU counts, from the excess error of
            the fit without the largest count; ``size_error``: the same for ln n beyond the
            largest size.
        per_node: GPUs per node as suggested by the times, if not stated; else None.
        network: the measured network; None: none was.
    """

    unit: str | None = None
    timestep: Positive | None = None
    traced: bool = field(default=False, metadata={"omit": True})
    unshared: str | None = field(default=None, metadata={"omit": True})
    doubts: list[str] = field(default_factory=list, metadata={"omit": True})
    slope_error: NotNegative = 0.0
    size_error: NotNegative = 0.0
    per_node: Count | None = field(default=None, metadata={"omit": True})
    network: Network | None = field(default=None, metadata={"omit": True})
    cells: MeasuredCells
    parts: MeasuredParts | None = field(default=None, metadata={"omit": True})
    components: list[ScalingComponent]

    def __post_init__(self) -> None:
        terms = {term for component in self.components for term in component.terms}
        if self.network is None and terms & {"collective", "rounds"}:
            raise ValueError("forms have a network's terms, and there is no network")
