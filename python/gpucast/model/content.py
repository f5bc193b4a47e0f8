"""The result of a fit as typed objects: the content of a model file (``gpucast.model/1``).

These classes and those of ``values``, ``mixtures`` and ``adjustments``, which ``facts.Fitted``
combines, are the only definition of a model file's keys (``gpucast.util.typed_json`` reads and
writes them). A key with a default may be missing. All values are in SI units.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpucast.data.selection import StepSelection
from gpucast.model.values import (
    Counts,
    Integer,
    Interval,
    NotNegative,
    Origin,
    Positive,
    Sizes,
    Tally,
)
from gpucast.util.units import interval, quantity


@dataclass(kw_only=True, eq=False, match_args=False, repr=False)
class Parameter:
    """A parameter of the model.

    Attributes:
        value: in ``unit``; arbitrary within bounds if not identified.
        identified: whether the data determine it alone.
        observed: whether any measured time depends on it.
        stderr: standard error; None if not identified.
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
        """Return the parameter with value and errors multiplied by ``factor``."""
        return replace(
            self,
            value=self.value * factor,
            stderr=None if self.stderr is None else self.stderr * factor,
            ci95=None if self.ci95 is None else (self.ci95[0] * factor, self.ci95[1] * factor),
        )


@dataclass(kw_only=True, eq=False, match_args=False)
class Combination:
    """A sum of parameters that the data determine although they determine none of them alone."""

    expression: str
    parameters: list[str]
    value: float | None = None
    stderr: float | None = None
    ci95: Interval | None = None


@dataclass(kw_only=True, eq=False, match_args=False)
class Quality:
    """How well the model describes the fitted data; errors are relative errors of step cells.

    Attributes:
        reduced_chi2, lack_of_fit_p: None if there are too few repetitions for a test.
        misfits: p-value of each named direction in which a misfit was tested.
        disturbed_samples: number of samples to which the fit gave no weight.
        held_out_gpus_error, held_out_n_error: median relative error of forecasts of the largest GPU
            count, and of the largest n, by fits without them; None if not computed.
    """

    median_relative_error: float
    p95_relative_error: float
    max_relative_error: float
    reduced_chi2: float | None = None
    lack_of_fit_p: float | None = None
    misfits: dict[str, float] = field(default_factory=dict)
    disturbed_samples: Tally = 0
    converged: bool = True
    held_out_gpus_error: float | None = field(default=None, metadata={"omit": True})
    held_out_n_error: float | None = field(default=None, metadata={"omit": True})


@dataclass(kw_only=True, eq=False, match_args=False)
class Tried:
    """A candidate model.

    Attributes:
        cv_error: mean relative error in held-out cells; None if there were none.
        weight: its weight if forecasts average over several candidates.
    """

    model: str
    cv_error: float | None
    weight: NotNegative | None = field(default=None, metadata={"omit": True})


@dataclass(kw_only=True, eq=False, match_args=False)
class IntegerCost:
    """A value of k that was tried, and the fit's objective with it."""

    k: int
    cost: float


@dataclass(kw_only=True, eq=False, match_args=False)
class Observed:
    """How many samples and cells were fitted."""

    samples: Tally
    cells: Tally
    step_samples: Tally
    step_cells: Tally


@dataclass(kw_only=True, eq=False, match_args=False)
class Noise:
    """Relative noise of step times.

    Attributes:
        sample: noise of a single measurement around the model.
        pure_error: noise between repetitions; None without repetitions.
        between_cells: spread of true cell times around the model.
        t90: quantile of Student's t for a two-sided 90 % interval.
    """

    sample: NotNegative
    pure_error: NotNegative | None
    between_cells: NotNegative
    t90: Positive


@dataclass(kw_only=True, eq=False, match_args=False)
class Domain:
    """Least and greatest fitted n and GPU count."""

    n: Sizes
    gpus: Counts


@dataclass(kw_only=True, eq=False, match_args=False)
class Source:
    """Source of a what-if's communication."""

    path: str
    data: str | None = None
    digest: str | None = None
    launch: str | None = None
    launch_factor: float | None = None


@dataclass(frozen=True, kw_only=True)
class FittedSteps(StepSelection, Origin):
    """The fitted steps; None: not stated. Machine and block are those of the fitted GPU."""

    machine: None = field(default=None, metadata={"key": None})
    block: None = field(default=None, metadata={"key": None})
    # Unlike a selection's, these have no default: all steps state a path, and steps of our own
    # programs state schedule and kernel.
    path: str = field()
    schedule: str | None = field()
    kernel: str | None = field()
    program: str | None = field(default=None, metadata={"omit": True})
    case: str | None = field(default=None, metadata={"omit": True})
    what_if: Source | None = field(default=None, metadata={"omit": True})

    @property
    def words(self) -> str:
        """The stated kind of the fitted steps, such as ``schedule 'mpi', kernel 'lj'``."""
        kind = {name: getattr(self, name) for name in ("schedule", "kernel", "program", "case")}
        return ", ".join(f"{name} {value!r}" for name, value in kind.items() if value is not None)

    @property
    def forecast_path(self) -> str:
        """The path that the model forecasts, which in a what-if is not the fitted one."""
        return self.path if self.what_if is None else self.what_if.path


@dataclass(frozen=True)
class Quantity:
    """A quantity of a reconstruction.

    Attributes:
        name, unit, meaning: in SI units.
        value: the most likely value.
        low, high: bounds of the plausible range; None: the value counts as known.
        source: the public figure from which the value comes, or None.
        assumed: why the value was assumed, or None; exactly one of the two is given.
        range: the basis of the bounds.
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
    """Describes a model that was not fitted but derived from public figures.

    Such models never become datasets, because their values must not be mistaken for measurements.
    """

    title: str
    label: str
    path: str
    quantities: list[Quantity]


@dataclass(kw_only=True, eq=False, match_args=False)
class Replicates:
    """Bootstrap replicates in a file: names of the parameters, and one row of values per
    replicate."""

    parameters: list[str]
    integers: list[Integer]
    values: list[list[Positive]]


@dataclass
class Bootstrap:
    """The part of a model file that holds its replicates."""

    bootstrap: Replicates
