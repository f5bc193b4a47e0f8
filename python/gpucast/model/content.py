"""What a fit found, as typed objects: the content of a model file (``gpucast.model/1``).

These classes, and those of ``values``, ``mixtures`` and ``adjustments``, which ``facts.Fitted``
puts together, are the only list of a model file's keys (``gpucast.util.typed_json`` reads and
writes them); a key with a default may be missing. All values are SI.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpucast.data.selection import StepSelection
from gpucast.model.values import Counts, Integer, Interval, NotNegative, Origin, Positive, Sizes
from gpucast.util.units import interval, quantity


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
        return replace(
            self,
            value=self.value * factor,
            stderr=None if self.stderr is None else self.stderr * factor,
            ci95=None if self.ci95 is None else (self.ci95[0] * factor, self.ci95[1] * factor),
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
class Source:
    """Where the communication of a what-if comes from."""

    path: str
    data: str | None = None
    digest: str | None = None
    launch: str | None = None
    launch_factor: float | None = None


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
class Replicates:
    """Bootstrap replicates in a file: names of the parameters, and a row of values a replicate."""

    parameters: list[str]
    integers: list[Integer]
    values: list[list[Positive]]


@dataclass
class Bootstrap:
    """The part of a model file that holds its replicates."""

    bootstrap: Replicates
