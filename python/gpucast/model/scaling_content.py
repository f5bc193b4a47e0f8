"""The content of a scaling model's file, beside what all model files hold (``content``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpucast.model.content import (
    Combination,
    Count,
    Domain,
    FittedSteps,
    Gpu,
    IntegerCost,
    MachineFactors,
    Noise,
    NotNegative,
    Observed,
    Parameter,
    Positive,
    Quality,
    Sharing,
    Size,
    TimedCells,
    Tried,
)
from gpucast.util.remarks import Remark

DISPUTED = 0.3
"""Standard deviation of ln T from which on repetitions leave a cell's time open."""


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


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class FittedScaling:
    """The content of a scaling model's file; keys as in ``Fitted``."""

    kind: str = field(default="scaling", metadata={"key": "model"})
    k: int | None = None
    k_profile: list[IntegerCost] = field(default_factory=list)
    parameters: dict[str, Parameter]
    combinations: list[Combination] = field(default_factory=list)
    rank: int | None = None
    quality: Quality | None
    candidates: list[Tried]
    chosen: str | None
    observations: Observed | None
    noise: Noise
    domain: Domain
    machine: Gpu
    data: FittedSteps
    created: str | None = None
    remarks: list[Remark] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scaling: Scaling
    simulated: SimulatedSteps | None = field(default=None, metadata={"omit": True})
    machine_factors: MachineFactors | None = field(default=None, metadata={"omit": True})
    sharing: list[Sharing] | None = field(default=None, metadata={"omit": True})
