"""A fitted model as its file holds it, and what follows from it without a forecast."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from gpucast import _core
from gpucast.data import workload
from gpucast.data.records import FreeObject
from gpucast.data.selection import FIELDS, StepSelection
from gpucast.data.workload import Workload
from gpucast.errors import InputError
from gpucast.model.adjustments import MachineFactors, OtherPath, Sharing, SimulatedSteps
from gpucast.model.content import (
    Combination,
    Domain,
    FittedSteps,
    IntegerCost,
    Noise,
    Observed,
    Parameter,
    Quality,
    Reconstruction,
    Tried,
)
from gpucast.model.intervals import OF_PARTS, OF_TOTAL, T90, Array, CommonFactors
from gpucast.model.mixtures import PartsMixture, Scaling
from gpucast.model.values import Gpu, Integer, NotNegative, Positive, Tally, Terms, TimedCells
from gpucast.util.remarks import Remark, texts_of
from gpucast.util.typed_json import to_json

USUAL_GPUS = 8
"""Largest GPU count that is considered by default."""

USUAL_SIZES = (216.0, 1e6)
"""Default range of particle numbers if no size was measured."""

MORE_PER_GPU = 1.1
"""Largest n / N of forecasts, relative to the largest measured one."""

SCALING = "scaling"
"""Stands for the terms in a file if the forms of any program were fitted."""

NO_TERMS = Terms(gpu="", cpu="", com="")
_OMIT: dict[str, Any] = {"omit": True}


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class Fitted:
    """A fitted model.

    Attributes:
        name: for tables and files: the file's name, or the path or program fitted.
        terms: terms of our own programs; ``NO_TERMS`` for a program that is known by its step times
            only.
        k, k_profile, k_plausible: structural integer of the terms; the values tried; the plausible
            values.
        breakpoints: breakpoints of transfer curves (bytes), by route.
        parameters: parameters of the estimated form; combinations: sums of parameters that are
            known although the parameters are not.
        rank: number of quantities that the data determine.
        quality: how well the model describes the steps; None: the model was not fitted.
        candidates: the forms that were tried; ``chosen``: the chosen one.
        observations: number of fitted observations; None: the model was not fitted.
        noise: relative noise of step times.
        kernel_start: time (s) by which a skeleton's kernel takes longer than it keeps the GPU busy.
        domain: least and greatest n and GPU count of the steps.
        cells: the cells of the steps, for our own programs.
        stated_workload: the steps' workload; None: all-pairs.
        machine: the GPUs on which the steps ran.
        data: the steps that were fitted.
        mixture, scaling: the forms that forecasts average over, of the parts of a step or of its
            total; neither: the terms alone.
        other_path: the path of a what-if, and its uncertainty.
        simulated: uncertainty of simulated steps.
        machine_factors: factors of another machine, from cells timed there; None: forecasts are for
            the fitted machine.
        sharing: slowdown of several instances on one GPU; None: not measured.
        joules_per_gpu: fit of a GPU's energy in a step, as the content of a model whose times are
            joules; None: no step has joules.
        created: when it was fitted; None: not stated.
        remarks: remarks that users need to know; notes: lines that affect no answer.
        reconstruction: description of a model that was not fitted.
        replicates: parameter values of each bootstrap replicate, shape (B, parameters).
        integers: structural integer k of each replicate, length B.
    """

    name: str = field(default="", metadata={"key": None})
    terms: Terms = field(default=NO_TERMS, metadata={"key": "model"})
    k: Integer | None = None
    k_profile: list[IntegerCost] = field(default_factory=list)
    k_plausible: list[int] = field(default_factory=list)
    breakpoints: dict[str, list[Positive]] = field(default_factory=dict)
    parameters: dict[str, Parameter]
    combinations: list[Combination] = field(default_factory=list)
    rank: Tally | None = None
    quality: Quality | None = None
    candidates: list[Tried] = field(default_factory=list)
    chosen: str | None = None
    observations: Observed | None = None
    noise: Noise
    kernel_start: NotNegative | None = None
    domain: Domain
    cells: TimedCells | None = field(default=None, metadata=_OMIT)
    stated_workload: Workload | None = field(default=None, metadata={"key": "workload"})
    stated_unit: str | None = field(default=None, metadata=_OMIT | {"key": "unit"})
    stated_timestep: Positive | None = field(default=None, metadata=_OMIT | {"key": "timestep"})
    machine: Gpu
    data: FittedSteps
    mixture: PartsMixture | None = field(default=None, metadata=_OMIT)
    scaling: Scaling | None = field(default=None, metadata=_OMIT)
    other_path: OtherPath | None = field(default=None, metadata=_OMIT)
    simulated: SimulatedSteps | None = field(default=None, metadata=_OMIT)
    bootstrap_seed: int | None = None
    created: str | None = None
    remarks: list[Remark] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reconstruction: Reconstruction | None = field(default=None, metadata=_OMIT)
    machine_factors: MachineFactors | None = field(default=None, metadata=_OMIT)
    sharing: list[Sharing] | None = field(default=None, metadata=_OMIT)
    joules_per_gpu: FreeObject | None = field(default=None, metadata=_OMIT)
    replicates: Array = field(
        default_factory=lambda: np.empty((0, 0)), metadata={"key": None}, repr=False
    )
    integers: list[int] = field(default_factory=list, metadata={"key": None}, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Return the fields without cached properties, because the core's objects cannot be
        pickled."""
        kept = dict(vars(self))
        for kind in type(self).__mro__:
            for name, member in vars(kind).items():
                if isinstance(member, cached_property):
                    kept.pop(name, None)
        return kept

    # ---- texts ----

    @property
    def warnings(self) -> list[str]:
        """The text of each remark."""
        return texts_of(self.remarks)

    @property
    def form(self) -> str:
        """The model's form in one line."""
        return (self.chosen or (str(self.terms) if self.own_program else SCALING)) + (
            self.integer_in_words()
        )

    def integer_in_words(self) -> str:
        """Return a text such as ``, k = 4``; empty for a model without structural integer."""
        return "" if self.k is None else f", k = {self.k}"

    @property
    def content(self) -> dict[str, Any]:
        """The fit as JSON values, as ``fit --json`` prints it."""
        kind = {} if self.own_program else {"model": SCALING}
        return {**to_json(self), **kind, "warnings": self.warnings}

    # ---- what was fitted ----

    @property
    def own_program(self) -> bool:
        """Whether it models one of our own programs, so that terms describe the parts of a step;
        other programs are known by their step times only."""
        return self.scaling is None

    def of_own_program(self, why: str) -> Self:
        """Return the model if it is of one of our own programs.

        Args:
            why: what requires one of our own programs, and what to do instead; for the message.

        Raises:
            InputError: only step times of the program are known.
        """
        if not self.own_program:
            raise InputError(
                f"is of a program known by its step times alone: {why}", file=self.name
            )
        return self

    @property
    def weighed(self) -> bool:
        """Whether forecasts average over several forms, weighted by their evidence."""
        return self.scaling is not None or self.mixture is not None

    @property
    def selection(self) -> StepSelection:
        """The steps that it forecasts: the fitted ones, on a what-if's path, on any machine."""
        fitted = {name: getattr(self.data, name) for name in FIELDS}
        block = int(self.machine.block) or None
        return StepSelection(**{**fitted, "path": self.data.forecast_path, "block": block})

    @property
    def fitted_cells(self) -> TimedCells | None:
        """The fitted cells, whatever it forecasts; None if the file does not list them."""
        return self.cells if self.scaling is None else self.scaling.cells

    @property
    def timed(self) -> TimedCells | None:
        """The timed cells of the steps that it forecasts; None if the file does not list them, or
        if it forecasts another path."""
        if self.machine_factors is not None:
            return self.machine_factors.cells if self.machine_factors.cells.n else None
        return None if self.data.what_if is not None else self.fitted_cells

    @property
    def nodes(self) -> list[float]:
        """Number of nodes of each fitted cell, 0: not known; empty: not known for any cell."""
        return [] if self.scaling is None else self.scaling.cells.nodes

    @property
    def gpus_per_node(self) -> float | None:
        """The most GPUs of a node in the measurements; None if nodes are not known."""
        nodes = np.array(self.nodes)
        if self.scaling is None or not nodes.size or not (nodes > 0).all():
            return None
        return float(np.max(np.array(self.scaling.cells.gpus) / nodes))

    @property
    def lone_gpus(self) -> int | None:
        """The only timed GPU count of a program that is known by its step times only
        (``lone_count``); None if there are several."""
        counts = set() if self.scaling is None else set(self.scaling.cells.gpus)
        return counts.pop() if len(counts) == 1 else None

    @cached_property
    def most_per_gpu(self) -> float | None:
        """The largest timed n / N, scaled by the memory of another kind of GPU; None if the file
        lists no cells."""
        other = self.machine_factors
        memory = 1.0 if other is None else other.memory
        shares = [
            size / count * share
            for cells, share in (
                (self.fitted_cells, memory),
                (self.timed, memory),
                (None if other is None else other.cells, 1.0),
            )
            if cells is not None
            for size, count in zip(cells.n, cells.gpus, strict=True)
        ]
        return max(shares, default=None)

    @property
    def knows_parts(self) -> bool:
        """Whether the data separate T_gpu, T_cpu and T_com, so that they can be shown."""
        # A program without a schedule only resembles ours: its parts were not timed.
        return self.own_program and self.data.schedule is not None

    @property
    def timed_parts(self) -> bool:
        """Whether parts of the time come from the program's own timers."""
        return self.scaling is not None and self.scaling.parts is not None

    @property
    def unit(self) -> str | None:
        """What n counts; None: not stated."""
        return self.stated_unit if self.scaling is None else self.scaling.unit

    @property
    def timestep(self) -> float | None:
        """Simulated time (s) of a step; None: not stated."""
        return self.stated_timestep if self.scaling is None else self.scaling.timestep

    @property
    def unshared(self) -> str | None:
        """Name of a workload that is not divided among GPUs, for which no count is best; else
        None."""
        return None if self.scaling is None else self.scaling.unshared

    def check_shared_out(self) -> None:
        """Raise InputError if the workload is not divided among GPUs, so that no count is best."""
        if self.unshared is not None:
            raise InputError(
                f"{self.unshared} is not divided among GPUs: no count is best for it; gpucast "
                "predict forecasts its times on the count measured",
                file=self.name,
            )

    @property
    def usual_counts(self) -> list[int]:
        """Default GPU counts to choose from: 1 to 8. If only step times are known, they go from the
        fewest to the most measured, beyond 8 only powers of two and the measured counts."""
        usual = list(range(1, USUAL_GPUS + 1))
        if self.scaling is None:
            return usual
        measured = set(self.scaling.cells.gpus)
        least, most = min(measured), max(measured)
        if self.unshared is not None:
            return [most]
        if least == most:
            return usual
        powers = {2**power for power in range(most.bit_length())}
        return sorted(measured | {c for c in powers.union(usual) if least <= c <= most})

    @property
    def usual_sizes(self) -> tuple[float, float]:
        """Least and greatest n to show: the fitted ones, or the default for a reconstruction."""
        return self.domain.n if self.observations is not None else USUAL_SIZES

    # ---- noise, and factors that all cells share ----

    @property
    def between_cells(self) -> float:
        """Sd of ln T of true cell times around the model that is not in its forecasts."""
        # Draws and spreads of a mixture of parts include it already.
        return self.noise.between_cells if self.mixture is None else 0.0

    @property
    def t90(self) -> float:
        """The half-width of a 90 % interval, in standard deviations."""
        return self.noise.t90 if self.mixture is None else T90

    @property
    def common_factors(self) -> CommonFactors:
        """Uncertainty of the parts of a step at another time, and on another machine."""
        if self.simulated is not None:
            return replace(OF_TOTAL, unknown=np.diag([0.0, 0.0, self.simulated.com**2]))
        if not self.knows_parts:
            # Its parts are a guess, so that all of them share one factor.
            if self.machine_factors is None or self.machine_factors.kind is None:
                return OF_TOTAL
            # On another kind of GPU, each cell's host work also deviates by itself.
            return replace(OF_TOTAL, cell=OF_TOTAL.cell + OF_PARTS.cell + OF_PARTS.visit)
        # A mixture's intervals include the noise of visits.
        return OF_PARTS if self.mixture is None else replace(OF_PARTS, visit=np.zeros((3, 3)))

    @property
    def log_factors(self) -> Array:
        """Logarithms of the factors on T_gpu, T_cpu, T_com of the forecast machine."""
        factors = self.machine_factors
        return np.zeros(3) if factors is None else np.array(factors.means)

    # ---- the terms of our own programs ----

    @property
    def workload(self) -> _core.Workload:
        """The workload of our own programs: work, bytes and operations by n and N."""
        return workload.of(self.stated_workload)

    @property
    def core(self) -> _core.Model:
        """The core's model of the terms, with structural integer and curves."""
        return self.core_with(self.breakpoints)

    def core_with(self, curves: dict[str, list[float]], com: str | None = None) -> _core.Model:
        """Return the core's model with other transfer curves (breakpoints in bytes by route) and
        optionally another communication term."""
        terms = self.terms if com is None else replace(self.terms, com=com)
        return terms.core(self.machine, self.workload, self.k, curves)

    @property
    def values(self) -> Array:
        """Parameter values in the core's order."""
        names = [name for name, _, _ in self.core.parameters]
        return np.array([self.parameters[name].value for name in names], dtype=np.float64)

    def parameter(self, name: str) -> float:
        """Return the value of a parameter in SI units."""
        return float(self.parameters[name].value)
