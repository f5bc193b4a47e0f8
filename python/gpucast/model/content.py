"""What a fit found, as typed objects: the content of a model file (``gpucast.model/1``).

These classes, and those of ``scaling_content`` for scaling models, are the only list of a model
file's keys (``gpucast.util.typed_json`` reads and writes them); a key with a default may be
missing. All values are SI.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from gpucast.data.selection import StepSelection
from gpucast.data.workload import LARGEST_GPUS, LARGEST_N, SMALLEST_N, Workload
from gpucast.util.remarks import Remark
from gpucast.util.typed_json import Ascending, Bounds
from gpucast.util.units import interval, quantity

LARGEST_INTEGER = 100_000
"""The largest k that a file may hold; the largest tried is 128."""

# A covariance's eigenvalues are 0 where factors go together, and this far below by rounding.
_ROUNDING = 1e-9

Positive = Annotated[float, Bounds(above=0)]
NotNegative = Annotated[float, Bounds(least=0)]
LogOdds = Annotated[float, Bounds(least=-50, most=50)]
LogFactor = Annotated[float, Bounds(least=-20, most=20)]
Integer = Annotated[int, Bounds(least=1, most=LARGEST_INTEGER)]
Interval = tuple[float, float]
Size = Annotated[float, Bounds(above=0, least=SMALLEST_N, most=LARGEST_N)]
Count = Annotated[int, Bounds(least=1, most=LARGEST_GPUS)]
Sizes = Annotated[tuple[Size, Size], Ascending()]
Counts = Annotated[tuple[Count, Count], Ascending()]


@dataclass(kw_only=True, eq=False, match_args=False)
class Terms:
    """The names of the three terms (``_core.GPU_TERMS`` and so on)."""

    gpu: str
    cpu: str
    com: str

    def __str__(self) -> str:
        return f"{self.gpu}+{self.cpu}+{self.com}"


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class Parameter:
    """A parameter of the model.

    Attributes:
        value: in ``unit``; arbitrary within bounds where not identified.
        identified: whether the data determine it alone.
        observed: whether any measured time depends on it.
        stderr: standard error; None where not identified.
        ci95: 95 % interval from the bootstrap; None without replicates.
    """

    value: Positive
    unit: str
    identified: bool
    observed: bool = True
    stderr: float | None
    ci95: Interval | None
    meaning: str

    def __repr__(self) -> str:
        return f"Parameter {self}: {self.meaning}"

    def __str__(self) -> str:
        if not self.identified:
            return "not identified"
        error = "" if self.stderr is None else f" +/- {quantity(self.stderr, self.unit)}"
        ends = "" if self.ci95 is None else f" ({interval(self.ci95, self.unit)})"
        return f"{quantity(self.value, self.unit)}{error}{ends}"

    def scaled(self, factor: float) -> Parameter:
        """The same parameter with its value and errors multiplied by ``factor``."""
        return Parameter(
            value=self.value * factor,
            unit=self.unit,
            identified=self.identified,
            observed=self.observed,
            stderr=None if self.stderr is None else self.stderr * factor,
            ci95=None if self.ci95 is None else (self.ci95[0] * factor, self.ci95[1] * factor),
            meaning=self.meaning,
        )


@dataclass(kw_only=True, eq=False, match_args=False)
class Combination:
    """A sum of parameters that the data determine where they determine none of them alone."""

    expression: str
    parameters: list[str]
    value: float | None = None
    stderr: float | None = None
    ci95: Interval | None = None


@dataclass(kw_only=True, eq=False, match_args=False)
class Quality:
    """How well the model describes what it was fitted to; errors are relative, of step cells.

    Attributes:
        reduced_chi2, lack_of_fit_p: None where repetitions are too few for a test.
        misfits: p of each named direction in which a misfit was looked for.
        disturbed_samples: samples that the fit gave no weight.
        held_out_gpus_error, held_out_n_error: median relative error of forecasts of the largest GPU
            count, and of the largest n, by fits without them; None where nobody looked.
    """

    median_relative_error: float
    p95_relative_error: float
    max_relative_error: float
    reduced_chi2: float | None = None
    lack_of_fit_p: float | None = None
    misfits: dict[str, float] = field(default_factory=dict)
    disturbed_samples: int = 0
    converged: bool = True
    held_out_gpus_error: float | None = field(default=None, metadata={"omit": True})
    held_out_n_error: float | None = field(default=None, metadata={"omit": True})


@dataclass(kw_only=True, eq=False, match_args=False)
class Tried:
    """A candidate model.

    Attributes:
        cv_error: mean relative error in cells left out; None: it had none.
        weight: in forecasts, where several candidates make them.
    """

    model: str
    cv_error: float | None
    weight: NotNegative | None = field(default=None, metadata={"omit": True})


@dataclass(kw_only=True, eq=False, match_args=False)
class IntegerCost:
    """A k that was tried, and the cost of the fit with it."""

    k: int
    cost: float


@dataclass(kw_only=True, eq=False, match_args=False)
class Observed:
    """How much was fitted to."""

    samples: int
    cells: int
    step_samples: int
    step_cells: int


@dataclass(kw_only=True, eq=False, match_args=False)
class Noise:
    """Relative noise of step times.

    Attributes:
        sample: of a single measurement around the model.
        pure_error: between repetitions; None without.
        between_cells: spread of true cell times around the model.
        t90: quantile of Student's t for a two-sided 90 % interval.
    """

    sample: NotNegative
    pure_error: NotNegative | None
    between_cells: NotNegative
    t90: Positive


@dataclass(kw_only=True, eq=False, match_args=False)
class Domain:
    """Least and greatest n and GPU count that were fitted."""

    n: Sizes
    gpus: Counts


@dataclass(kw_only=True, eq=False, match_args=False)
class Gpu:
    """The fitted machine, and counts of one GPU and its kernel; 0 where not known."""

    id: str | None = None
    name: str | None = field(default=None, metadata={"omit": True})
    cores: NotNegative
    sms: NotNegative
    block: NotNegative


@dataclass(kw_only=True, eq=False, match_args=False)
class Source:
    """Where the communication of a what-if comes from."""

    path: str
    data: str | None = None
    digest: str | None = None
    launch: str | None = None
    launch_factor: float | None = None


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


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The dataset that was fitted."""

    name: str
    digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class FittedSteps(StepSelection, Origin):
    """Which steps were fitted; None: they did not say. Machine and block are the fitted GPU's."""

    machine: None = field(default=None, metadata={"key": None})
    block: None = field(default=None, metadata={"key": None})
    # Without default, other than in a selection: all steps state a path, and steps of our own
    # programs state how they move data and by which kernel.
    path: str = field()
    schedule: str | None = field()
    kernel: str | None = field()
    program: str | None = field(default=None, metadata={"omit": True})
    case: str | None = field(default=None, metadata={"omit": True})
    what_if: Source | None = field(default=None, metadata={"omit": True})

    @property
    def words(self) -> str:
        """What was stated of the fitted steps' kind: ``schedule 'mpi', kernel 'lj'``."""
        kind = {name: getattr(self, name) for name in ("schedule", "kernel", "program", "case")}
        return ", ".join(f"{name} {value!r}" for name, value in kind.items() if value is not None)

    @property
    def forecast_path(self) -> str:
        """The path that the model forecasts: another than the fitted one in a what-if."""
        return self.path if self.what_if is None else self.what_if.path


@dataclass(frozen=True)
class Quantity:
    """A quantity that a reconstruction is made of.

    Attributes:
        name, unit, meaning: SI.
        value: the most likely.
        low, high: bounds of what is held possible; None: taken as known.
        source: the public figure that the value comes from, or None.
        assumed: why the value was assumed, or None; exactly one of the two is there.
        range: what the bounds rest on.
    """

    name: str
    unit: str
    meaning: str
    value: float
    low: float | None = field(default=None, metadata={"omit": True})
    high: float | None = field(default=None, metadata={"omit": True})
    source: str | None = field(default=None, metadata={"omit": True})
    assumed: str | None = field(default=None, metadata={"omit": True})
    range: str | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True)
class Reconstruction:
    """What a model says of itself that nobody fitted, put together from public figures.

    Such models are never datasets: what was not measured must not be taken for a measurement.
    """

    title: str
    label: str
    path: str
    quantities: list[Quantity]


@dataclass(kw_only=True, eq=False, match_args=False)
class TimedCells:
    """Cells as they were measured, an entry a cell.

    Attributes:
        seconds: median of the cell's samples.
    """

    n: list[Size]
    gpus: list[Count]
    seconds: list[Positive]

    def __post_init__(self) -> None:
        if not len(self.n) == len(self.gpus) == len(self.seconds):
            raise ValueError("cells have as many n as gpus and seconds")


@dataclass(kw_only=True, eq=False, match_args=False)
class MachineFactors:
    """By what factors steps on another machine, or at another time, differ from those fitted, as
    cells timed there say (``gpucast.model.intervals``).

    Attributes:
        machine: where they were timed; the data's name where these do not say.
        data: the dataset that they are of.
        cells: they themselves.
        means, covariance: of the logarithms of the factors on T_gpu, T_cpu, T_com.
        created: when they were taken into account.
    """

    machine: str
    data: Origin
    cells: TimedCells
    means: list[LogFactor]
    covariance: list[list[LogFactor]]
    created: str | None = None

    def __post_init__(self) -> None:
        if not self.cells.n:
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
        return f"updated by {count} cell{'s' * (count > 1)} of {self.machine}"


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


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class PartsMixture:
    """What a model that chose its form forecasts with.

    Attributes:
        n, gpus: of each cell.
        kernel, kernel_variance: seconds of its kernel alone (None: not timed), and variance of the
            logarithm.
        visits: of these cells.
        forms: the largest weight first.
        steps_alone: whether transfers and launches were left out since they do not describe the
            steps.
    """

    n: list[Size]
    gpus: list[Count]
    kernel: list[Positive | None]
    kernel_variance: list[NotNegative]
    visits: TimedVisits
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


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class Fitted:
    """The content of a model file but its replicates."""

    terms: Terms = field(metadata={"key": "model"})
    k: Integer | None
    k_profile: list[IntegerCost] = field(default_factory=list)
    k_plausible: list[int] = field(default_factory=list)
    breakpoints: dict[str, list[Positive]]
    parameters: dict[str, Parameter]
    combinations: list[Combination]
    rank: int | None = None
    quality: Quality | None = None
    candidates: list[Tried] = field(default_factory=list)
    chosen: str | None = None
    observations: Observed | None = None
    noise: Noise
    kernel_start: NotNegative | None = None
    domain: Domain
    cells: TimedCells | None = field(default=None, metadata={"omit": True})
    stated_workload: Workload | None = field(default=None, metadata={"key": "workload"})
    stated_unit: str | None = field(default=None, metadata={"key": "unit", "omit": True})
    stated_timestep: Positive | None = field(
        default=None, metadata={"key": "timestep", "omit": True}
    )
    machine: Gpu
    data: FittedSteps
    mixture: PartsMixture | None = field(default=None, metadata={"omit": True})
    other_path: OtherPath | None = field(default=None, metadata={"omit": True})
    bootstrap_seed: int | None = None
    created: str | None = None
    remarks: list[Remark] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reconstruction: Reconstruction | None = field(default=None, metadata={"omit": True})
    machine_factors: MachineFactors | None = field(default=None, metadata={"omit": True})
    sharing: list[Sharing] | None = field(default=None, metadata={"omit": True})


@dataclass(kw_only=True, eq=False, match_args=False)
class Replicates:
    """Bootstrap replicates in a file: names of the parameters, and a row of values a replicate."""

    parameters: list[str]
    integers: list[Integer]
    values: list[list[Positive]]


@dataclass
class Bootstrap:
    """The part of a model file that holds its replicates."""

    bootstrap: Replicates
